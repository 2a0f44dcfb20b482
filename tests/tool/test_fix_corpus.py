# SPDX-License-Identifier: MIT
"""`carry fix` on the shared captures (test_corpus.py says where they lie).

A copy differs from the original only where the log says so, and no good sum gets worse. `carry
check` finds each sum that was not repaired, with a reason. tshark, where it is installed, agrees on
everything that changed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from carry_tool import Run, cases
from schemas import conforming
from test_corpus import CAPTURES, COLUMNS, DUMP_SUMS, STATUSES, captures, pytestmark

__all__ = ["pytestmark"]

PREFERENCES = [
    *("ip.check_checksum:TRUE", "tcp.check_checksum:TRUE", "udp.check_checksum:TRUE"),
    *("ip.defragment:FALSE", "ipv6.defragment:FALSE"),
]


class Layer(NamedTuple):
    frame: int
    protocol: str
    offset: int  # offset of the field in the file


class State(NamedTuple):
    verdict: str
    quoted: bool  # whether an ICMP error quotes the checksum


def layers(capture: Path) -> dict[Layer, State]:
    run = subprocess.run([DUMP_SUMS, capture], capture_output=True, text=True, timeout=600)
    assert run.returncode in (0, 2), run.stderr
    rows = [line.split("\t") for line in run.stdout.splitlines()]
    return {Layer(int(row[0]), row[1], int(row[7])): State(row[2], row[8] == "1") for row in rows}


Line = dict[str, Any]


def fixed(carry: Run, capture: str, folder: Path) -> tuple[Path, list[Line], list[Line]]:
    """Returns the copy, and the log's lines on changes and on sums that were not repaired."""
    out, log = folder / "out", folder / "log"
    done = carry("fix", CAPTURES / capture, "-o", out, "--log", log)
    assert done.stderr == "" and done.returncode == carry("check", "-q", out).returncode
    lines = [conforming("fix_log", line) for line in log.read_text().splitlines()]
    return (
        out,
        [line for line in lines if line["reason"] is None],
        [line for line in lines if line["reason"] is not None],
    )


def changed_at(changes: list[Line]) -> set[int]:
    return {change["offset"] + i for change in changes for i in range(change["size"])}


def wrong(carry: Run, capture: Path) -> Counter[tuple[int, str, str]]:
    """Returns the findings of `carry check`: frame, protocol and verdict."""
    done = carry("check", "-b", "--json", "--partial=report", capture)
    return names(conforming("check_bad_only", line) for line in done.stdout.splitlines())


def names(lines: Iterable[Line]) -> Counter[tuple[int, str, str]]:
    return Counter((line["frame"], line["protocol"], line["verdict"]) for line in lines)


@pytest.mark.parametrize("capture", captures())
def test_repairs_what_it_can_and_breaks_nothing(carry: Run, tmp_path: Path, capture: str) -> None:
    out, changes, left = fixed(carry, capture, tmp_path)
    old, new = (CAPTURES / capture).read_bytes(), out.read_bytes()
    assert len(old) == len(new)
    assert {i for i in range(len(old)) if old[i] != new[i]} <= changed_at(changes)

    before, after = layers(CAPTURES / capture), layers(out)
    assert before.keys() == after.keys()
    assert not [key for key in before if before[key].verdict == "good" != after[key].verdict]
    touched = {change["offset"] for change in changes}
    assert not [key for key, state in before.items() if key.offset in touched and state.quoted]

    assert names(left) == wrong(carry, out)
    done = carry("fix", out, "-o", tmp_path / "again", "--log", "-")
    assert [json.loads(line) for line in done.stdout.splitlines()] == left
    assert (tmp_path / "again").read_bytes() == new


def statuses(capture: Path) -> dict[tuple[int, str], list[str]]:
    """Returns tshark's verdicts by frame and protocol; tshark verifies every kind of checksum."""
    options = [word for name in PREFERENCES for word in ("-o", name)]
    fields = [word for name in ["frame.encap_type", *COLUMNS.values()] for word in ("-e", name)]
    run = subprocess.run(
        ["tshark", "-n", "-r", capture, *options, "-T", "fields", "-E", "separator=;", *fields],
        capture_output=True,
        text=True,
        timeout=600,
    )
    found: dict[tuple[int, str], list[str]] = defaultdict(list)
    frame = 0
    for line in run.stdout.splitlines():
        encapsulation, *columns = line.split(";")
        frame += encapsulation != ""  # a custom block of pcapng has a number, but is not a packet
        for protocol, column in zip(COLUMNS, columns, strict=True):
            found[frame, protocol] = [STATUSES[code] for code in column.split(",") if code]
    return found


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
@pytest.mark.parametrize("capture", cases(captures(), 4))
def test_tshark_agrees(carry: Run, tmp_path: Path, capture: str) -> None:
    out, changes, _ = fixed(carry, capture, tmp_path)
    changed = {(change["field_frame"], change["protocol"]) for change in changes}
    if not changed:
        return
    ours: Counter[tuple[int, str]] = Counter()
    for layer, state in layers(out).items():
        ours[layer.frame, layer.protocol] += state.verdict != "good"
    theirs = statuses(out)
    unlike = {key: theirs[key] for key in changed if theirs[key].count("bad") > ours[key]}
    assert not unlike
