# SPDX-License-Identifier: MIT
"""Reads the tables of an audit in pieces, from a disk or any store that fsspec supports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

import fsspec
import pyarrow
import pyarrow.compute as compute
import pyarrow.dataset
import pyarrow.fs
from fsspec.implementations.local import LocalFileSystem

from . import tables

_BATCH_ROWS = 65_536

_PARTITIONS = pyarrow.dataset.partitioning(
    pyarrow.schema([("day", pyarrow.string()), ("folder", pyarrow.string())]), flavor="hive"
)

# Names for types of pyarrow, which has no type annotations.
Batch: TypeAlias = Any  # a table of some rows
Column: TypeAlias = Any
Filter: TypeAlias = Any
Row: TypeAlias = dict[str, Any]
T = TypeVar("T")


class Tables:
    """The tables of one audit."""

    def __init__(self, destination: str) -> None:
        store, root = fsspec.core.url_to_fs(destination)
        self._root = root.rstrip("/")
        if isinstance(store, LocalFileSystem):
            self._store = pyarrow.fs.LocalFileSystem()
        else:
            self._store = pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(store))
        if not self._exists("files"):
            raise FileNotFoundError(f"{destination}: no audit: it has no table files")

    def _exists(self, name: str) -> bool:
        info = self._store.get_file_info(f"{self._root}/{name}")
        return bool(info.type == pyarrow.fs.FileType.Directory)

    def _dataset(self, name: str) -> Batch:
        schema = tables.schema(name)
        if not self._exists(name):  # some stores have no empty folders
            return pyarrow.dataset.dataset(schema.empty_table())
        return pyarrow.dataset.dataset(
            f"{self._root}/{name}",
            schema=schema,
            filesystem=self._store,
            format="parquet",
            partitioning=_PARTITIONS,
        )

    def batches(self, name: str, columns: Sequence[str], only: Filter = None) -> Iterator[Batch]:
        """Yields a table in pieces, file by file: a scan of all files at once would read up to
        1 GiB ahead."""
        dataset = self._dataset(name)
        for fragment in dataset.get_fragments(only):
            scanned = fragment.to_batches(
                schema=dataset.schema,
                columns=list(columns),
                filter=only,
                batch_size=_BATCH_ROWS,
                batch_readahead=2,
                cache_metadata=False,
            )
            for batch in scanned:
                if batch.num_rows:
                    yield pyarrow.Table.from_batches([batch])


def sums(table: Batch, keys: Sequence[str], column: str) -> Iterator[tuple[Any, ...]]:
    """Yields each combination of keys with the sum of a column."""
    summed = table.group_by(list(keys)).aggregate([(column, "sum")])
    yield from zip(*(summed[name].to_pylist() for name in [*keys, f"{column}_sum"]), strict=True)


def counted(table: Batch, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yields each combination of keys with the number of its rows."""
    counted = table.group_by(list(keys)).aggregate([([], "count_all")])
    yield from zip(*(counted[name].to_pylist() for name in [*keys, "count_all"]), strict=True)


def folders_of(names: Column) -> Column:
    """Returns the part of each name before its last slash."""
    cut = compute.replace_substring_regex(names, pattern="/[^/]*$", replacement="")
    return compute.if_else(compute.match_substring(names, "/"), cut, "")


class First(Generic[T]):
    """Keeps the first `most` of many items in the order of a key."""

    def __init__(self, most: int, key: Callable[[T], Any]) -> None:
        self.most = most
        self.key = key
        self._kept: list[T] = []

    def add(self, items: Iterable[T]) -> None:
        for item in items:
            self._kept.append(item)
            if len(self._kept) > 8 * self.most:
                self._cut()

    def _cut(self) -> None:
        self._kept = sorted(self._kept, key=self.key)[: self.most]

    def get(self) -> list[T]:
        self._cut()
        return self._kept
