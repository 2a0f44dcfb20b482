# SPDX-License-Identifier: MIT
"""Reports as Arrow tables, which pyarrow, Polars, DuckDB and pandas read."""

from __future__ import annotations

import datetime
import gc
import threading
from pathlib import Path
from typing import Any

import captures
import libcarry
import pytest
from conftest import EXAMPLES, SOURCE, corpus, many

pytestmark = pytest.mark.sanitized

BROKEN = SOURCE / "examples/broken.pcap"
TABLES = ("files", "counts", "findings")

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")


@pytest.fixture(scope="module")
def report() -> libcarry.Report:
    return libcarry.check(BROKEN)


def test_findings(report: libcarry.Report) -> None:
    """A table of findings has the rows of the report."""
    table = pyarrow.table(report)
    assert table.column_names == [name for name, _ in report.table().columns]
    rows = table.to_pylist()
    assert [tuple(row.values())[3:] for row in rows] == [tuple(f)[3:] for f in report]
    assert [row["frame_number"] for row in rows] == [f.frame_number for f in report]
    expected = datetime.datetime(2023, 11, 14, 22, 13, 20, 200_000, datetime.UTC)
    assert table.column("frame_time").cast(pyarrow.timestamp("us", "UTC"))[0].as_py() == expected
    table.validate(full=True)


def test_nulls() -> None:
    """Nulls are right in a column whose validity bits occupy several bytes."""
    udp = captures.ethernet(captures.packet(captures.UDP, sums="bad"))
    ip = captures.put16(captures.ethernet(captures.packet(captures.UDP)), 24, 0x1234)
    report = libcarry.check(captures.pcap([udp if i % 3 else ip for i in range(30)]))
    ports = pyarrow.table(report).column("src_port")
    assert ports.to_pylist() == [40000 if i % 3 else None for i in range(30)]
    assert ports.to_pylist() == [finding.src_port for finding in report]
    assert ports.null_count == 10


def test_types(report: libcarry.Report) -> None:
    """Columns have the documented types."""
    schema = pyarrow.schema(libcarry.schema("findings"))
    types = {field.name: (str(field.type), field.nullable) for field in schema}
    assert types == {
        "file": ("string", False),
        "frame_number": ("uint64", False),
        "frame_time": ("timestamp[ns, tz=UTC]", True),
        "protocol": ("string", False),
        "verdict": ("string", False),
        "cause": ("string", True),
        "certain": ("bool", True),
        "src_ip": ("string", True),
        "dst_ip": ("string", True),
        "src_port": ("uint16", True),
        "dst_port": ("uint16", True),
        "stored": ("uint32", False),
        "expected": ("uint32", True),
        "file_offset": ("uint64", True),
    }
    for name in TABLES:
        schema = pyarrow.schema(libcarry.schema(name))
        assert schema.metadata == {
            b"libcarry.table": name.encode(),
            b"libcarry.tables_version": b"1",
        }
        assert report.to_arrow(name).schema.equals(schema, check_metadata=True)


def test_files_and_counts(report: libcarry.Report) -> None:
    (row,) = report.to_arrow("files").to_pylist()
    assert row == {
        "file": str(BROKEN),
        "size": BROKEN.stat().st_size,
        "packets": 11,
        "bytes": 839,
        "status": "wrong",
        "damage_offset": None,
        "damage_reason": None,
        "version": libcarry.__version__,
        "first_time": row["first_time"],
        "last_time": row["last_time"],
    }
    cut = libcarry.check(BROKEN.read_bytes()[:500], on_damage="report")
    (row,) = cut.to_arrow("files").to_pylist()
    assert (row["status"], row["damage_offset"], row["size"]) == ("damaged", 488, 500)
    assert row["damage_reason"] == cut.damage.reason


def test_times() -> None:
    frame = captures.ethernet(captures.packet(captures.UDP))
    seconds = (1_700_000_005, 0, 1_700_000_001, 1_700_000_003)
    records = [captures.Record(frame, seconds=second) for second in seconds]
    table = libcarry.check(captures.pcap(records)).to_arrow("files")
    first, last = (table[name].cast("int64")[0].as_py() for name in ("first_time", "last_time"))
    assert (first, last) == (1_700_000_001 * 10**9, 1_700_000_005 * 10**9)
    (row,) = libcarry.check(captures.pcap(records[1:2])).to_arrow("files").to_pylist()
    assert (row["packets"], row["first_time"], row["last_time"]) == (1, None, None)


