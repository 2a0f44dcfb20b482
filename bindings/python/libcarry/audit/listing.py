# SPDX-License-Identifier: MIT
"""Lists the captures that sources name: paths, folders, globs, and URLs of stores that fsspec
supports."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import fsspec

from ..sources import is_url

# The names that stores use for the time of the last change and for a digest, the best first.
_TIMES = ("LastModified", "last_modified", "mtime", "updated", "modificationTime", "Last-Modified")
_DIGESTS = ("md5Hash", "content_md5", "Content-MD5", "ETag", "etag", "checksum", "Digest")
_END_BYTES = 16 << 10

# The secret parts of URLs: passwords, and parameters that sign a request.
_PASSWORD = re.compile(r"(://[^/@\s:]*):[^/@\s]*@")
_SIGNATURE = re.compile(
    r"(?i)([?&](?:x-(?:amz|goog)-(?:credential|security-token|signature)"
    r"|access_token|sig|signature|token)=)[^&\s'\")]+"
)


def without_secrets(text: str) -> str:
    """Returns a text with the secrets of its URLs replaced."""
    return _SIGNATURE.sub(r"\1***", _PASSWORD.sub(r"\1:***@", text))


@dataclass(frozen=True, slots=True)
class Capture:
    """A file that may be a capture, as its store described it."""

    name: str  # an absolute path, or a URL; a file name that is not UTF-8 contains surrogates
    size: int | None = None
    modified_ns: int | None = None  # time of the last change, in nanoseconds since 1970, UTC
    digest: str | None = None  # None: the store has no digest, and the file was not opened yet
    named: bool = False  # False: a folder or glob contains it, and it could be listed
    error: str | None = None  # why it cannot be read or listed: one line

    @property
    def label(self) -> str:
        """Returns the name as UTF-8 text without the secrets of URLs. Bytes that are not UTF-8
        become escapes such as \\xff."""
        text = os.fsencode(self.name).decode("utf-8", "backslashreplace")
        return without_secrets(text) if is_url(text) else text

    @property
    def folder(self) -> str:
        """Returns the part of the name before its last slash."""
        return self.label.rpartition("/")[0]


def _web_cause(error: BaseException) -> BaseException | None:
    """Returns the web server's failure that fsspec turned into FileNotFoundError, or None."""
    cause = error.__cause__
    is_web = isinstance(cause, OSError) or type(cause).__module__.startswith("aiohttp")
    return cause if is_web and isinstance(error, FileNotFoundError) else None


def one_line(error: BaseException) -> str:
    """Returns an error as one line, without the name of a file."""
    if cause := _web_cause(error):
        status = getattr(cause, "status", None)
        return f"the server answered {status}" if status else one_line(cause)
    text = (isinstance(error, OSError) and error.strerror) or str(error)
    return without_secrets(" ".join(text.split())) or type(error).__name__


_FINAL = (FileNotFoundError, IsADirectoryError, MemoryError, NotADirectoryError, PermissionError)


def is_final(error: BaseException) -> bool:
    """Checks whether the store would give the same answer to a second request."""
    if cause := _web_cause(error):
        return 400 <= getattr(cause, "status", 0) < 429
    return isinstance(error, _FINAL)


# --- Descriptions by stores ---


def _nanoseconds(value: object) -> int | None:
    if isinstance(value, str):
        parse = parsedate_to_datetime if value[:1].isalpha() else datetime.fromisoformat
        try:
            value = parse(value)
        except ValueError:
            return None
    if isinstance(value, datetime):
        known = value if value.tzinfo else value.replace(tzinfo=UTC)
        microseconds = (known - datetime(1970, 1, 1, tzinfo=UTC)) // _MICROSECOND
        return microseconds * 1000
    if isinstance(value, int | float):
        return int(value * (1_000_000 if value > 1e11 else 1_000_000_000))  # HDFS uses milliseconds
    return None


_MICROSECOND = datetime.resolution


def _first(info: Mapping[str, Any], keys: Iterable[str]) -> Any:  # noqa: ANN401
    return next((info[key] for key in keys if info.get(key) is not None), None)


def described(name: str, info: Mapping[str, Any], named: bool = False) -> Capture:
    """Returns a capture as fsspec describes it."""
    digest = _first(info, _DIGESTS)
    text = None if digest is None else str(digest).strip('"')
    return Capture(name, info.get("size"), _nanoseconds(_first(info, _TIMES)), text, named)


def _local(path: str, status: os.stat_result, named: bool) -> Capture:
    return Capture(path, status.st_size, status.st_mtime_ns, None, named)


