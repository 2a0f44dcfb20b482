# SPDX-License-Identifier: MIT
"""Parts, and the tables of earlier runs, made the next tables: some files become one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow
import pyarrow.compute
import pyarrow.dataset
import pyarrow.parquet

from . import tables
from .store import OWN, Store

_FILE_BYTES = 128 << 20
_FILES = 500
_BATCH_ROWS = 16_384


@dataclass(frozen=True, slots=True)
class Merge:
    """Files of one table that become one file, or one in each partition."""

    table: str
    number: int
    earlier: tuple[str, ...]  # whose captures may have been read again since
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shared:
    """What all merges are told."""

    out: str
    partition: str | None
    redone: frozenset[str]  # captures that were read again


def plan(store: Store, table: str, earlier: Sequence[str], parts: Sequence[str]) -> Iterator[Merge]:
    """Merges that make about equally large files."""
    number = 0
    batch: tuple[list[str], list[str]] = ([], [])
    size = 0
    for kind, paths in enumerate((earlier, parts)):
        for path in paths:
            batch[kind].append(path)
            size += store.fs.size(path)
            if size >= _FILE_BYTES or len(batch[0]) + len(batch[1]) >= _FILES:
                yield Merge(table, number, tuple(batch[0]), tuple(batch[1]))
                number, size, batch = number + 1, 0, ([], [])
    if number == 0 or batch[0] or batch[1]:
        yield Merge(table, number, tuple(batch[0]), tuple(batch[1]))


def _read(
    store: Store, paths: Sequence[str], schema: pyarrow.Schema, by: object = None
) -> Iterator[pyarrow.Table]:
    source = pyarrow.dataset.dataset(
        list(paths), schema=schema, filesystem=store.arrow, partitioning=by, format="parquet"
    )
    for batch in source.to_batches(
        batch_size=_BATCH_ROWS, use_threads=False, batch_readahead=0, fragment_readahead=1
    ):
        yield pyarrow.Table.from_batches([batch])


def write_empty(store: Store, table: str, partition: str | None) -> None:
    """A table without rows, among the next tables."""
    with store.create(store.path(OWN, "next", table, "part-empty.parquet")) as file:
        pyarrow.parquet.write_table(tables.schema(table, partition).empty_table(), file)


def _rows(store: Store, merge: Merge, shared: Shared) -> Iterator[pyarrow.RecordBatch]:
    schema = tables.schema(merge.table, shared.partition)
    redone = pyarrow.array(sorted(shared.redone), pyarrow.string())
    for table in _read(store, merge.earlier, schema, _partitioning(shared.partition)):
        again = pyarrow.compute.is_in(table["file"], value_set=redone)
        yield from table.filter(pyarrow.compute.invert(again)).to_batches()
    for table in _read(store, merge.parts, schema):
        yield from table.to_batches()


def _partitioning(partition: str | None) -> Any:  # noqa: ANN401
    if not partition:
        return None
    column = pyarrow.schema([pyarrow.field(partition, pyarrow.string())])
    return pyarrow.dataset.partitioning(column, flavor="hive")


def run(merge: Merge, shared: Shared) -> None:
    """Writes the rows of a merge among the next tables."""
    store = Store(shared.out)
    schema = tables.schema(merge.table, shared.partition)
    folder = store.path(OWN, "next", merge.table)
    pyarrow.dataset.write_dataset(
        pyarrow.dataset.Scanner.from_batches(_rows(store, merge, shared), schema=schema),
        folder,
        format="parquet",
        file_options=pyarrow.dataset.ParquetFileFormat().make_write_options(compression="zstd"),
        filesystem=store.arrow,
        partitioning=_partitioning(shared.partition),
        basename_template=f"part-{merge.number:06}-{{i}}.parquet",
        existing_data_behavior="overwrite_or_ignore",
        use_threads=False,
        max_partitions=100_000,
    )
