# SPDX-License-Identifier: MIT
"""Reads one capture of an archive as a stream, checks it, and describes it in rows. Every failure
of the capture or its store ends in a row."""

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

# Blocks of a remote capture in memory: the current block, and the next one.
_BLOCK_BYTES = 4 << 20
_BLOCKS = 2
_ANSWER_SECONDS = 60
_WRONG = selected_verdicts(("bad", "illegal"))
_FINDINGS_AT_FIRST = 10_000

# The first bytes of files that are not captures, each with a reason.
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
    """Options for reading captures."""

    findings: int | None = 1000  # at most this many rows of *findings* for a capture (None: all)
    threads: int = 1  # threads for each capture; 0: one for each core
    retries: int = 4  # repetitions after a failure of the store
    backoff: float = 0.5  # seconds before the first repetition, doubled for each further one
    unpack_limit: int = 1000  # largest multiple of its size that a capture may unpack to; 0: any
    unpack_free: int = 1 << 30  # unpacked size that is always allowed, in bytes


class _TooMuchError(Exception):
    """Raised if a capture unpacks to more bytes than the limit."""


class _CutError(OSError):
    """Raised if a store sends fewer bytes than the size of a capture."""


class _ChangedError(Exception):
    """Raised if a capture changed while it was read."""

    def __init__(self, now: Capture) -> None:
        super().__init__("it changed while it was read")
        self.now = now


# --- Reading ---


class _Counted(io.RawIOBase):
    """A remote file that counts the bytes read."""

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
    """Opens a file of a store. The next block is fetched while one is read."""
    fs, path = fsspec.core.url_to_fs(url)  # kept: a freed store may close its files
    options = {"cache_type": "background", "cache_options": {"maxblocks": _BLOCKS}}
    with fs.open(path, "rb", block_size=_BLOCK_BYTES, **options) as file:
        yield file


@contextmanager
def _open_whole(url: str) -> Iterator[Any]:
    """Opens a file of a web server that does not support ranges. Reads one response, without a
    limit on its duration."""
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
    """Opens a capture. A local file is read in C; a file in a store is read once, from start to
    end."""
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
    """Checks a capture, or the packets before its damage; returns the result."""
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
    except ValueError:  # fsspec raises it if only the first part of the file arrived
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
    """Checks a capture. If all findings are requested, and there are very many, reads it twice."""
    wanted = _FINDINGS_AT_FIRST if options.findings is None else options.findings
    result = _run(capture, options, wanted)
    if options.findings is None and result.listed() > len(result):
        result = _run(capture, options, result.listed())
    return result


# --- Rows ---


@dataclass(slots=True)
class Rows:
    """The rows of one capture: the tables of its check, and the columns of *files* that only an
    audit adds."""

    own: dict[str, pyarrow.Table]
    extra: dict[str, Any]

    def value(self, column: str) -> Any:  # noqa: ANN401
        """Returns a value of the row of *files*."""
        return self.extra[column] if column in self.extra else self.own["files"][column][0].as_py()


@dataclass(slots=True)
class _Work:
    """The work done for a capture."""

    capture: Capture
    began: float
    attempts: int = 0

    def extra(self, findings: int, error: str | None, pieces: int = 1) -> dict[str, Any]:
        return {
            "size": self.capture.size,  # from the store: the size of a stream is unknown
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
    """Returns the rows of a capture that was read in pieces."""
    work = _Work(capture, time.monotonic() - seconds, 1)
    damaged = whole.own["files"]["status"][0].as_py() == "damaged"
    error = whole.own["files"]["damage_reason"][0].as_py() if damaged else None
    return Rows(whole.own, work.extra(whole.listed, error, pieces))


def unread(capture: Capture, status: str, error: str, work: _Work | None = None) -> Rows:
    """Returns the row of a capture without results."""
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
    """Returns the reason why a file is not a capture."""
    try:
        with (
            open_remote(capture.name) if is_url(capture.name) else open(capture.name, "rb") as file
        ):
            start = file.read(32)
    except Exception:  # the file was read before; this only finds a better reason
        return reason
    return next((text for magic, text in _ENCRYPTED.items() if start.startswith(magic)), reason)


# --- Attempts ---


def _attempt(work: _Work, options: Options) -> Rows:
    """Reads a capture once; returns its rows. Raises errors that another attempt may avoid."""
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
    """Waits before another attempt: longer each time, multiplied by a random factor."""
    time.sleep(options.backoff * 2**attempt * random.uniform(0.5, 1.5))


def read(capture: Capture, options: Options) -> Rows:
    """Returns the rows of a capture. If the store fails or the capture changes meanwhile, tries
    again after a pause."""
    work = _Work(capture, time.monotonic())
    if capture.error:
        return unread(capture, "failed", capture.error, work)
    for left in reversed(range(options.retries + 1)):
        try:
            return _attempt(work, options)
        except _ChangedError as error:
            work.capture, status, reason = error.now, "changed", str(error)
        except Exception as error:  # stores may raise anything
            status, reason = "failed", one_line(error)
            if is_final(error):
                break
        if left:
            pause(options, work.attempts - 1)
    return unread(replace(work.capture), status, reason, work)


def check(capture: Capture, options: Options) -> dict[str, pyarrow.Table]:
    """Returns the rows of a capture as tables."""
    rows = read(capture, options)
    return {name: tables.collected(name, [rows]) for name in tables.NAMES}
