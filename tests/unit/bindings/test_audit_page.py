# SPDX-License-Identifier: MIT
"""The page and the text of an audit: their content, safety and limits."""

from __future__ import annotations

import datetime
import html.parser
import io
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag

import pytest
from conftest import SOURCE, Script

pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
datasets = pytest.importorskip("pyarrow.dataset", reason="pyarrow is not installed")
pytest.importorskip("fsspec", reason="fsspec is not installed")

from audits import UTC, Audit, table  # noqa: E402
from libcarry.audit import (  # noqa: E402
    command,
    markup,
    overview,
    page,
    report,
    timeline,
    tree,
    words,
)

sys.path.insert(0, str(SOURCE / "scripts"))
import check_site  # noqa: E402

# --- Audits ---


def small() -> Audit:
    audit = Audit()
    audit.capture("a/good.pcap", [("ip", "good", 10), ("tcp", "good", 7), ("tcp", "partial", 3)])
    audit.capture(
        "a/bad.pcap",
        [
            ("ip", "good", 9),
            ("tcp", "bad", 4, None, "zero"),
            ("tcp", "bad", 1),
            ("udp", "illegal", 2),
            ("udp", "unverifiable", 5, "snaplen"),
        ],
        time=datetime.datetime(2026, 11, 3, 5, tzinfo=UTC),
    )
    for number in range(1, 6):
        cause = "zero" if number < 5 else None
        audit.finding("a/bad.pcap", number, cause=cause, src_ip=f"10.0.0.{number // 4}")
    audit.finding("a/bad.pcap", 6, protocol="udp", verdict="illegal", src_ip="10.0.0.1")
    audit.capture("b/late.pcap", [("ip", "bad", 1)], time=None)
    audit.finding("b/late.pcap", 1, protocol="ip", src_ip="10.0.0.1", src_port=None, dst_port=None)
    audit.capture(
        "b/torn.pcap",
        [("ip", "good", 2)],
        status="damaged",
        damage_offset=1234,
        damage_reason="a record is longer than the limit",
    )
    audit.capture("b/gone.pcap", status="failed", error="status 503", time=None, packets=0)
    audit.capture("b/book.pdf", status="not_capture", error="no format", time=None, packets=0)
    return audit


@pytest.fixture
def audit(tmp_path: Path) -> Path:
    return small().write(tmp_path / "audit")


def page_of(folder: Path) -> str:
    target = io.BytesIO()
    page.write(str(folder), target)
    return target.getvalue().decode()


# --- HTML ---

VOID = {"meta", "link", "rect", "br"}


