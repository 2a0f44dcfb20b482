# SPDX-License-Identifier: MIT
"""`carry check --tsv` prints the values of JSON in columns; all formats show expected checksums."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from captures import GOOD, PARTIAL, UDP, V6, WRONG, Record, ethernet, packet, pcap
from carry_tool import BAD, DAMAGED, Run

pytestmark = pytest.mark.covers_capture


def table(text: str) -> list[dict[str, str]]:
    names, *rows = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_tsv(carry: Run, tmp_path: Path) -> None:
    """--tsv prints a row for each file and protocol, with the counts of JSON."""
    path, other = tmp_path / "a\tb.pcap", tmp_path / "c.pcap"
    path.write_bytes(pcap([GOOD, WRONG, PARTIAL]) + b"x")
    other.write_bytes(pcap([]))
    done = carry("check", "--tsv", path, other)
    shown = str(path).replace("\t", "?")
    assert done.returncode == DAMAGED
    assert done.stderr.startswith(f"carry: {shown}: damaged at offset ")
    rows = table(done.stdout)
    assert [(row["file"], row["protocol"]) for row in rows] == [
        (shown, "all"),
        (shown, "ip"),
        (shown, "tcp"),
        (str(other), "all"),
    ]
    report = json.loads(carry("check", "--json", path).stdout)["protocols"]
    for row in rows[1:3]:
        assert {name: int(row[name]) for name in report["tcp"]} == report[row["protocol"]]
    assert (rows[0]["good"], rows[3]["good"]) == ("4", "0")


def column(value: object) -> str:
    """Returns a value of JSON as a column shows it."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_tsv_of_findings(carry: Run, tmp_path: Path) -> None:
    """--tsv --bad-only prints the values of JSON."""
    path = tmp_path / "a.pcap"
    ends = {"src": "2001:db8::1", "dst": "2001:db8::2"}
    missing = Record(ethernet(packet(UDP, sums="none", **ends)), seconds=0)
    path.write_bytes(pcap([GOOD, WRONG, missing]))
    rows = table(carry("check", "--tsv", "-b", path).stdout)
    found = [json.loads(x) for x in carry("check", "--json", "-b", path).stdout.splitlines()]
    assert rows == [
        {key: column(value) for key, value in one.items() if key != "schema"} for one in found
    ]
    assert rows[1]["time"] == ""


def test_illegal_sum_has_an_expected_value(carry: Run, tmp_path: Path) -> None:
    """Every command gives the same expected value, and no value for a truncated frame."""
    frame = ethernet(packet(UDP, sums="none", **V6))
    path, fixed = tmp_path / "a.pcap", tmp_path / "b.pcap"
    path.write_bytes(pcap([frame, Record(frame[:-1], len(frame))]))
    assert carry("fix", path, "-o", fixed).returncode == BAD
    right = int.from_bytes(ethernet(packet(UDP, **V6))[60:62], "big")
    found = [json.loads(x) for x in carry("check", "--json", "-b", path).stdout.splitlines()]
    assert [one["expected"] for one in found] == [right, None]
    assert fixed.read_bytes()[24 + 16 + 60 :][:2] == right.to_bytes(2, "big")
    shown = carry("check", path).stdout
    assert f"0x0000  0x{right:04x} " in shown
    assert "0x0000  not 0 " in shown
    assert f"expected 0x{right:04x}" in carry("explain", path, "1").stdout
