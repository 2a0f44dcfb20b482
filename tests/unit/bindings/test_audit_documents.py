# SPDX-License-Identifier: MIT
"""Documented queries of an audit: each runs, and its answer is the documented one."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import SOURCE

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")

from audits import UTC, Audit  # noqa: E402

PAGE = SOURCE / "docs/howto/ask-an-audit.md"
BLOCKS = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
QUESTIONS = 10


def archive() -> Audit:
    """Returns the audit to which the documented answers apply."""
    october = datetime.datetime(2026, 10, 20, 8, tzinfo=UTC)
    november = datetime.datetime(2026, 11, 2, 9, 30, tzinfo=UTC)
    audit = Audit()
    audit.capture(
        "archive/core/monday.pcap",
        [("ip", "good", 800), ("tcp", "good", 640), ("tcp", "partial", 60, None, "sent")],
        time=october,
    )
    audit.capture(
        "archive/core/tuesday.pcap",
        [("ip", "good", 500), ("tcp", "good", 392), ("tcp", "bad", 8, None, "not_inverted")],
        time=november,
    )
    audit.capture(
        "archive/core/headers.pcap",
        [("ip", "good", 300), ("tcp", "unverifiable", 290, "snaplen")],
        time=november,
    )
    audit.capture(
        "archive/edge/nat.pcap",
        [
            ("ip", "good", 200),
            ("tcp", "good", 150),
            ("tcp", "bad", 12, None, "rewritten"),
            ("udp", "bad", 3),
            ("udp", "absent", 5),
        ],
        time=november,
        digest="aa01",
        size=48_120,
    )
    audit.capture(
        "archive/edge/copy-of-nat.pcap",
        [("ip", "good", 200), ("tcp", "good", 150), ("tcp", "bad", 12, None, "rewritten")],
        time=november,
        digest="aa01",
        size=48_120,
    )
    audit.capture(
        "archive/edge/torn.pcap",
        [("ip", "good", 90), ("udp", "unverifiable", 4, "fragment")],
        time=october,
        status="damaged",
        damage_offset=61_208,
        damage_reason="the file ends inside a packet",
    )
    nothing: dict[str, Any] = {"time": None, "packets": 0, "digest": None}
    audit.capture("archive/lab/empty.pcap", time=None, packets=0)
    audit.capture("archive/lab/notes.txt", status="not_capture", error="no known format", **nothing)
    audit.capture("archive/lab/locked.pcap", status="failed", error="Permission denied", **nothing)
    for name in ("nat", "copy-of-nat"):
        for number in (2, 5, 6):
            time = november + datetime.timedelta(seconds=number)
            path = f"archive/edge/{name}.pcap"
            audit.finding(path, number, cause="rewritten", frame_time=time)
    audit.finding("archive/edge/nat.pcap", 9, protocol="udp", src_ip="192.0.2.9")
    for number in (11, 12):
        path = "archive/core/tuesday.pcap"
        audit.finding(path, number, cause="not_inverted", src_ip="10.0.0.20")
    return audit


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("asked")
    archive().write(path / "audit", pieces=2)
    return path


def shown(names: list[str], rows: list[tuple[Any, ...]]) -> str:
    """Returns an answer as the page shows it."""

    def text(value: object) -> str:
        if isinstance(value, list):
            return ", ".join(value)
        return "" if value is None else str(value)

    lines = [names, *([text(value) for value in row] for row in rows)]
    numbers = [all(isinstance(row[at], int | float) for row in rows) for at in range(len(names))]
    widths = [max(len(line[at]) for line in lines) for at in range(len(names))]
    return "".join(
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(line, widths, numbers, strict=True)
        ).rstrip()
        + "\n"
        for line in lines
    )


def questions() -> Iterator[tuple[str, str, str]]:
    """Yields language, question, and the answer that follows it, if any."""
    blocks = BLOCKS.findall(PAGE.read_text())
    for (language, text), (after, answer) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if language != "text":
            yield language, text, answer if after == "text" else ""


def test_sql(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each documented query runs and has the documented answer."""
    monkeypatch.chdir(folder)
    answered = 0
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        for language, question, answer in questions():
            if language != "sql":
                continue
            asked = connection.execute(question)
            if answer:
                names = [column[0] for column in asked.description]
                assert shown(names, asked.fetchall()) == answer, question
                answered += 1
    assert answered == QUESTIONS


def test_polars(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Polars gives the documented answer to the first question."""
    pytest.importorskip("polars", reason="polars is not installed")
    monkeypatch.chdir(folder)
    (code,) = (text for language, text, _ in questions() if language == "python")
    scope: dict[str, Any] = {}
    exec(code, scope)
    corrupt = scope["corrupt"]
    first = next(answer for _, _, answer in questions() if answer)
    assert shown(corrupt.columns, corrupt.rows()) == first


def test_spark_has_the_words_of_duckdb() -> None:
    """The query for Spark, which needs Java and is not run, equals the first query for DuckDB."""
    spark = BLOCKS.findall(PAGE.read_text())[-1][1]
    asked = "".join(re.findall(r'"(select .*?)"\n\s*"(.*?)"', spark)[0])
    first = next(question for _, question, answer in questions() if answer)
    assert asked == " ".join(first.rstrip(";\n").split())