class Reader(html.parser.HTMLParser):
    """Collects the content of a page; fails where a browser would have to guess."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.anchors: Counter[str] = Counter()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attributes:
            assert not name.startswith("on")
            if name == "id":
                self.anchors[value or ""] += 1
            elif tag == "a" and name == "href":
                self.links.append(value or "")
            elif name in ("href", "src", "srcset", "action", "data", "poster"):
                self.loads.append(value or "")
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        assert tag in VOID
        self.handle_starttag(tag, attributes)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not {"style", "title"} & {*self.open}:
            self.texts.append(data)
        if {"td", "th"} & {*self.open}:
            self.rows[-1][-1] += data

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def row(self, first: str) -> list[str]:
        return next(row for row in self.rows if row and row[0] == first)


def read(text: str) -> Reader:
    """Reads a page; checks that each of its links leads to one place in it, and that it loads
    nothing."""
    reader = Reader(text)
    assert max(reader.anchors.values(), default=1) == 1
    for link in reader.links:
        url, anchor = urldefrag(link)
        assert not url and anchor in reader.anchors
    assert reader.loads == ["data:,"]
    assert not reader.tags & {"script", "img", "iframe", "object", "embed", "form", "base"}
    assert text.startswith("<!doctype html>\n") and text.count("<h1>") == 1
    assert text.count("@import") == text.count("url(") == 0
    return reader


# --- Content ---


def test_page_begins_with_the_outcome(audit: Path) -> None:
    """The page begins with the outcome, the corruption rate and what was checked."""
    said = read(page_of(audit)).text
    assert "Checksums of 6 captures\n6 bad and 2 illegal checksums; 1 damaged;" in said
    assert "1 could not be read; 1 not a capture" in said
    assert "Corruption rate: 17.65 %: 6 bad of 34 checksums that are good or bad" in said
    assert "44 packets, 5.4 kB; checked by carry 0.1.0" in said


def test_text_has_outcome_and_causes(audit: Path) -> None:
    """The text contains the outcome, its causes, and the worst folder and sender."""
    assert report.text(overview.read(str(audit))) == (
        "6 captures, 44 packets, 5.4 kB: 6 bad and 2 illegal checksums; 1 damaged; 1 could not be "
        "read; 1 not a capture\n"
        "corruption rate: 17.65 % of checksums that are good or bad are bad\n"
        "why: 4 hold 0: never filled in, or computed twice\n"
        "worst folder: a, 7 wrong checksums\n"
        "worst sender: 10.0.0.1, 4 in findings of 2 captures\n"
        "could not be verified: 5 cut short by the capture\n"
        "not clean: a/bad.pcap, b/late.pcap, b/torn.pcap and 2 more\n"
    )


def test_words_of_one_and_of_many() -> None:
    """Words after counts are singular or plural, and shares are never rounded to 0 or 100 %."""
    one = Counter(dict.fromkeys(words.REMAINDERS, 1))
    assert [*words.remainders(one)] == [
        "1 in which nothing was checked",
        "1 damaged",
        "1 could not be read",
        "1 changed while it was read",
        "1 unpacks to too much",
        "1 not a capture",
    ]
    assert [*words.remainders({"changed": 1_200})] == ["1,200 changed while they were read"]
    shares = {None: "-", 0: "0 %", 1: "100 %", 1e-6: "< 0.01 %", 0.99999: "> 99.99 %"}
    assert {share: words.percent(share) for share in shares} == shares
    sizes = {1: "1 byte", 999: "999 bytes", 1_000: "1.0 kB", 99_960: "100 kB", 10**15: "1.0 PB"}
    assert {number: words.size(number) for number in sizes} == sizes


def test_illegal_checksums_may_have_a_cause(tmp_path: Path) -> None:
    """A cause of illegal checksums is shown; illegal checksums without a cause have no card."""
    made = Audit()
    made.capture("a.pcap", [("udp", "illegal", 2, None, "zero_computed"), ("udp", "illegal", 3)])
    made.finding("a.pcap", protocol="udp", verdict="illegal", cause="zero_computed")
    made.finding("a.pcap", 2, protocol="udp", verdict="illegal")
    found = overview.read(str(made.write(tmp_path)))
    assert report.causes(found) == [("illegal", "zero_computed", 2)]
    assert "why: 2 were computed as 0 and sent as 0" in report.text(found)
    seen = read(page_of(tmp_path))
    assert "1 udp illegal: zero_computed" in seen.text
    assert "1 udp illegal: no checksum" in seen.text


def test_json_and_exit_status(audit: Path, tmp_path: Path) -> None:
    """JSON contains the counts of the audit, and the exit status is the most severe one."""
    found = overview.read(str(audit))
    said = report.to_dict(found)
    assert said["tables"] == str(audit)
    assert said["statuses"]["wrong"] == 2 and said["verdicts"]["partial"] == 3
    assert said["corruption_rate"] == 6 / 34
    assert said["causes"][0] == {"verdict": "bad", "cause": "zero", "checksums": 4}
    assert report.exit_status(found) == 3
    for number, (name, status) in enumerate(
        [("a", "clean"), ("a.pdf", "not_capture"), ("a", "wrong"), ("a.pcap", "not_capture")]
    ):
        one = Audit()
        one.capture(name, status=status)
        found = overview.read(str(one.write(tmp_path / str(number))))
        assert report.exit_status(found) == max(0, number - 1)


def test_the_command(
    audit: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command makes text, page and JSON from tables without an engine."""
    monkeypatch.setattr(command, "_missing_packages", lambda: None)
    target = tmp_path / "page.html"
    assert command.main(["report", f"--html={target}", str(audit)]) == 3
    assert capsys.readouterr().out == report.text(overview.read(str(audit)))
    assert target.read_text() == page_of(audit)
    assert command.main(["report", "--json", str(audit)]) == 3
    assert json.loads(capsys.readouterr().out) == report.to_dict(overview.read(str(audit)))
    assert command.main(["report", "--quiet", str(audit)]) == 3
    assert command.main(["report", str(tmp_path)]) == 3
    said = capsys.readouterr()
    assert not said.out
    assert said.err == f"carry audit: {tmp_path}: no audit: it has no table files\n"


