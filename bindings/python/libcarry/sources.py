# SPDX-License-Identifier: MIT
"""Captures as callers name them: paths, URLs, bytes, file objects."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from . import _carry

if TYPE_CHECKING:
    from ._types import Buffer, Source


def is_url(source: object) -> bool:
    return isinstance(source, str) and "://" in source


def _size(reader: Any) -> int:  # noqa: ANN401
    """Bytes of a file object from where it stands; it must be able to go back."""
    start = reader.tell()
    end = reader.seek(0, os.SEEK_END)
    reader.seek(start)
    return cast(int, end - start)


def _open_object(reader: Any, name: str) -> _carry.Capture:  # noqa: ANN401
    """A file object: read once if it cannot seek, and as bytes come if it can tell them so."""
    read = getattr(reader, "read1", reader.read)
    seekable = getattr(reader, "seekable", lambda: False)
    if not seekable():
        return _carry.open_object(read, name, None, 0)
    start = reader.tell()
    return _carry.open_object(read, name, lambda: reader.seek(start), _size(reader))


def _name_of(source: Any) -> str:  # noqa: ANN401
    name = getattr(source, "name", None)
    return os.fsdecode(name) if isinstance(name, str | bytes | os.PathLike) else "<file object>"


def _printable(path: str) -> str:
    """A path as text that UTF-8 can hold: other bytes of it as U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


@contextmanager
def _open_path(path: str, name: str | None) -> Iterator[_carry.Capture]:
    """A regular file is read in C. What waits for others is read in Python, so that Ctrl-C ends
    the wait."""
    name = name or _printable(path)
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
    with fsspec.open(url, "rb") as file, _closing(_open_object(file, name or url)) as capture:
        yield capture


@contextmanager
def _closing(capture: _carry.Capture) -> Iterator[_carry.Capture]:
    try:
        yield capture
    finally:
        capture.close()


@contextmanager
def open_capture(source: Source, name: str | None = None) -> Iterator[_carry.Capture]:
    """A capture for the time of a `with` block; what the caller opened stays open."""
    if is_url(source):
        with _open_url(cast(str, source), name) as capture:
            yield capture
    elif isinstance(source, str | os.PathLike):
        with _open_path(os.fspath(source), name) as capture:
            yield capture
    elif isinstance(source, io.TextIOBase):
        raise TypeError("the file object was opened for text: open it for bytes ('rb')")
    elif hasattr(source, "read") and not _has_bytes(source):
        with _closing(_open_object(source, name or _name_of(source))) as capture:
            yield capture
    else:
        with _closing(_carry.open_bytes(cast("Buffer", source), name or "<bytes>")) as capture:
            yield capture


def _has_bytes(source: object) -> bool:
    """mmap objects have both: they are taken as bytes."""
    try:
        memoryview(cast(Any, source)).release()
    except TypeError:
        return False
    return True


@contextmanager
def replacing(path: str) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` once it is whole; nothing is left of a failure."""
    folder, name = os.path.split(os.path.abspath(os.path.realpath(path)))
    temporary = Path(folder) / f".{name}.{os.getpid()}.{os.urandom(4).hex()}.unfinished"
    with open(temporary, "xb", buffering=0) as file:
        try:
            yield cast(BinaryIO, file)
            os.replace(temporary, os.path.join(folder, name))
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
