# SPDX-License-Identifier: MIT
"""Provides captures as tables of Spark, which checks them on its executors.

    >>> import libcarry.spark
    >>> libcarry.spark.register(spark)
    >>> spark.read.format("carry").option("table", "counts").load("s3://bucket/captures")

Every executor needs this package.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow
from pyspark.sql import types
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from .audit.listing import Capture, find
from .audit.rows import checked_name, checked_options, rows
from .audit.tables import schema
from .audit.worker import Options

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

__all__ = ["register"]

# The defaults of Spark for its partitions of files (maxPartitionBytes and openCostInBytes). A
# capture counts as its own bytes and the bytes that could be read while it is opened.
PARTITION_BYTES = 128 << 20
OPENING_BYTES = 4 << 20
# A task of Spark has one core.
THREADS = 1
DEFAULT_TABLE = "counts"

# For the Arrow type of a column: Spark's type, and the Arrow type that Spark accepts for it. Spark
# has no unsigned numbers.
_TIME = pyarrow.timestamp("us", "UTC")
_TYPES = {
    pyarrow.string(): (types.StringType(), pyarrow.string()),
    pyarrow.bool_(): (types.BooleanType(), pyarrow.bool_()),
    pyarrow.uint16(): (types.IntegerType(), pyarrow.int32()),
    pyarrow.uint32(): (types.LongType(), pyarrow.int64()),
    pyarrow.uint64(): (types.LongType(), pyarrow.int64()),
    pyarrow.float64(): (types.DoubleType(), pyarrow.float64()),
    _TIME: (types.TimestampType(), _TIME),
}


def spark_schema(table: str) -> types.StructType:
    """Returns the columns of a table in Spark's types."""
    columns = (
        types.StructField(column.name, _TYPES[column.type][0], column.nullable)
        for column in schema(table)
    )
    return types.StructType(list(columns))


def arrow_schema(table: str, wanted: types.StructType) -> pyarrow.Schema:
    """Returns the schema that Spark accepts for these columns. Raises ValueError if the table lacks
    a column, or has it in another type."""
    own = {column.name: column for column in spark_schema(table)}
    for column in wanted:
        if column.name not in own:
            raise ValueError(f"{column.name!r} is no column of {table}: use {', '.join(own)}")
        if (kind := own[column.name].dataType) != column.dataType:
            raise ValueError(f"{column.name} has the type {kind.simpleString()}")
    kinds = schema(table)
    columns = (
        pyarrow.field(column.name, _TYPES[kinds.field(column.name).type][1], column.nullable)
        for column in wanted
    )
    return pyarrow.schema(columns)


def grouped(captures: Iterable[Capture]) -> Iterator[list[Capture]]:
    """Yields the captures of each task: many small ones, or a large one. A capture of unknown size
    counts as large."""
    group: list[Capture] = []
    filled = 0
    for capture in captures:
        cost = OPENING_BYTES + (PARTITION_BYTES if capture.size is None else capture.size)
        if group and filled + cost > PARTITION_BYTES:
            yield group
            group, filled = [], 0
        group.append(capture)
        filled += cost
    if group:
        yield group


def sources(options: Mapping[str, str]) -> list[str]:
    """Returns the arguments of load(): Spark has one option for a path, and another for several."""
    several = json.loads(options.get("paths", "[]"))
    one = options.get("path")
    found = [*several, *([one] if one is not None else [])]
    if not found:
        raise ValueError("load() needs a path, a URL, or a list of them")
    return found


def limit(options: Mapping[str, str]) -> int | None:
    """Returns the number of findings of a capture to keep, or None for all."""
    text = options.get("findings")
    if text is None:
        return Options().findings
    return None if text == "all" else int(text)


class _Reader(DataSourceReader):
    def __init__(
        self, table: str, options: Options, paths: list[str], wanted: pyarrow.Schema
    ) -> None:
        self.table = table
        self.options = options
        self.paths = paths
        self.wanted = wanted

    def partitions(self) -> list[InputPartition]:
        return [InputPartition(group) for group in grouped(find(self.paths))]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        captures = partition.value or []  # None: there is no partition
        for batch in rows(captures, self.table, self.options):
            yield self._taken(batch)

    def _taken(self, batch: pyarrow.RecordBatch) -> pyarrow.RecordBatch:
        """Returns the batch in types that Spark accepts: times lose their nanoseconds."""
        columns = [batch.column(field.name).cast(field.type, safe=False) for field in self.wanted]
        return pyarrow.RecordBatch.from_arrays(columns, schema=self.wanted)


class _Source(DataSource):
    @classmethod
    def name(cls) -> str:
        return "carry"

    def _table(self) -> str:
        return checked_name(self.options.get("table", DEFAULT_TABLE))

    def schema(self) -> types.StructType:
        return spark_schema(self._table())

    def reader(self, schema: types.StructType) -> DataSourceReader:
        table = self._table()
        options = checked_options(limit(self.options), THREADS)
        return _Reader(table, options, sources(self.options), arrow_schema(table, schema))


def register(spark: SparkSession) -> None:
    """Registers the format "carry" in a session, for `spark.read.format("carry")`.

    `load()` takes a path or a list of them: captures, folders, globs, and URLs that fsspec opens.
    Options: `table` is files, counts (by default) or findings; `findings` is how many findings of a
    capture are kept at most, or all. `schema()` with some of the columns omits the others.

    A table has the columns of `libcarry.audit.scan()`, in Spark's types: unsigned numbers are
    `int` or `bigint`, and times are timestamps of microseconds, so that nanoseconds are cut off.

    Small captures share a task, and a large one has its own task, which reads it as a stream. A
    capture that is damaged, or cannot be read, does not end the job: its row of *files* contains
    the reason.
    """
    spark.dataSource.register(_Source)
