# SPDX-License-Identifier: MIT
"""The folder that an audit writes, on a disk or in a store, and how it changes: all at once."""

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

# What readers of tables pass over, since it begins with "_".
OWN = "_audit"
# Rows that a worker collects before it writes them.
_ROWS = 50_000


class AuditError(Exception):
    """An audit cannot go on: one line says why."""


@lru_cache(maxsize=16)
def _real(folder: str) -> str:
    return os.path.realpath(folder)


class Store:
    """A folder on a disk, or of any store that fsspec knows. Paths in it have slashes."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.fs: Any
        self.fs, self.root = fsspec.core.url_to_fs(url)
        self.is_local = "file" in self.fs.protocol
        self.root = self.root.rstrip("/")

    @cached_property
    def arrow(self) -> pyarrow.fs.FileSystem:
        """The same for Arrow."""
        if self.is_local:
            return pyarrow.fs.LocalFileSystem()
        return pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(self.fs))

    def path(self, *parts: str) -> str:
        return "/".join((self.root, *parts))

    def holds(self, name: str) -> bool:
        """Is a capture of this name below the folder?"""
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
        """The paths of all files below a folder, in order, and their bytes; none if there is no
        such folder. One listing: to ask for each file takes a store hours."""
        self.fs.invalidate_cache()
        found = self.fs.find(self.path(*parts), detail=True)
        return {path: found[path]["size"] for path in sorted(found)}

    def files(self, *parts: str) -> list[str]:
        """The paths alone."""
        return [*self.sizes(*parts)]

    @contextmanager
    def create(self, path: str) -> Iterator[IO[bytes]]:
        """A new file, which appears once it is whole, in place of an old one."""
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
        """Stores show objects once they are whole, but take one that was left for whole."""
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
        """Writes a file unless there is one, and says whether it did. At once only on a disk and in
        stores that offer it."""
        if self.exists(*parts):
            return False
        try:
            self._write_new(json.dumps(value, indent=1).encode() + b"\n", self.path(*parts))
        except Exception:  # also of stores that only replace
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
        """None if there is no such file."""
        self.fs.invalidate_cache()
        try:
            with self.fs.open(self.path(*parts), "rb") as file:
                return json.loads(file.read())
        except FileNotFoundError:
            return None

    def replace(self, source: str, target: str) -> None:
        """A folder takes the place of another: at once on a disk; in a store object by object, and
        the source stays until it is removed."""
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
        """A file, or a folder with all that is in it, if there is one."""
        if self.exists(*parts):
            self.fs.rm(self.path(*parts), recursive=True)


# --- Parts: what one task found ---


def _part(folder: str, name: str, table: str) -> tuple[str, ...]:
    return OWN, "parts", folder, f"{name}.{table}.parquet"


class Part:
    """The tables of a part, written from time to time."""

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
    """Writes the tables of a part. *files* appears last, and only it makes the part count."""
    with ExitStack() as stack:  # which closes the first file last
        order = ["files", *(table for table in tables.NAMES if table != "files")]
        files = {
            table: stack.enter_context(store.create(store.path(*_part(folder, name, table))))
            for table in order
        }
        part = Part(files, partition)
        yield part
        part.close()


def parts(store: Store) -> list[str]:
    """The whole parts of all attempts, as paths without the name of a table."""
    ending = ".files.parquet"
    return [p.removesuffix(ending) for p in store.files(OWN, "parts") if p.endswith(ending)]


# --- One job at a time ---


@contextmanager
def lock(store: Store) -> Iterator[None]:
    """Keeps a second job out of the folder. One that was killed is noticed on the same machine."""
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
    """So is a former process of this number: in a container, each start may have the same."""
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
    """Puts the next tables, which are whole, in place of the present ones. What ends in the middle
    is completed by the next call."""
    if not store.exists(OWN, "commit.json"):
        return
    for table in tables.NAMES:
        if store.files(OWN, "next", table):
            store.replace(f"{OWN}/next/{table}", table)
    for own in ("parts", "pieces", "next", "old"):
        store.remove(OWN, own)
    store.remove(OWN, "commit.json")


def prepare(store: Store) -> None:
    """Says that the next tables are whole: from here on, a commit is only completed."""
    store.write_json({"tables": list(tables.NAMES)}, OWN, "commit.json")