def test_tables(audit: Path) -> None:
    """Each table of the page has a row for each status, protocol, folder, reason and sender."""
    seen = read(page_of(audit))
    assert seen.row("wrong") == ["wrong", "with wrong checksums", "2", "33.33 %"]
    assert seen.row("tcp") == ["tcp", "7", "5", "3", "-", "-", "41.67 %", ""]
    assert seen.row("a") == ["a", "5", "2", "16.13 %", "2", "1", ""]
    assert seen.row("b") == ["b", "1", "-", "33.33 %", "4", "4", ""]
    assert seen.row("snaplen")[1:] == ["cut short by the capture", "5", "11.36 %", "udp 5"]
    assert seen.row("10.0.0.1") == [
        "10.0.0.1",
        "4",
        "2",
        "1 ip bad: unknown cause; 1 tcp bad: zero; 1 tcp bad: unknown cause; and 1 more",
    ]
    assert "Counted in the 7 findings that the audit kept, of 8 wrong checksums." in seen.text
    assert seen.row("b/gone.pcap") == ["b/gone.pcap", "could not be read", "status 503"]
    assert "b/torn.pcap: damaged at offset 1,234: a record is longer than the limit" in seen.text
    assert "A checksum holds 0: never filled in, or computed twice." in seen.text
    assert "try: make the program that builds the packet compute the checksum" in seen.text


def test_over_time(audit: Path) -> None:
    """Verdicts are counted by hour; those without a time have their own row."""
    found = overview.read(str(audit))
    assert (found.unit, len(found.spans)) == ("hour", 2)
    assert found.timeless == {"bad": 1} and found.timeless_captures == 3
    seen = read(page_of(audit))
    assert seen.row("2026-11-03T05Z") == ["2026-11-03T05Z", "9", "-", "2", "5", "35.71 %"]
    assert seen.row("no time") == ["no time", "-", "-", "-", "1", "100 %"]
    assert "3 captures that say no time, with 1 checksum." in seen.text


@pytest.mark.parametrize(
    ("hours", "unit", "bars"),
    [(1, "minute", 61), (50, "hour", 51), (24 * 60, "day", 61), (24 * 900, "month", 30)],
)
def test_spans(tmp_path: Path, hours: int, unit: str, bars: int) -> None:
    """The unit of time grows with the time that the captures span."""
    audit = Audit()
    start = datetime.datetime(2026, 1, 1, tzinfo=UTC)
    for name, time in (("a", start), ("b", start + datetime.timedelta(hours=hours))):
        audit.capture(name, [("ip", "good", 1)], time=time)
    found = overview.read(str(audit.write(tmp_path)))
    assert found.unit == unit
    assert f'viewBox="0 0 {bars} 100"' in timeline.section(found)


def test_times_of_centuries(tmp_path: Path) -> None:
    audit = Audit()
    for year in (1970, 2262):
        audit.capture(f"{year}", [("ip", "bad", 1)], time=datetime.datetime(year, 1, 1, tzinfo=UTC))
    seen = read(page_of(audit.write(tmp_path)))
    assert seen.row("1970")[1:] == seen.row("2262")[1:] == ["1", "100 %"]


def test_details(audit: Path) -> None:
    """The page has folders, their captures, and details of each."""
    seen = read(page_of(audit))
    assert {"folder-1", "folder-2", "capture-1", "capture-5", "cause-zero"} <= {*seen.anchors}
    assert "capture-6" not in seen.anchors
    assert seen.row("bad.pcap") == ["bad.pcap", "21", "7 wrong checksums"]
    assert "tcp5 bad (4 zero)" in seen.text.replace("\n", "")
    first = ["1", "tcp", "bad", "0x1234, not 0x4321", "10.0.0.0:40000 -> 198.51.100.7:443", "zero"]
    assert seen.row("1") == first
    assert "and 2 more, as far as the audit kept findings" in seen.text
    assert "where file = 'a/bad.pcap'" in seen.text


