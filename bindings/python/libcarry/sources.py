# SPDX-License-Identifier: MIT
"""Opens captures that callers name: paths, URLs, bytes, file objects."""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from . import _carry

if TYPE_CHECKING:
    from ._types import Buffer, Source


def is_url(source: object) -> bool:
    return isinstance(source, str) and "://" in source


def printable(name: str | bytes) -> str:
    """Returns the name of a file as valid UTF-8 text; other bytes become U+FFFD."""
    return os.fsencode(name).decode("utf-8", "replace")


# --- Reading ---


def _extent(reader: Any) -> tuple[int, int] | None:  # noqa: ANN401
    """Returns the position of a file object, and the number of bytes that follow. Returns None if
    the object cannot seek back: some objects claim that they can seek, but raise an exception."""
    if not getattr(reader, "seekable", lambda: False)():
        return None
    try:
        start = reader.tell()
        reader.seek(0, os.SEEK_END)
    except (OSError, ValueError):
        return None
    end = reader.tell()
    reader.seek(start)
    return start, max(0, end - start)


def _reading(reader: Any) -> Callable[[int], Any]:  # noqa: ANN401
    """Returns a function that reads from a file object. If the object has read1(), the function
    returns bytes as they arrive, and waits only if there are none."""
    if not hasattr(reader, "read1"):
        return cast("Callable[[int], Any]", reader.read)
    # If a non-blocking descriptor has no bytes yet, read1() returns no bytes, as at the end. Then
    # read(1) returns None before the end, and no bytes at the end.
    return lambda size: reader.read1(size) or reader.read(1)


def _open_object(reader: Any, name: str) -> _carry.Capture:  # noqa: ANN401
    """Opens a file object. An object that cannot seek is read once. An object that has read1() is
    read as bytes arrive."""
    read = _reading(reader)
    extent = _extent(reader)
    if extent is None:
        return _carry.open_object(read, name, None, 0)
    start, size = extent
    return _carry.open_object(read, name, lambda: reader.seek(start), size)


def _name_of(source: Any) -> str:  # noqa: ANN401
    name = getattr(source, "name", None)
    return printable(name) if isinstance(name, str | bytes) else "<file object>"


@contextmanager
def _open_path(path: str, name: str | None) -> Iterator[_carry.Capture]:
    """Opens a path. A regular file is read in C, and any other file in Python, so that Ctrl-C ends
    a wait."""
    name = name or printable(path)
    if stat.S_ISREG(os.stat(path).st_mode) or os.path.isdir(path):
        with _closing(_carry.open_path(os.fsencode(path), name)) as capture:
            yield capture
    else:
        with open(path, "rb") as file, _closing(_open_object(file, name)) as capture:
            yield capture


@contextmanager
def _open_url(url: str, name: str | None) -> Iterator[_carry.Capture]:
    try:
        import fsspec
    except ImportError as error:
        raise ModuleNotFoundError(f"{url}: reading URLs needs fsspec") from error
    with (
        fsspec.open(url, "rb") as file,
        _closing(_open_object(file, name or printable(url))) as capture,
    ):
        yield capture


@contextmanager
def _closing(capture: _carry.Capture) -> Iterator[_carry.Capture]:
    try:
        yield capture
    finally:
        capture.close()


@contextmanager
def open_capture(source: Source, name: str | None = None) -> Iterator[_carry.Capture]:
    """Opens a capture for a `with` block. A file object that the caller opened remains open."""
    name = name and printable(name)
    if is_url(source):
        with _open_url(cast(str, source), name) as capture:
            yield capture
    elif isinstance(source, str | os.PathLike):
        with _open_path(os.fspath(source), name) as capture:
            yield capture
    elif isinstance(source, io.TextIOBase):
        raise TypeError("the file object was opened for text: open it for bytes ('rb')")
    elif hasattr(source, "read") and not has_bytes(source):
        with _closing(_open_object(source, name or _name_of(source))) as capture:
            yield capture
    else:
        with _closing(_carry.open_bytes(cast("Buffer", source), name or "<bytes>")) as capture:
            yield capture


def has_bytes(source: object) -> bool:
    """Checks whether an object holds bytes in memory. An mmap does, although it also has read()."""
    try:
        memoryview(cast(Any, source)).release()
    except TypeError:
        return False
    return True


def status_of(file: object) -> os.stat_result | None:
    """Returns the status of the file that a path names, or that a file object has open."""
    try:
        if isinstance(file, str | os.PathLike):
            return os.stat(file)
        return os.fstat(cast(Any, file).fileno())
    except (AttributeError, OSError, TypeError, ValueError):
        return None


# --- Writing ---


def _is_stream(path: str) -> bool:
    """Checks for a pipe or character device, which is written to directly. Raises an exception if
    the path cannot be a target."""
    present = status_of(path)
    if present is None:
        return False
    mode = present.st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        return True
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):
        raise FileExistsError(errno.EEXIST, "not a regular file", path)
    if not (mode & 0o222 and os.access(path, os.W_OK)):
        raise PermissionError(errno.EACCES, "write-protected", path)
    return False


@contextmanager
def _replacing(path: str, mode: int) -> Iterator[int]:
    """Creates a file that replaces `path` once it is complete. After a failure, no file is left."""
    target = os.path.realpath(path)
    # `carry` names its incomplete files in this way, and skips files with such names.
    number = int.from_bytes(os.urandom(3), "big")
    temporary = os.path.join(os.path.dirname(target), f".carry-{os.getpid()}-{number}")
    try:
        descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    except OSError as error:
        error.filename = path
        raise
    try:
        with open(descriptor, "wb", 0) as file:
            yield file.fileno()
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextmanager
def open_target(path: str, mode: int) -> Iterator[tuple[int, Callable[[bytes], Any] | None]]:
    """Yields how to write to a path: the descriptor of a new file with the permissions `mode`, and
    None; or, for a pipe or device, -1 and a function that writes to it."""
    if _is_stream(path):
        with open(path, "wb", 0) as file:
            yield -1, writer_of(file)
    else:
        with _replacing(path, mode) as descriptor:
            yield descriptor, None


def writer_of(target: Any) -> Callable[[bytes], Any]:  # noqa: ANN401
    """Returns a function that writes to a file object. The function returns the number of bytes
    accepted, or None for all. For a raw stream, whose write() returns None for no bytes, it raises
    BlockingIOError instead."""
    write = getattr(target, "write", None)
    if write is None:
        raise TypeError(f"a target is a path, a file object or None, not {type(target).__name__}")
    if not isinstance(target, io.RawIOBase):
        return cast("Callable[[bytes], Any]", write)

    def write_raw(data: bytes) -> Any:  # noqa: ANN401
        count = write(data)
        if count is None:
            raise BlockingIOError("the file object takes no bytes now: it must wait")
        return count

    return write_raw
