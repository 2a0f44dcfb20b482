# SPDX-License-Identifier: MIT
"""Damaged captures from the corpus of test_corpus.py.

Each check must exit with status 2, report the place and kind of the damage, and give the verdicts
of a file that ends before the damage. The tests use the damaged captures, and cut or change all
captures.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest
from carry_tool import Check, CheckAll, Run, status_of
from test_corpus import CAPTURES, captures, pytestmark

__all__ = ["pytestmark"]


class Damage(NamedTuple):
    packets: int  # number of packets before the damage
    offset: int
    reason: str


DAMAGED = {
    "derived_bad_caplen.pcap": Damage(
        20, 1986, "record claims 2147483647 bytes, above the limit of 16777216"
    ),
    "derived_cut_midrecord.pcap": Damage(416, 43038, "record cut: 42 of 70 bytes"),
    "derived_garbage_tail.pcap": Damage(
        800, 60824, "record claims 1883939354 bytes, above the limit of 16777216"
    ),
    "derived_trunc_block.pcapng": Damage(50, 8048, "block cut: 48 of 1000 bytes"),
    "scapy_bad_rsn_parsing_overrides_ssid.pcap": Damage(1, 359, "record header cut: 1 of 16 bytes"),
    "suriverify_fuzz.pcap": Damage(
        1, 228, "record claims 1409179648 bytes, above the limit of 16777216"
    ),
}


def without_end(report: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in report.items() if key not in ("bytes", "damage")}


def judge(check_all: CheckAll, *captures: bytes) -> list[dict[str, Any]]:
    """Returns the reports. Checks that damage has a place and a reason, and that the part of the
    capture before the damage has the same report."""
    reports = [report for _, report in check_all(captures)]
    wholes, befores = [], []
    for data, report in zip(captures, reports, strict=True):
        damage = report["damage"]
        if damage is None:
            continue
        assert 0 <= damage["offset"] <= len(data) and damage["reason"]
        if damage["offset"] == 0:
            assert report["packets"] == 0
            continue
        wholes.append(report)
        befores.append(data[: damage["offset"]])
    for whole, (status, before) in zip(wholes, check_all(befores), strict=True):
        assert status in (0, 1) and before["damage"] is None
        assert without_end(before) == without_end(whole)
    return reports


@pytest.mark.parametrize("capture", captures())
def test_damage_is_reported_and_all_before_it_judged(
    check: Check, check_all: CheckAll, capture: str
) -> None:
    """Damage is reported, and all packets before it are judged. A capture from a pipe has the same
    report as the file."""
    data = (CAPTURES / capture).read_bytes()
    [report] = judge(check_all, data)
    assert check(data) == (status_of(report), {"file": "-", **report})
    expected = DAMAGED.get(capture)
    if expected is None:
        assert report["damage"] is None
        return
    assert report["packets"] == expected.packets
    assert report["damage"] == {"offset": expected.offset, "reason": expected.reason}


@pytest.mark.parametrize("capture", DAMAGED)
def test_damage_is_shown_and_hides_no_bad_sum(carry: Run, capture: str) -> None:
    expected = DAMAGED[capture]
    text = carry("check", CAPTURES / capture)
    assert text.returncode == 2
    assert f"damaged at offset {expected.offset:,}: {expected.reason}\n" in text.stdout
    data = (CAPTURES / capture).read_bytes()
    listed, before = (
        carry("check", "--bad-only", "--json", "-", stdin=file)
        for file in (data, data[: expected.offset])
    )
    assert listed.returncode == 2 and before.returncode != 2
    assert listed.stdout == before.stdout


@pytest.mark.parametrize("capture", captures())
def test_cut_anywhere(check_all: CheckAll, capture: str) -> None:
    """A truncated capture has the verdicts of all packets before the cut."""
    data = (CAPTURES / capture).read_bytes()
    sizes = random.Random(capture).sample(range(1, len(data)), 3)
    judge(check_all, *(data[:size] for size in sizes))


@pytest.mark.parametrize("capture", captures())
def test_changed_anywhere(check_all: CheckAll, capture: str) -> None:
    whole = (CAPTURES / capture).read_bytes()[:20000]
    rng, captures = random.Random(capture), []
    for changes in (1, 10, 100):
        data = bytearray(whole)
        for _ in range(changes):
            data[rng.randrange(len(data))] = rng.choice((0, 1, 0x7F, 0xFF, rng.randrange(256)))
        captures.append(bytes(data))
    judge(check_all, *captures)
