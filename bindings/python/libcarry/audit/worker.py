# SPDX-License-Identifier: MIT
"""One capture of an archive: read as a stream, checked, described by rows. Whatever the capture or
its store does ends in a row."""

from __future__ import annotations

import io
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import fsspec
import pyarrow

from .. import _carry
from ..packets import selected_verdicts
from ..sources import is_url, open_capture
from . import tables
from .listing import Capture, is_final, is_same, one_line, refreshed, with_digest

if TYPE_CHECKING:
    from .split import Whole

# Blocks of a remote capture that are in memory: the present one, and those that come next.
_BLOCK_BYTES = 4 << 20
_BLOCKS = 2
_ANSWER_SECONDS = 60
_WRONG = selected_verdicts(("bad", "illegal"))
_FINDINGS_AT_FIRST = 10_000

# What a file begins with that is no capture, but says why.
_ENCRYPTED = {
    b"age-encryption.org/": "encrypted by age",
    b"-----BEGIN PGP MESSAGE": "encrypted by OpenPGP",
    b"-----BEGIN AGE ENCRYPTED": "encrypted by age",
    b"Salted__": "encrypted by OpenSSL",
    b"PK\x03\x04": "a ZIP archive",
    b"7z\xbc\xaf\x27\x1c": "a 7-Zip archive",
}


@dataclass(frozen=True, slots=True)
class Options:
    """How captures are read."""

    findings: int | None = 1000  # rows of *findings* for a capture at most; None: all
    threads: int = 1  # that check one capture; 0: one for each core
    retries: int = 4  # after a store's failure
    backoff: float = 0.5  # seconds before the first of them, doubled for each that follows
    unpack_limit: int = 1000  # a compressed capture may unpack to so many times its size; 0: any
    unpack_free: int = 1 << 30  # but to these bytes in any case


class _TooMuchError(Exception):
    """A capture unpacks to more than is allowed."""


class _CutError(OSError):
    """A store ended a capture before its size."""


class _ChangedError(Exception):
    """A capture is another one than it was when reading began."""

    def __init__(self, now: Capture) -> None:
        super().__init__("it changed while it was read")
        self.now = now


# --- Reading ---


class _Counted(io.RawIOBase):
    """A remote file that knows how much of it was read."""

    def __init__(self, file: Any) -> None:  # noqa: ANN401
        self._file = file
        self.count = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return False

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._file.read(size)
        self.count += len(data)
        return data


@contextmanager
def open_remote(url: str) -> Iterator[Any]:
    """A file of a store that fetches the next block while one is read."""
    fs, path = fsspec.core.url_to_fs(url)  # some close their files as soon as nobody has them
    options = {"cache_type": "background", "cache_options": {"maxblocks": _BLOCKS}}
    with fs.open(path, "rb", block_size=_BLOCK_BYTES, **options) as file:
        yield file


@contextmanager
def _open_whole(url: str) -> Iterator[Any]:
    """The same of a web server that sends no parts of files: one answer, however long it takes."""
    import aiohttp

    fs, path = fsspec.core.url_to_fs(url)
    timeout = aiohttp.ClientTimeout(total=None, sock_read=_ANSWER_SECONDS)
    patient = {**fs.storage_options, "client_kwargs": {**fs.client_kwargs, "timeout": timeout}}
    with type(fs)(**patient).open(path, "rb", block_size=0) as file:
        yield file


@contextmanager
def _opened(
    capture: Capture, open_url: Callable[[str], AbstractContextManager[Any]]
) -> Iterator[tuple[_carry.Capture, _Counted | None]]:
    """A local file is read in C. One of a store is read once, from its start to its end."""
    if not is_url(capture.name):
        with closing(_carry.open_path(os.fsencode(capture.name), capture.label)) as opened:
            yield opened, None
        return
    with open_url(capture.name) as file:
        counted = _Counted(file)
        with open_capture(counted, capture.label) as opened:
            yield opened, counted


def _watch(opened: _carry.Capture, capture: Capture, options: Options) -> Callable[..., None]:
    limit = options.unpack_free + options.unpack_limit * (capture.size or 0)

    def look(_position: int, _packets: int, _wrong: int) -> None:
        if options.unpack_limit and opened.offset() > limit:
            raise _TooMuchError(
                f"it unpacks to more than {limit:,} bytes, from {capture.size or 0:,}"
            )

    return look


def _result(opened: _carry.Capture, capture: Capture, options: Options, kept: int) -> _carry.Result:
    """Of a damaged capture, that of what comes before the damage."""
    watch = _watch(opened, capture, options)
    try:
        return opened.check(options.threads, _WRONG, _WRONG, kept, 0, 0, True, (), watch, True)
    except _carry.CaptureDamaged as error:
        return cast(_carry.Result, error.report)


def _run(capture: Capture, options: Options, kept: int) -> _carry.Result:
    try:
        return _run_opened(capture, options, kept, open_remote)
    except _carry.CaptureError:
        raise
    except ValueError:  # of fsspec: only the first part of the file came
        if not capture.name.startswith(("http://", "https://")):
            raise
        return _run_opened(capture, options, kept, _open_whole)


