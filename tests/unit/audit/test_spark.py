# SPDX-License-Identifier: MIT
"""Spark's data source returns the same rows as libcarry.check(), for all kinds of captures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("pyspark", reason="pyspark is not installed")

from conftest import ARCHIVE, NO_CAPTURE, write_files
from documents import copy_captures, examples
from expected import captures_in, checked, ordered
from libcarry.audit import tables
from libcarry.audit.listing import Capture
from libcarry.spark import OPENING_BYTES, PARTITION_BYTES, grouped

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Spark's names of the column types.
NAMES = {
    "bool": "boolean",
    "double": "double",
    "string": "string",
    "timestamp[us, tz=UTC]": "timestamp",
    "uint16": "int",
    "uint32": "bigint",
    "uint64": "bigint",
}


def load(spark: SparkSession, *paths: str | Path, **options: str) -> DataFrame:
    reader = spark.read.format("carry").options(**options)
    return reader.load(str(paths[0]) if len(paths) == 1 else list(map(str, paths)))


def rows(frame: DataFrame, columns: list[str]) -> list[tuple[object, ...]]:
    return ordered(frame.select(columns).toArrow())


def as_spark_has_it(own: pyarrow.Table) -> list[tuple[object, ...]]:
    """Returns the rows with times in microseconds."""
    times = [field.name for field in own.schema if pyarrow.types.is_timestamp(field.type)]
    for name in times:
        number = own.schema.get_field_index(name)
        cut = own[name].cast(pyarrow.timestamp("us", "UTC"), safe=False)
        own = own.set_column(number, name, cut)
    return ordered(own)


# --- Columns ---


@pytest.mark.parametrize("table", tables.NAMES)
def test_columns(spark: SparkSession, archive: Path, table: str) -> None:
    """Columns in Spark have the names and types of the audit's tables."""
    found = load(spark, archive, table=table).schema
    assert [(column.name, column.dataType.simpleString(), column.nullable) for column in found] == [
        (column.name, NAMES[str(column.type)], column.nullable) for column in tables.schema(table)
    ]


def test_some_columns(spark: SparkSession, archive: Path) -> None:
    """A schema with some columns selects these columns, in the order of the schema."""
    frame = spark.read.format("carry").schema("checksums bigint, file string").load(str(archive))
    assert frame.columns == ["checksums", "file"]
    own = checked(archive, "counts").select(["checksums", "file"])
    assert rows(frame, frame.columns) == ordered(own)


# --- Rows ---


@pytest.mark.parametrize("table", tables.NAMES)
def test_rows_are_those_of_a_check(spark: SparkSession, archive: Path, table: str) -> None:
    own = checked(archive, table)
    assert rows(load(spark, archive, table=table), own.column_names) == as_spark_has_it(own)
    assert own.num_rows > 5


def test_a_store(spark: SparkSession, bucket: str, archive: Path) -> None:
    """Captures in a store have the rows of the same files on disk."""
    own = checked(archive, "counts", named=lambda name: f"{bucket}/{name}")
    assert rows(load(spark, bucket), own.column_names) == ordered(own)


def test_paths(spark: SparkSession, archive: Path, tmp_path: Path) -> None:
    """One path, several paths and globs are read. A glob without files, or an empty folder, has no
    rows."""
    lan = archive / "lan"
    for paths, files in (
        ([lan / "bad.pcap"], [lan / "bad.pcap"]),
        ([lan / "bad.pcap", archive / "wan"], [lan / "bad.pcap", *captures_in(archive / "wan")]),
        ([lan / "*d.pcap"], [lan / "bad.pcap", lan / "good.pcap", lan / "offloaded.pcap"]),
    ):
        own = checked(archive, "counts", files)
        assert rows(load(spark, *paths), own.column_names) == ordered(own)
    for nothing in (lan / "*.erf", tmp_path):
        assert load(spark, nothing).count() == 0


def test_unreadable_files_have_rows_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    damaged = "wan/damaged.pcap"
    write_files(tmp_path, {damaged: ARCHIVE[damaged]} | NO_CAPTURE)
    frame = load(spark, tmp_path / "lan/notes.txt", tmp_path / "wan", table="files")
    said = {Path(row.file).name: row for row in frame.collect()}
    assert said["notes.txt"].status == "not_capture"
    assert said["damaged.pcap"].status == "damaged"
    assert said["damaged.pcap"].packets == 2
    assert said["damaged.pcap"].damage_reason


def test_findings_are_bounded(spark: SparkSession, archive: Path) -> None:
    bad = archive / "lan/bad.pcap"
    for findings in ("3", "all"):
        assert load(spark, bad, table="findings", findings=findings).count() == 3
    assert load(spark, bad, table="findings", findings="2").count() == 2


def test_sql(spark: SparkSession, archive: Path) -> None:
    """SQL counts the findings of captures by protocol."""
    load(spark, archive, table="findings").createOrReplaceTempView("findings")
    found = spark.sql("select protocol, count(*) from findings group by all order by all")
    assert [tuple(row) for row in found.collect()] == [("tcp", 5), ("udp", 1)]


# --- Tasks ---


def sizes(*captures: int | None) -> list[list[int | None]]:
    groups = grouped(Capture(str(size), size, None, None) for size in captures)
    return [[capture.size for capture in group] for group in groups]


def test_small_captures_share_a_task() -> None:
    each = PARTITION_BYTES // OPENING_BYTES
    assert [len(group) for group in sizes(*[0] * (2 * each + 1))] == [each, each, 1]


def test_a_large_capture_has_a_task() -> None:
    large = 100 * PARTITION_BYTES
    assert sizes(1, 2, large, 3, 4) == [[1, 2], [large], [3, 4]]
    assert sizes(1, None, 2) == [[1], [None], [2]]
    assert sizes() == []


# --- Refusals ---


@pytest.mark.parametrize(
    ("options", "columns", "why"),
    [
        ({"table": "packets"}, None, "'packets' is no table: use files, counts, findings"),
        ({"findings": "-1"}, None, "findings must be from 0 to 2,147,483,647"),
        ({"findings": "few"}, None, "'few'"),
        ({}, "port int", "'port' is no column of counts: use file, protocol, verdict"),
        ({}, "checksums int", "checksums has the type bigint"),
    ],
)
def test_refused(
    spark: SparkSession, options: dict[str, str], columns: str | None, why: str
) -> None:
    reader = spark.read.format("carry").options(**options)
    with pytest.raises(Exception, match=why):
        (reader.schema(columns) if columns else reader).load("x").count()


def test_no_path(spark: SparkSession) -> None:
    """A source without a path is refused with a reason."""
    with pytest.raises(Exception, match="needs a path, a URL, or a list of them"):
        spark.read.format("carry").load().count()


# --- Documents ---


@pytest.mark.usefixtures("spark")
def test_the_howto(spark_folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """All examples of the page run in the session of the tests."""
    copy_captures(spark_folder)
    names: dict[str, object] = {}
    found = examples("howto/captures-in-spark.md", "How to query captures in Spark")
    assert len(found) == 3
    for code, shown in found:
        capfd.readouterr()
        exec(code, names)
        assert capfd.readouterr().out.strip() == shown.strip()