def test_the_order_of_captures_has_no_effect(audit: Path, tmp_path: Path) -> None:
    other = small()
    other.files.reverse()
    other.counts.sort(key=lambda row: row["file"], reverse=True)
    other.findings.sort(key=lambda row: row["file"], reverse=True)
    folder = other.write(tmp_path / "other", pieces=3)
    assert page_of(folder).replace(str(folder), str(audit)) == page_of(audit)


def test_an_empty_audit(tmp_path: Path) -> None:
    """An audit without captures says that nothing was checked."""
    text = page_of(Audit().write(tmp_path))
    assert "nothing was checked: no packets" in read(text).text
    said = report.text(overview.read(str(tmp_path)))
    assert said == "0 captures, 0 packets, 0 bytes: nothing was checked: no packets\n"


def test_captures_alone(tmp_path: Path) -> None:
    """A page of captures without folders has no empty table."""
    audit = Audit()
    audit.capture("x", status="failed", error="status 403", packets=0, time=None)
    audit.write(tmp_path)
    for name in ("counts", "findings"):
        (tmp_path / name).rmdir()
    assert read(page_of(tmp_path)).row("x")[1:] == ["could not be read", "status 403"]


def test_no_audit(tmp_path: Path) -> None:
    """A folder without tables is not an audit."""
    with pytest.raises(FileNotFoundError, match="no audit: it has no table files"):
        overview.read(str(tmp_path))


@pytest.mark.parametrize("column", ["folder", "day"])
def test_partitions(tmp_path: Path, column: str) -> None:
    """The names of a table's folders may contain the values of a column; its files then lack that
    column."""
    small().write(tmp_path / "whole")
    rows = small().files
    for name in ("counts", "findings"):
        (tmp_path / name).symlink_to(tmp_path / "whole" / name)
    files = table("files", rows)
    if column == "day":
        days = [f"{row['first_time'] or 'none':.10}" for row in map(_with_text, rows)]
        files = files.append_column("day", pyarrow.array(days))
    kind = datasets.partitioning(pyarrow.schema([(column, pyarrow.string())]), flavor="hive")
    datasets.write_dataset(files, tmp_path / "files", format="parquet", partitioning=kind)
    assert any(path.name.startswith(f"{column}=") for path in (tmp_path / "files").iterdir())
    whole = page_of(tmp_path / "whole").replace("/whole/", "/")
    assert page_of(tmp_path) == whole


def _with_text(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"first_time": row["first_time"] and row["first_time"].isoformat()}


def test_any_store(audit: Path) -> None:
    """A page of an audit in a store equals the page of the same audit on disk."""
    import fsspec

    memory = fsspec.filesystem("memory")
    for path in audit.rglob("*.parquet"):
        memory.pipe(f"/kept/{path.relative_to(audit)}", path.read_bytes())
    try:
        page.write("memory://kept", "memory://kept/page.html")
        expected = page_of(audit).replace(str(audit), "memory://kept")
        assert memory.cat("/kept/page.html").decode() == expected
    finally:
        memory.rm("/kept", recursive=True)


def test_targets(audit: Path, tmp_path: Path) -> None:
    """A page replaces a file, and never a folder."""
    target = tmp_path / "page.html"
    target.write_text("before")
    page.write(str(audit), target)
    assert target.read_text() == page_of(audit)
    assert {path.name for path in tmp_path.iterdir()} == {"audit", "page.html"}
    with pytest.raises(IsADirectoryError):
        page.write(str(audit), tmp_path)


# --- Hostile names ---