def add_up(rows: list[dict[str, Any]], key: str) -> dict[str, dict[str, int]]:
    """Counts the checksums of each protocol by the value of `key`; rows with null do not count."""
    sums: dict[str, dict[str, int]] = {}
    for row in rows:
        if row[key] is not None:
            of_protocol = sums.setdefault(row["protocol"], {})
            of_protocol[row[key]] = of_protocol.get(row[key], 0) + row["checksums"]
    return sums


def without_zeros(counts: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:
    return {
        protocol: {name: count for name, count in of_protocol.items() if count}
        for protocol, of_protocol in counts.items()
    }


@pytest.mark.parametrize("path", [*EXAMPLES, *corpus()], ids=lambda path: path.name)
def test_counts(path: Path) -> None:
    """Each checksum is counted in one row; the sums agree with the report."""
    report = libcarry.check(path, on_damage="report")
    rows = report.to_arrow("counts").to_pylist()
    assert all(row["checksums"] > 0 for row in rows)
    assert add_up(rows, "verdict") == without_zeros(report.counts)
    assert add_up(rows, "reason") == report.reasons
    assert add_up(rows, "cause") == report.causes
    keys = [(row["protocol"], row["verdict"], row["reason"], row["cause"]) for row in rows]
    assert len(set(keys)) == len(keys)


def test_counts_by_reason() -> None:
    frame = captures.ethernet(captures.packet(captures.UDP, bytes(600)))
    report = libcarry.check(captures.pcap([captures.Record(frame[:60], len(frame))]))
    rows = report.to_arrow("counts").to_pylist()
    assert [(r["protocol"], r["verdict"], r["reason"], r["checksums"]) for r in rows] == [
        ("ip", "good", None, 1),
        ("udp", "unverifiable", "snaplen", 1),
    ]


def test_polars(report: libcarry.Report) -> None:
    """Polars reads the findings."""
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.DataFrame(report)
    assert frame.rows() == report.to_polars().rows()
    assert frame["stored"].to_list() == [f.stored for f in report]
    assert frame["certain"].to_list() == [None] * 5


def test_duckdb(report: libcarry.Report) -> None:
    """DuckDB queries the findings."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    query = "select protocol, count(*) from findings group by all order by all"
    findings = report.table()
    assert findings is not None
    assert duckdb.sql(query).fetchall() == [("ip", 1), ("tcp", 2), ("udp", 2)]


def test_pandas(report: libcarry.Report) -> None:
    """Pandas reads the findings, with times in nanoseconds."""
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = report.to_pandas()
    assert list(frame.protocol) == [f.protocol for f in report]
    assert [time.value for time in frame.frame_time] == [f.frame_time for f in report]


def test_many_batches() -> None:
    """The table has more rows than a batch, and batches may be released in any order."""
    count = 65_536 * 2 + 5
    report = libcarry.check(many(count), max_findings=count)
    reader = pyarrow.RecordBatchReader.from_stream(report)
    batches = list(reader)
    assert [batch.num_rows for batch in batches] == [65_536, 65_536, 5]
    last = batches.pop().column("frame_number")
    del report, reader
    columns = [column for batch in batches for column in batch.columns]
    del batches
    gc.collect()
    assert last.to_pylist() == list(range(count - 4, count + 1))
    assert columns[1][65_535].as_py() == 65_536
    assert columns[7][7].as_py() == "10.0.0.5"


def test_no_findings() -> None:
    """A report without findings is a table without rows."""
    table = pyarrow.table(libcarry.check(SOURCE / "examples/offload.pcapng"))
    assert (table.num_rows, table.num_columns) == (0, 14)


def test_streams_outlive_reports_in_other_threads(report: libcarry.Report) -> None:
    streams = [libcarry.check(BROKEN).__arrow_c_stream__() for _ in range(8)]
    rows: list[int] = []

    class Holder:
        def __init__(self, stream: object) -> None:
            self.stream = stream

        def __arrow_c_stream__(self, requested_schema: object = None) -> object:
            return self.stream

    def read(stream: object) -> None:
        rows.append(pyarrow.table(Holder(stream)).num_rows)

    threads = [threading.Thread(target=read, args=[streams.pop()]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert rows == [5] * 8


def test_unread_streams_are_released(report: libcarry.Report) -> None:
    for _ in range(100):
        report.__arrow_c_stream__()
        report.table("files").__arrow_c_schema__()


def test_wrong_use_raises(report: libcarry.Report) -> None:
    with pytest.raises(KeyError, match="senders"):
        report.table("senders")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no rows"):
        libcarry.schema("files").__arrow_c_stream__()
    unknown: Any = 5
    with pytest.raises(TypeError):
        libcarry.schema(unknown)