def _run_opened(
    capture: Capture,
    options: Options,
    kept: int,
    open_url: Callable[[str], AbstractContextManager[Any]],
) -> _carry.Result:
    with _opened(capture, open_url) as (opened, counted):
        result = _result(opened, capture, options, kept)
        is_short = counted and capture.size is not None and counted.count < capture.size
        if result.status() == "damaged" and counted and is_short:
            raise _CutError(f"the store sent {counted.count:,} of {capture.size:,} bytes")
        return result


def _check(capture: Capture, options: Options) -> _carry.Result:
    """With all findings that are wanted; a capture that has very many is read twice."""
    wanted = _FINDINGS_AT_FIRST if options.findings is None else options.findings
    result = _run(capture, options, wanted)
    if options.findings is None and result.listed() > len(result):
        result = _run(capture, options, result.listed())
    return result


# --- Rows ---


@dataclass(slots=True)
class Rows:
    """The rows of one capture: the tables of its check, and what only an audit has for *files*."""

    own: dict[str, pyarrow.Table]
    extra: dict[str, Any]

    def value(self, column: str) -> Any:  # noqa: ANN401
        """Of the row of *files*."""
        return self.extra[column] if column in self.extra else self.own["files"][column][0].as_py()


@dataclass(slots=True)
class _Work:
    """What was done for a capture."""

    capture: Capture
    began: float
    attempts: int = 0

    def extra(self, findings: int, error: str | None, pieces: int = 1) -> dict[str, Any]:
        return {
            "size": self.capture.size,  # what the store says; a stream does not know it
            "folder": self.capture.folder,
            "modified": tables.microseconds(self.capture.modified_ns),
            "digest": self.capture.digest,
            "findings": findings,
            "error": error,
            "attempts": self.attempts,
            "pieces": pieces,
            "read_seconds": time.monotonic() - self.began,
        }


def _of_result(result: _carry.Result, work: _Work) -> Rows:
    own = {name: pyarrow.table(result.table(name)) for name in ("files", "counts")}
    if len(result):
        own["findings"] = pyarrow.table(result.table("findings"))
    damaged = result.status() == "damaged"
    error = own["files"]["damage_reason"][0].as_py() if damaged else None
    return Rows(own, work.extra(result.listed(), error))


def of_pieces(capture: Capture, whole: Whole, pieces: int, seconds: float) -> Rows:
    """The rows of a capture that was read in pieces."""
    work = _Work(capture, time.monotonic() - seconds, 1)
    damaged = whole.own["files"]["status"][0].as_py() == "damaged"
    error = whole.own["files"]["damage_reason"][0].as_py() if damaged else None
    return Rows(whole.own, work.extra(whole.listed, error, pieces))


def unread(capture: Capture, status: str, error: str, work: _Work | None = None) -> Rows:
    """The row of a capture of which nothing was read."""
    work = work or _Work(capture, time.monotonic())
    known = {
        "file": capture.label,
        "packets": 0,
        "bytes": 0,
        "status": status,
        "version": _carry.__version__,
    }
    schema = tables.own_schema("files")
    row = {name: [known.get(name)] for name in schema.names}
    return Rows({"files": pyarrow.table(row, schema)}, work.extra(0, error))


def _no_capture(capture: Capture, reason: str) -> str:
    """Why a file is no capture."""
    try:
        with (
            open_remote(capture.name) if is_url(capture.name) else open(capture.name, "rb") as file
        ):
            start = file.read(32)
    except Exception:  # it was read before: this only looks for a better word
        return reason
    return next((text for magic, text in _ENCRYPTED.items() if start.startswith(magic)), reason)


# --- Trying ---


def _attempt(work: _Work, options: Options) -> Rows:
    """Raises what another attempt may mend."""
    work.attempts += 1
    capture = work.capture
    if capture.size is None:
        capture = refreshed(capture)
    work.capture = capture = with_digest(capture)
    try:
        rows = _of_result(_check(capture, options), work)
    except _carry.NotACapture as error:
        return unread(capture, "not_capture", _no_capture(capture, error.reason), work)
    except _carry.CaptureError as error:
        return unread(capture, "failed", error.reason, work)
    except _TooMuchError as error:
        return unread(capture, "limit", str(error), work)
    if not is_same(capture, now := refreshed(capture)):
        raise _ChangedError(now)
    return rows


def pause(options: Options, attempt: int) -> None:
    """Before another attempt: longer each time, and not as long as others that wait."""
    time.sleep(options.backoff * 2**attempt * random.uniform(0.5, 1.5))


def read(capture: Capture, options: Options) -> Rows:
    """The rows of a capture. A store that fails is asked again, after a pause."""
    work = _Work(capture, time.monotonic())
    if capture.error:
        return unread(capture, "failed", capture.error, work)
    for left in reversed(range(options.retries + 1)):
        try:
            return _attempt(work, options)
        except _ChangedError as error:
            work.capture, status, reason = error.now, "changed", str(error)
        except Exception as error:  # stores raise what they like
            status, reason = "failed", one_line(error)
            if is_final(error):
                break
        if left:
            pause(options, work.attempts - 1)
    return unread(replace(work.capture), status, reason, work)


def check(capture: Capture, options: Options) -> dict[str, pyarrow.Table]:
    """The rows of a capture, as tables."""
    rows = read(capture, options)
    return {name: tables.collected(name, [rows]) for name in tables.NAMES}