HOSTILE = {
    "<script>alert(1)</script>": "<script>alert(1)</script>",
    "a&amp;b": "a&amp;b",
    "\"quoted\" 'twice'": "\"quoted\" 'twice'",
    "esc\x1b[31m": r"esc\x1b[31m",
    "line\nfeed": r"line\x0afeed",
    "\u202egnp.pacp": r"\u202egnp.pacp",
    "zero\u200bwidth": r"zero\u200bwidth",
    "no\u00a0break": r"no\xa0break",
    "tag\U000e0041": r"tag\U000e0041",
    "https://user:pass@host/x": "https://…@host/x",
    "https://a/b?X-Amz-Signature=beef&n=1": "https://a/b?X-Amz-Signature=…&n=1",
    "https://a/b?sig=beef": "https://a/b?sig=…",
    "two  blanks ": "two  blanks ",
    "naïve-日本": "naïve-日本",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(tmp_path: Path, name: str) -> None:
    audit = Audit()
    audit.capture(name, [("ip", "bad", 1)], status="damaged", damage_reason=name, damage_offset=1)
    audit.capture(f"{name}/x", status="failed", error=name)
    audit.finding(name, src_ip=name, protocol="ip")
    text = page_of(audit.write(tmp_path))
    seen = read(text)
    assert f"{HOSTILE[name]}: damaged at offset 1: {HOSTILE[name]}" in seen.text
    assert "pass" not in text.partition("</style>")[2] and "beef" not in text
    if HOSTILE[name] != name:
        assert name not in text
    assert HOSTILE[name] in report.text(overview.read(str(tmp_path)))


def test_different_names_look_different() -> None:
    """An escape is marked, since a name may contain the same text."""
    pairs = [("a\x1b", r"a\x1b"), ("a\u202e", r"a\u202e")]
    for one, other in pairs:
        assert markup.name(one) != markup.name(other)
        assert words.plain(one) != words.plain(other)
    assert [*words.pieces("…")] == [("…", False)]
    long = "x" * 300 + "…" + "y" * 300
    assert [*words.pieces(long)] == [("x" * 200, False), ("…", True), ("y" * 200, False)]


def test_names_in_sql(tmp_path: Path) -> None:
    """A query for a capture finds only that capture."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    names = [*HOSTILE, "it's 100%_\\", "\n", ""]
    for name in names:
        condition = words.sql_is("file", name)
        query = f"select count(*) from (select unnest($names) as file) where {condition}"
        assert duckdb.connect().execute(query, {"names": names}).fetchone() == (1,), name
        assert "pass" not in condition and "beef" not in condition


def test_queries_of_the_page(audit: Path) -> None:
    """Each query that the page shows runs in DuckDB."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    queries = page_of(audit).split("<pre><code>")[1:]
    assert len(queries) >= 5
    for query in queries:
        duckdb.connect().sql(html.unescape(query.partition("</code>")[0])).fetchall()


# --- Bounds ---


def test_folders_far_down_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = Audit()
    for number in range(40):
        audit.capture(f"s3://x/{number % 4}/{number}/a.pcap", [("ip", "bad", 1)])
    audit.write(tmp_path, pieces=7)
    monkeypatch.setattr(overview, "FOLDERS_MAX", 10)
    found = overview.read(str(tmp_path))
    assert found.depth == 3 and sorted(found.folders) == [f"s3://x/{n}" for n in range(4)]
    assert all((f.captures, f.verdicts["bad"]) == (10, 10) for f in found.folders.values())
    monkeypatch.setattr(overview, "FOLDERS_MAX", 0)
    assert [*overview.read(str(tmp_path)).folders] == ["s3://x"]


def test_roots_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = Audit()
    for number in range(40):
        audit.capture(f"s{number}://x/a.pcap", [("ip", "bad", 1)])
    monkeypatch.setattr(overview, "FOLDERS_MAX", 10)
    found = overview.read(str(audit.write(tmp_path, pieces=7)))
    assert [(name, f.captures, f.wrong) for name, f in found.folders.items()] == [("", 40, 40)]
    read(page.html(found))


def test_senders_that_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "SENDERS_MAX", 50)
    audit = Audit()
    for number in range(400):
        audit.finding("a", number + 1, src_ip=f"10.1.{number // 200}.{number % 200}")
        audit.finding("a", number + 1, src_ip="10.0.0.1")
    audit.capture("a", [("tcp", "bad", 800)])
    audit.write(tmp_path, pieces=20)
    found = overview.read(str(tmp_path))
    assert not found.senders_exact
    worst = found.senders[0]
    assert (worst.address, worst.checksums, worst.captures) == ("10.0.0.1", 400, 1)
    assert read(page.html(found)).row("10.0.0.1")[1:3] == ["at least 400", "at least 1"]


