# SPDX-License-Identifier: MIT
"""`carry fix` on the shared captures: see test_corpus.py for where they are.

What is fixed differs from what was there only where the log says so; no sum that was good is worse,
none that can be repaired is left, and tshark, where it is installed, agrees on all that changed.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from conftest import Run
from test_corpus import CAPTURES, COLUMNS, DUMP_SUMS, STATUSES, captures, pytestmark

__all__ = ["pytestmark"]

REPAIRABLE = {"bad", "partial", "illegal"}
PREFERENCES = [
    *("ip.check_checksum:TRUE", "tcp.check_checksum:TRUE", "udp.check_checksum:TRUE"),
    *("ip.defragment:FALSE", "ipv6.defragment:FALSE"),
]


class Layer(NamedTuple):
    frame: int
    protocol: str
    offset: int  # of the field in the file


class State(NamedTuple):
    verdict: str
    left_alone: bool  # quoted, in a fragment, or in a packet cut short


def layers(capture: Path) -> dict[Layer, State]:
    run = subprocess.run([DUMP_SUMS, capture], capture_output=True, text=True, timeout=60)
    assert run.returncode in (0, 2), run.stderr
    rows = [line.split("\t") for line in run.stdout.splitlines()]
    data = capture.read_bytes()
    fragments = {row[0] for row in rows if row[3] == "fragment" or is_fragment(data, row)}
    return {
        Layer(int(row[0]), row[1], int(row[7])): State(
            row[2], "1" in row[8:10] or row[0] in fragments
        )
        for row in rows
    }


def is_fragment(data: bytes, row: list[str]) -> bool:
    """Does a sum belong to an IPv4 header, or to UDP behind a fragment header, that says so?"""
    at = int(row[7])
    if row[1] == "ip":
        return int.from_bytes(data[at - 4 : at - 2], "big") & 0x3FFF != 0
    header = data[at - 14 : at - 6]  # next header, reserved, offset and flags, identification
    return row[1:3] == ["udp", "illegal"] and header[0] == 17 and header[2:4] != bytes(2)


def fixed(carry: Run, capture: str, folder: Path) -> tuple[Path, list[dict[str, Any]]]:
    out, log = folder / "out", folder / "log"
    done = carry("fix", CAPTURES / capture, "-o", out, "--log", log)
    left = carry("check", "-q", "--no-reassemble", out)  # fragments are left alone
    assert done.stderr == "" and done.returncode == left.returncode
    return out, [json.loads(line) for line in log.read_text().splitlines()]


def changed_at(log: list[dict[str, Any]]) -> set[int]:
    return {change["offset"] + i for change in log for i in range(change["size"])}


@pytest.mark.parametrize("capture", captures())
def test_repairs_what_it_can_and_breaks_nothing(carry: Run, tmp_path: Path, capture: str) -> None:
    out, log = fixed(carry, capture, tmp_path)
    old, new = (CAPTURES / capture).read_bytes(), out.read_bytes()
    assert len(old) == len(new)
    assert {i for i in range(len(old)) if old[i] != new[i]} <= changed_at(log)

    before, after = layers(CAPTURES / capture), layers(out)
    assert before.keys() == after.keys()
    worse = [key for key in before if before[key].verdict == "good" != after[key].verdict]
    left = [k for k, state in after.items() if state.verdict in REPAIRABLE and not state.left_alone]
    assert not worse and not left
    touched = {change["offset"] for change in log}
    assert not [k for k, state in before.items() if k.offset in touched and state.left_alone]
    assert carry("fix", out, "--dry-run", "--log", "-").stdout == ""


def statuses(capture: Path) -> dict[tuple[int, str], list[str]]:
    """What tshark says of each frame and protocol, with every kind of checksum verified."""
    options = [word for name in PREFERENCES for word in ("-o", name)]
    fields = [word for name in ["frame.encap_type", *COLUMNS.values()] for word in ("-e", name)]
    run = subprocess.run(
        ["tshark", "-n", "-r", capture, *options, "-T", "fields", "-E", "separator=;", *fields],
        capture_output=True,
        text=True,
        timeout=120,
    )
    found: dict[tuple[int, str], list[str]] = defaultdict(list)
    frame = 0
    for line in run.stdout.splitlines():
        encapsulation, *columns = line.split(";")
        frame += encapsulation != ""  # a custom block of pcapng is numbered, but is no packet
        for protocol, column in zip(COLUMNS, columns, strict=True):
            found[frame, protocol] = [STATUSES[code] for code in column.split(",") if code]
    return found


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
@pytest.mark.parametrize("capture", captures())
def test_tshark_agrees(carry: Run, tmp_path: Path, capture: str) -> None:
    out, log = fixed(carry, capture, tmp_path)
    changed = {(change["frame"], change["protocol"]) for change in log}
    if not changed:
        return
    ours: Counter[tuple[int, str]] = Counter()
    for layer, state in layers(out).items():
        ours[layer.frame, layer.protocol] += state.verdict != "good"
    theirs = statuses(out)
    unlike = {key: theirs[key] for key in changed if theirs[key].count("bad") > ours[key]}
    assert not unlike
