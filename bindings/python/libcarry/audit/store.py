# SPDX-License-Identifier: MIT
"""Writes the folder of an audit, on a disk or in a store, and commits new tables. A later run
completes an interrupted commit."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property, lru_cache
from typing import IO, TYPE_CHECKING, Any

import fsspec
import pyarrow
import pyarrow.fs
import pyarrow.parquet

from ..sources import is_url
from . import tables
from .listing import without_secrets

if TYPE_CHECKING:
    from .worker import Rows

# The folder of an audit's own files: readers of tables skip it, because its name begins with "_".
OWN = "_audit"
# The number of rows that a worker collects before it writes them.
_ROWS = 50_000


class AuditError(Exception):
    """Raised if an audit cannot continue. The message gives the reason in one line."""


@lru_cache(maxsize=16)
def _real(folder: str) -> str:
    return os.path.realpath(folder)


class Store:
    """A folder on a disk, or in any store that fsspec supports. Its paths have slashes."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.fs: Any
        self.fs, self.root = fsspec.core.url_to_fs(url)
        self.is_local = "file" in self.fs.protocol
        self.root = self.root.rstrip("/")

    @cached_property
    def arrow(self) -> pyarrow.fs.FileSystem:
        """Returns the file system for Arrow."""
        if self.is_local:
            return pyarrow.fs.LocalFileSystem()
        return pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(self.fs))

    def path(self, *parts: str) -> str:
        return "/".join((self.root, *parts))

    def holds(self, name: str) -> bool:
        """Checks whether a capture of this name lies below the folder."""
        if is_url(name):
            return name.startswith(f"{self.fs.unstrip_protocol(self.root)}/")
        return self.is_local and f"{_real(os.path.dirname(name))}/".startswith(f"{self._real}/")

    @cached_property
    def _real(self) -> str:
        return _real(self.root)

    def exists(self, *parts: str) -> bool:
        self.fs.invalidate_cache()
        return bool(self.fs.exists(self.path(*parts)))

    def sizes(self, *parts: str) -> dict[str, int]:
        """Returns the paths of all files below a folder, in order, with their sizes. A missing
        folder has no files. Makes one listing: requests for single files would take hours in a
        store."""
        self.fs.invalidate_cache()
        found = self.fs.find(self.path(*parts), detail=True)
        return {path: found[path]["size"] for path in sorted(found)}

    def files(self, *parts: str) -> list[str]:
        """Returns the paths of all files below a folder, in order."""
        return [*self.sizes(*parts)]

    @contextmanager
    def create(self, path: str) -> Iterator[IO[bytes]]:
        """Creates a file. It appears, and replaces an old file, once it is complete."""
        if not self.is_local:
            with self._object(path) as file:
                yield file
            return
        os.makedirs(os.path.dirname(path), exist_ok=True)
        part = f"{path}.{os.getpid()}.part"
        try:
            with open(part, "wb") as file:
                yield file
            os.replace(part, path)
        except BaseException:
            if os.path.exists(part):
                os.unlink(part)
            raise

    @contextmanager
    def _object(self, path: str) -> Iterator[IO[bytes]]:
        """Creates an object, which appears when it is closed. If writing fails, removes the
        incomplete object."""
        try:
            with self.fs.open(path, "wb") as file:
                yield file
        except BaseException:
            self.fs.rm(path)
            raise

    def write_json(self, value: object, *parts: str) -> None:
        with self.create(self.path(*parts)) as file:
            file.write(json.dumps(value, indent=1).encode() + b"\n")

    def claim(self, value: object, *parts: str) -> bool:
        """Writes a file unless it exists; returns whether the file was written. This is atomic only
        on a disk and in stores that support it."""
        if self.exists(*parts):
            return False
        try:
            self._write_new(json.dumps(value, indent=1).encode() + b"\n", self.path(*parts))
        except Exception:  # stores that can only replace files raise an exception, too
            if self.exists(*parts):
                return False
            self.write_json(value, *parts)
        return True

    def _write_new(self, data: bytes, path: str) -> None:
        if not self.is_local:
            with self.fs.open(path, "xb") as file:
                file.write(data)
            return
        whole = f"{path}.{os.getpid()}"
        with self.create(whole) as file:
            file.write(data)
        try:
            os.link(whole, path)
        finally:
            os.unlink(whole)

    def read_json(self, *parts: str) -> Any:  # noqa: ANN401
        """Returns the value in a JSON file, or None if there is no such file."""
        self.fs.invalidate_cache()
        try:
            with self.fs.open(self.path(*parts), "rb") as file:
                return json.loads(file.read())
        except FileNotFoundError:
            return None

    def replace(self, source: str, target: str) -> None:
        """Replaces the folder `target` with `source`. A disk renames both folders. A store copies
        each object, and the source remains until it is removed."""
        if not self.is_local:
            self.remove(target)
            for path in self.files(source):
                self.fs.copy(path, self.path(target) + path[len(self.path(source)) :])
            return
        old = self.path(OWN, "old")
        if os.path.isdir(self.path(target)):
            os.replace(self.path(target), old)
        os.replace(self.path(source), self.path(target))
        self.remove(OWN, "old")

    def remove(self, *parts: str) -> None:
        """Removes a file, or a folder with its content, if it exists."""
        if self.exists(*parts):
            self.fs.rm(self.path(*parts), recursive=True)


