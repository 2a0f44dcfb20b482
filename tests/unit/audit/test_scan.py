# SPDX-License-Identifier: MIT
"""libcarry.audit.scan(): a stream of Arrow with the rows of captures; DuckDB can query it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import libcarry.audit
from conftest import ARCHIVE, NO_CAPTURE, write_files
from documents import copy_captures, examples
from expected import checked, ordered
from libcarry.audit import tables


@pytest.mark.parametrize("table", tables.NAMES)
def test_rows_are_those_of_a_check(archive: Path, table: str) -> None:
    reader = libcarry.audit.scan(str(archive), table)
    assert reader.schema == tables.schema(table)
    rows, own = reader.read_all(), checked(archive, table)
    assert ordered(rows.select(own.column_names)) == ordered(own)
    assert rows.num_rows > 5


def test_a_store(bucket: str, archive: Path) -> None:
    """A glob in a store yields the rows of the same files on disk."""
    rows = libcarry.audit.scan(f"{bucket}/wan/*.pcap*").read_all()
    files = [path for path in sorted((archive / "wan").iterdir())]
    own = checked(archive, "counts", files, named=lambda name: f"{bucket}/{name}")
    assert ordered(rows) == ordered(own)


def test_several_sources(archive: Path) -> None:
    """Rows are in the order of the sources."""
    sources = [str(archive / "lan/good.pcap"), str(archive / "wan/*.gz")]
    rows = libcarry.audit.scan(iter(sources), "files").read_all()
    assert rows["packets"].to_pylist() == [2, 2]
    assert rows["status"].to_pylist() == ["clean", "wrong"]


def test_duckdb_queries_captures(archive: Path) -> None:
    """DuckDB counts the findings of captures by protocol."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    rows = libcarry.audit.scan(str(archive), "findings")
    found = duckdb.sql("select protocol, count(*) from rows group by all order by all").fetchall()
    assert rows.schema == tables.schema("findings")  # used in SQL, which the linter does not see
    assert found == [("tcp", 5), ("udp", 1)]


def test_unreadable_files_have_rows(tmp_path: Path) -> None:
    damaged = "wan/damaged.pcap"
    write_files(tmp_path, {damaged: ARCHIVE[damaged]} | NO_CAPTURE)
    sources = [*map(str, sorted(tmp_path.rglob("*.*"))), str(tmp_path / "gone.pcap")]
    rows = libcarry.audit.scan(sources, "files").read_all()
    said = {Path(row["file"]).name: row["status"] for row in rows.to_pylist()}
    assert said == {"damaged.pcap": "damaged", "notes.txt": "not_capture", "gone.pcap": "failed"}


def test_captures_are_checked_as_rows_are_read(archive: Path) -> None:
    taken = []

    def sources() -> Iterator[str]:
        for path in sorted(archive.rglob("*.pcap")):
            taken.append(path)
            yield str(path)

    reader = libcarry.audit.scan(sources(), "files")
    assert len(reader.read_next_batch()) == 1
    assert len(taken) == 1


def test_findings_are_bounded(archive: Path) -> None:
    bad = str(archive / "lan/bad.pcap")
    assert libcarry.audit.scan(bad, "findings", findings=2).read_all().num_rows == 2
    assert libcarry.audit.scan(bad, "files", findings=2).read_all()["findings"].to_pylist() == [3]


def test_wrong_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="'packets' is no table: use files, counts, findings"):
        libcarry.audit.scan("x", "packets")
    for limit in (-1, 1 << 31):
        with pytest.raises(ValueError, match="findings must be from 0 to 2,147,483,647"):
            libcarry.audit.scan("x", findings=limit)
    with pytest.raises(ValueError, match="threads must be from 0 to 256"):
        libcarry.audit.scan("x", threads=257)


def test_the_documented_query(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The documented query runs, and prints a row of partial checksums of TCP."""
    pytest.importorskip("duckdb", reason="duckdb is not installed")
    copy_captures(tmp_path)
    monkeypatch.chdir(tmp_path)
    ((code, _),) = examples("python.md", "Captures as tables")
    exec(code, {})
    assert re.search(r"tcp\W+partial\W+\d", capfd.readouterr().out)