def ends_digest(path: str) -> str:
    """Returns a digest of the size and the first and last bytes of a local file, for which no store
    provides a digest."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.fstat(file).st_size
        digest = hashlib.sha256(size.to_bytes(8, "big"))
        digest.update(os.pread(file, _END_BYTES, 0))
        digest.update(os.pread(file, _END_BYTES, max(_END_BYTES, size - _END_BYTES)))
    finally:
        os.close(file)
    return "ends-sha256:" + digest.hexdigest()[:32]


def with_digest(capture: Capture) -> Capture:
    """Returns the capture; computes the digest of a local file that has no digest yet."""
    if capture.digest or is_url(capture.name):
        return capture
    return replace(capture, digest=ends_digest(capture.name))


def refreshed(capture: Capture) -> Capture:
    """Returns the capture as its store describes it now; a local file has no digest. Raises what
    the store raises."""
    if is_url(capture.name):
        fs, path = fsspec.core.url_to_fs(capture.name)
        fs.invalidate_cache(fs._parent(path))
        return described(capture.name, fs.info(path), capture.named)
    return _local(capture.name, os.stat(capture.name), capture.named)


def is_same(capture: Capture, now: Capture) -> bool:
    """Checks that size, time and digest of a capture have not changed. Ignores the digest of a
    local file."""
    known = (capture.size, capture.modified_ns) == (now.size, now.modified_ns)
    return known and now.digest in (None, capture.digest)


# --- Search ---


def _walk_local(folder: str) -> Iterator[Capture]:
    """Yields the regular files below a folder in the order of their names. Follows links to files,
    but not to folders."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: os.fsencode(entry.name))
    except OSError as error:
        yield Capture(folder, error=one_line(error), named=True)
        return
    for entry in entries:
        try:
            status = entry.stat()
            if entry.is_dir(follow_symlinks=False):
                yield from _walk_local(entry.path)
            elif stat.S_ISREG(status.st_mode):
                yield _local(entry.path, status, False)
        except OSError as error:
            yield Capture(entry.path, error=one_line(error), named=True)


def _is_glob(source: str) -> bool:
    return any(character in source for character in "*?[")


def _find_local(source: str) -> Iterator[Capture]:
    path = os.path.abspath(source)
    try:
        status = os.stat(path)
    except OSError as error:
        yield from (
            _glob_local(path)
            if _is_glob(path)
            else [Capture(path, error=one_line(error), named=True)]
        )
        return
    if stat.S_ISDIR(status.st_mode):
        yield from _walk_local(path)
    elif stat.S_ISREG(status.st_mode):
        yield _local(path, status, True)
    else:
        yield Capture(path, error="not a regular file", named=True)


def _glob_local(pattern: str) -> Iterator[Capture]:
    """Yields matching files and, unless the pattern has `**` (which matches any number of
    folders), the files below matching folders."""
    import glob

    found = False
    for path in sorted(glob.iglob(pattern, recursive=True), key=os.fsencode):
        found = True
        if os.path.isfile(path):
            yield _local(path, os.stat(path), False)
        elif os.path.isdir(path) and "**" not in pattern:
            yield from _walk_local(path)
    if not found:
        yield Capture(pattern, error="no file matches", named=True)


def _opens_store(url: str, fs: Any) -> bool:  # noqa: ANN401
    return fsspec.core.url_to_fs(url)[0] is fs


def _url_maker(url: str, fs: Any, path: str) -> Callable[[str], str]:  # noqa: ANN401
    """Returns a function that turns names of a store into URLs, with the host and all of fsspec's
    chain (`::`)."""
    own: Callable[[str], str] = fs.unstrip_protocol
    first, chain, rest = url.partition("::")
    start = first.rstrip("/").removesuffix(path.rstrip("/"))
    if start == first.rstrip("/") or (not chain and _opens_store(own(path), fs)):
        return own
    return lambda name: f"{start}{name}{chain}{rest}"


def _walk_url(fs: Any, root: str) -> Iterator[Mapping[str, Any]]:  # noqa: ANN401
    """Yields files folder by folder, so that memory never holds the listing of a whole store."""
    for _folder, _folders, files in fs.walk(root, detail=True, on_error="raise"):
        yield from (info for _, info in sorted(files.items()) if info["name"])


def _described(fs: Any, path: str) -> Mapping[str, Any] | None:  # noqa: ANN401
    """Returns the description of a path, or None for a glob. An existing file whose name contains
    the characters of a glob is not a glob."""
    try:
        return dict(fs.info(path))
    except Exception:
        if not _is_glob(path):
            raise
    return None


def _find_url(url: str) -> Iterator[Capture]:
    try:
        fs, path = fsspec.core.url_to_fs(url)
        named = _url_maker(url, fs, path)
        info = _described(fs, path)
        if info and info.get("type") != "directory":
            yield described(named(path), info, named=True)
            return
        found = _walk_url(fs, path) if info else dict(fs.glob(path, detail=True)).values()
        if not info and not found:
            yield Capture(url, error="no object matches", named=True)
        for each in found:
            if each.get("type") == "file":
                yield described(named(each["name"]), each)
    except Exception as error:  # stores may raise anything; each source gets a row
        passes = isinstance(error, FileNotFoundError) and not is_final(error)
        yield Capture(url, error=None if passes else one_line(error), named=True)


def find(sources: Iterable[str]) -> Iterator[Capture]:
    """Yields each capture that the sources name, once. A source may be the path of a file or
    folder, a glob, or a URL. A source that is missing or cannot be listed is a Capture with an
    `error`."""
    seen: set[int] = set()
    for source in sources:
        for capture in _find_url(source) if is_url(source) else _find_local(source):
            key = hash(capture.name)
            if key not in seen:
                seen.add(key)
                yield capture
