# SPDX-License-Identifier: MIT
"""The tables of an audit: the tables of a check, with columns that only an archive has."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import quote

import pyarrow

from .. import _carry

if TYPE_CHECKING:
    from .worker import Rows

# New columns are added only at the end; any other change requires a new version.
VERSION = "1"
NAMES = ("files", "counts", "findings")

# Spark cannot read Parquet with nanoseconds.
_TIME = pyarrow.timestamp("us", "UTC")

# Columns of *files* after the columns of a check: name, type, whether it may be null, description.
EXTRA_FILES = (
    ("folder", pyarrow.string(), False, "the part of the name before its last slash"),
    ("modified", _TIME, True, "when the capture was last changed, as its store says"),
    ("digest", pyarrow.string(), True, "of the content, as its store says or its ends show"),
    ("findings", pyarrow.uint64(), False, "bad and illegal checksums, those too that are not kept"),
    ("error", pyarrow.string(), True, "why the capture was not read to its end: one line"),
    ("attempts", pyarrow.uint32(), False, "how often it was opened"),
    ("pieces", pyarrow.uint32(), False, "in how many pieces it was read"),
    ("read_seconds", pyarrow.float64(), False, "seconds that workers took for it"),
)


# The limit for a folder in the name of its partition: names have at most 255 bytes, including
# "folder=".
_PARTITION_BYTES = 240
_TAIL_CHARACTERS = 16  # each is up to 4 bytes of UTF-8, and each byte becomes the 3 bytes of %xx

# The columns that can partition the tables of an archive, each with the tables that already have
# this column.
PARTITIONS = {"day": (), "folder": ("files",)}


@cache
def own_schema(name: str) -> pyarrow.Schema:
    """Returns the columns of a table of a check."""
    return pyarrow.schema(_carry.schema(name))


@cache
def schema(name: str, partition: str | None = None) -> pyarrow.Schema:
    """Returns the columns of a table, followed by the column of its partition if the table lacks
    it. The metadata contains the versions of the columns of a check and of an audit."""
    own = own_schema(name)
    for place, field in enumerate(own):
        if pyarrow.types.is_timestamp(field.type):
            own = own.set(place, field.with_type(_TIME))
    if name == "files":
        for column, kind, nullable, _text in EXTRA_FILES:
            own = own.append(pyarrow.field(column, kind, nullable))
    if partition and name not in PARTITIONS[partition]:
        own = own.append(pyarrow.field(partition, pyarrow.string(), False))
    return own.with_metadata({**(own.metadata or {}), "libcarry.audit_version": VERSION})


def microseconds(nanoseconds: int | None) -> int | None:
    """Returns a time in microseconds, the unit of the tables."""
    return None if nanoseconds is None else nanoseconds // 1000


# --- Rows of several captures ---


def _day(rows: Rows) -> str:
    """Returns the day on which the capture began, or, if unknown, the day of its last change."""
    first = rows.own["files"]["first_time"].cast(pyarrow.int64())[0].as_py()
    time = rows.extra["modified"] if first is None else microseconds(first)
    if time is None:
        return "unknown"
    return str(datetime.fromtimestamp(time // 1_000_000, UTC).date())


def _folder(rows: Rows) -> str:
    """Returns the folder, shortened if it is too long for the name of its partition, in which each
    slash is written as %2F."""
    folder = str(rows.value("folder"))
    if len(quote(folder, safe="")) <= _PARTITION_BYTES:
        return folder
    digest = hashlib.sha256(folder.encode()).hexdigest()[:16]
    return f"{digest}-{folder.rpartition('/')[2][:_TAIL_CHARACTERS]}"


def _partition(rows: Rows, by: str) -> str:
    return _day(rows) if by == "day" else _folder(rows)


def collected(name: str, captures: Sequence[Rows], partition: str | None = None) -> pyarrow.Table:
    """Returns a table with the rows of several captures."""
    target = schema(name, partition)
    having = [rows for rows in captures if name in rows.own]
    if not having:
        return target.empty_table()
    columns = dict(_columns(pyarrow.concat_tables([rows.own[name] for rows in having])))
    if name == "files":
        for column in having[0].extra:
            values = [rows.extra[column] for rows in having]
            columns[column] = pyarrow.array(values, target.field(column).type)
    if partition:
        values = [
            value
            for rows in having
            for value in [_partition(rows, partition)] * len(rows.own[name])
        ]
        columns[partition] = pyarrow.array(values, pyarrow.string())
    # Truncates nanoseconds.
    cast = [columns[field.name].cast(field.type, safe=False) for field in target]
    return pyarrow.table(cast, schema=target)


def _columns(table: pyarrow.Table) -> list[tuple[str, pyarrow.ChunkedArray]]:
    return list(zip(table.column_names, table.columns, strict=True))