# --- Parts: the results of one call each ---


def _part(folder: str, name: str, table: str) -> tuple[str, ...]:
    return OWN, "parts", folder, f"{name}.{table}.parquet"


class Part:
    """Collects the rows of a part, and writes them to its tables from time to time."""

    def __init__(self, files: dict[str, IO[bytes]], partition: str | None) -> None:
        self._partition = partition
        self._writers = {
            table: pyarrow.parquet.ParquetWriter(
                file, tables.schema(table, partition), compression="zstd"
            )
            for table, file in files.items()
        }
        self._captures: list[Rows] = []
        self._rows = 0

    def add(self, rows: Rows) -> None:
        self._captures.append(rows)
        self._rows += sum(map(len, rows.own.values()))
        if self._rows >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        for table, writer in self._writers.items():
            collected = tables.collected(table, self._captures, self._partition)
            if len(collected):
                writer.write_table(collected)
        self._captures, self._rows = [], 0

    def close(self) -> None:
        self._flush()
        for writer in self._writers.values():
            writer.close()


@contextmanager
def part_writer(store: Store, folder: str, name: str, partition: str | None) -> Iterator[Part]:
    """Opens the tables of a part for a `with` block. *files* appears last, and makes the part
    valid."""
    with ExitStack() as stack:  # closes the first file last
        order = ["files", *(table for table in tables.NAMES if table != "files")]
        files = {
            table: stack.enter_context(store.create(store.path(*_part(folder, name, table))))
            for table in order
        }
        part = Part(files, partition)
        yield part
        part.close()


def parts(store: Store) -> list[str]:
    """Returns the complete parts of all attempts, as paths without the name of a table."""
    ending = ".files.parquet"
    return [p.removesuffix(ending) for p in store.files(OWN, "parts") if p.endswith(ending)]


# --- One job at a time ---


@contextmanager
def lock(store: Store) -> Iterator[None]:
    """Prevents a second job in the folder. The lock of a killed job is recognised on the same
    machine."""
    own = {"host": socket.gethostname(), "pid": os.getpid(), "since": int(time.time())}
    held = store.read_json(OWN, "lock.json")
    if held and held["host"] == own["host"] and _is_gone(held["pid"]):
        store.remove(OWN, "lock.json")
        held = None
    if held or not store.claim(own, OWN, "lock.json"):
        held = held or store.read_json(OWN, "lock.json") or own
        raise AuditError(
            f"{without_secrets(store.url)}: another job writes here (process {held['pid']} on "
            f"{held['host']}); if it no longer runs, remove {OWN}/lock.json"
        )
    try:
        yield
    finally:
        store.remove(OWN, "lock.json")


def _is_gone(pid: int) -> bool:
    """Checks whether a process has ended. If `pid` is the number of this process, a former process
    had it: in a container, each start may have the same number."""
    if pid == os.getpid():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return False


# --- Committing ---


def commit(store: Store) -> None:
    """Replaces the present tables with the next tables, if these are complete. The next call
    completes an interrupted commit."""
    if not store.exists(OWN, "commit.json"):
        return
    for table in tables.NAMES:
        if store.files(OWN, "next", table):
            store.replace(f"{OWN}/next/{table}", table)
    for own in ("parts", "pieces", "next", "old"):
        store.remove(OWN, own)
    store.remove(OWN, "commit.json")


def prepare(store: Store) -> None:
    """Marks the next tables as complete. After that, the commit can no longer be abandoned."""
    store.write_json({"tables": list(tables.NAMES)}, OWN, "commit.json")
