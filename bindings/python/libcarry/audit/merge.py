# SPDX-License-Identifier: MIT
"""Merges parts and the tables of earlier runs into the next tables, with fewer files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any
from urllib.parse import unquote

import pyarrow
import pyarrow.compute
import pyarrow.dataset
import pyarrow.parquet

from . import tables
from .store import OWN, Store

_FILE_BYTES = 128 << 20
_FILES = 500
_BATCH_ROWS = 2_048
_GROUP_ROWS = 4 * _BATCH_ROWS  # number of rows in memory at once, without partitions
_PARTITIONED_ROWS = 2 * _GROUP_ROWS
_OPEN_FILES = 64


@dataclass(frozen=True, slots=True)
class Merge:
    """Files of a table that become one file, or one file in each partition."""

    table: str
    number: int
    earlier: tuple[str, ...]  # earlier files, whose captures may have been read again
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shared:
    """Settings that all merges share."""

    out: str
    partition: str | None
    last: dict[str, str | None]  # for a capture, the earlier part whose rows count (None: no part)


def plan(
    sizes: Mapping[str, int], table: str, earlier: Sequence[str], parts: Sequence[str]
) -> Iterator[Merge]:
    """Yields merges that make files of about equal size."""
    number = 0
    batch: tuple[list[str], list[str]] = ([], [])
    size = 0
    for kind, paths in enumerate((earlier, parts)):
        for path in paths:
            batch[kind].append(path)
            size += sizes[path]
            if size >= _FILE_BYTES or len(batch[0]) + len(batch[1]) >= _FILES:
                yield Merge(table, number, tuple(batch[0]), tuple(batch[1]))
                number, size, batch = number + 1, 0, ([], [])
    if number == 0 or batch[0] or batch[1]:
        yield Merge(table, number, tuple(batch[0]), tuple(batch[1]))


def _read(
    store: Store, paths: Sequence[str], schema: pyarrow.Schema, partition: str | None = None
) -> Iterator[pyarrow.Table]:
    """Yields the rows of files, a few at a time: a scan of a dataset would read ahead."""
    for path in paths:
        with (
            store.arrow.open_input_file(path) as file,
            pyarrow.parquet.ParquetFile(file) as parquet,
        ):
            for batch in parquet.iter_batches(batch_size=_BATCH_ROWS, use_threads=False):
                rows = pyarrow.Table.from_batches([batch])
                if partition and partition not in rows.column_names:
                    rows = rows.append_column(partition, [[_value(path, partition)] * len(rows)])
                yield rows.select(schema.names).cast(schema)


def _value(path: str, partition: str) -> str:
    """Returns the value of the partition, which is part of the name of the file's folder."""
    found = re.search(rf"/{partition}=([^/]*)/[^/]*$", path)
    return unquote(found[1]) if found else ""


def write_empty(store: Store, table: str, partition: str | None) -> None:
    """Writes a table without rows into the next tables."""
    with store.create(store.path(OWN, "next", table, "part-empty.parquet")) as file:
        pyarrow.parquet.write_table(tables.schema(table, partition).empty_table(), file)


def _rows(store: Store, merge: Merge, shared: Shared) -> Iterator[pyarrow.Table]:
    """Yields the rows of a merge. For a capture that was read again, yields only its last rows."""
    schema = tables.schema(merge.table, shared.partition)
    for path in merge.earlier:
        part = path.removesuffix(f".{merge.table}.parquet")
        names = [capture for capture, last in shared.last.items() if last != part]
        replaced = pyarrow.array(names, pyarrow.string())
        for table in _read(store, [path], schema, shared.partition):
            again = pyarrow.compute.is_in(table["file"], value_set=replaced)
            yield table.filter(pyarrow.compute.invert(again))
    yield from _read(store, merge.parts, schema)


def _partitioning(partition: str | None) -> Any:  # noqa: ANN401
    if not partition:
        return None
    column = pyarrow.schema([pyarrow.field(partition, pyarrow.string())])
    return pyarrow.dataset.partitioning(column, flavor="hive")


def _join_tables(parts: Iterator[pyarrow.Table], most: int) -> Iterator[pyarrow.Table]:
    """Yields tables of about `most` rows, so that memory holds no more at once."""
    held: list[pyarrow.Table] = []
    rows = 0
    for part in parts:
        held.append(part)
        rows += len(part)
        if rows >= most:
            yield pyarrow.concat_tables(held)
            held, rows = [], 0
    if rows:
        yield pyarrow.concat_tables(held)


def _write_file(store: Store, merge: Merge, shared: Shared) -> None:
    """Writes the rows to one file, unless there are none."""
    groups = _join_tables(_rows(store, merge, shared), _GROUP_ROWS)
    if (first := next(groups, None)) is None:
        return
    name = f"part-{merge.number:06}.parquet"
    with (
        store.create(store.path(OWN, "next", merge.table, name)) as file,
        pyarrow.parquet.ParquetWriter(file, first.schema, compression="zstd") as writer,
    ):
        for group in chain([first], groups):
            writer.write_table(group)


def _write_partitions(store: Store, merge: Merge, shared: Shared) -> None:
    """Writes each group of rows to a file in each of its partitions."""
    for number, group in enumerate(_join_tables(_rows(store, merge, shared), _PARTITIONED_ROWS)):
        pyarrow.dataset.write_dataset(
            group,
            store.path(OWN, "next", merge.table),
            format="parquet",
            file_options=pyarrow.dataset.ParquetFileFormat().make_write_options(compression="zstd"),
            filesystem=store.arrow,
            partitioning=_partitioning(shared.partition),
            basename_template=f"part-{merge.number:06}-{number:03}-{{i}}.parquet",
            existing_data_behavior="overwrite_or_ignore",
            use_threads=False,
            max_partitions=_PARTITIONED_ROWS,
            max_open_files=_OPEN_FILES,
        )


def run(merge: Merge, shared: Shared) -> None:
    """Writes the rows of a merge into the next tables."""
    write = _write_partitions if shared.partition else _write_file
    write(Store(shared.out), merge, shared)