def test_times_of_more_captures_than_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = Audit()
    for number in range(300):
        time = datetime.datetime(2026, 1, 1 + number % 20, tzinfo=UTC)
        audit.capture(f"{number * 7919 % 1000}", [("ip", "good", number)], time=time)
    audit.write(tmp_path, pieces=9)
    whole = overview.read(str(tmp_path))
    monkeypatch.setattr(overview, "_TIMES_MAX", 40)
    monkeypatch.setattr(overview, "_SAMPLES_MAX", 16)
    parts = overview.read(str(tmp_path))
    assert parts.spans == whole.spans and len(whole.spans) == 20
    assert sum(parts.spans.values(), Counter()) == {"good": 299 * 150}


def test_a_tree_of_many_folders() -> None:
    """Of many folders, the page shows those with wrong checksums, and counts the others."""
    folders = {f"/data/a/{n}/{m}": overview.Folder(1) for n in range(50) for m in range(50)}
    folders["/data/a/7/7"].verdicts["bad"] = 3
    text = tree.table(folders, {})
    assert text.count("<tr>") < 1 + tree.ROWS_MAX * 2
    rows = Reader(text).rows
    assert [rows[n][0] for n in (1, 2, 3)] == ["/data/a", "7", "7"]
    assert ["42 others", "-", "-", "-", "2,100", "2,100", ""] in rows


MANY = """
import sys
import pyarrow
from pathlib import Path
from audits import Audit, UTC
import datetime
start = datetime.datetime(2026, 1, 1, tzinfo=UTC)
audit = Audit()
for n in range(10_000):
    name = f"s3://bucket/{n % 90}/{n % 7}/{'long-name' * 9}-{n:05}.pcap"
    time = start + datetime.timedelta(minutes=11 * n)
    sums = [("ip", "good", 9), ("tcp", "bad", n % 5, None, "zero"), ("tcp", "good", 9)]
    audit.capture(name, sums, time=time, status=["damaged", "failed", None][n % 3])
    for frame in range(n % 5):
        audit.finding(name, frame, src_ip=f"10.{n % 50}.{n % 31}.{frame}")
audit.write(Path("audit"), 3)
"""

MEASURED = """
import tracemalloc
import pyarrow
from libcarry.audit import page
tracemalloc.start()
page.write("audit", "page.html")
print(tracemalloc.get_traced_memory()[1], pyarrow.default_memory_pool().max_memory())
"""


def test_many_captures(tmp_path: Path, script: Script) -> None:
    """Neither the page nor the memory to make it grows with the number of captures."""
    tests = f"import sys\nsys.path.insert(0, {str(SOURCE / 'tests/unit/bindings')!r})\n"
    assert script(tests + MANY).returncode == 0
    done = script(MEASURED)
    assert done.returncode == 0, done.stderr
    python, arrow = map(int, done.stdout.split())
    assert python < 30_000_000 and arrow < 60_000_000
    text = (tmp_path / "page.html").read_text()
    assert len(text) < 800_000
    assert "and 9,233 more that are not clean" in read(text).text


# --- In a browser ---


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if missing := check_site.obstacle():
        pytest.skip(missing)
    with check_site.deadline(300), check_site.open_browser() as browser:
        yield browser


def test_in_a_browser(browser: Any, tmp_path: Path) -> None:  # noqa: ANN401
    """The page has no errors and loads no other file, and a link leads to its target."""
    audit = small()
    for name in HOSTILE:
        audit.capture(name, [("ip", "bad", 1)], status="damaged", damage_reason=name)
    site = tmp_path / "site"
    site.mkdir()
    page.write(str(audit.write(tmp_path / "audit")), site / "index.html")
    with check_site.serve_folder(site) as base:
        seen = check_site.check_pages(browser, site, base)
        assert seen.complaints == [] and not seen.foreign and seen.links > 20
        browser.get(base)
        browser.find_element("link text", "bad.pcap").click()
        target = browser.execute_script("return document.querySelector(':target').innerText")
        assert target.startswith("bad.pcap\n") and "10.0.0.0:40000" in target
        assert check_site.troubles(browser, base) == []
        for width in (360, 1200):
            metrics = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": True}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width
