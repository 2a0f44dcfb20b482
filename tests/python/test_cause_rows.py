# SPDX-License-Identifier: MIT
"""Each cause of bad checksums: packets that have it, and near misses that must not get its name."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from typing import NamedTuple

import pytest
from captures import (
    CHECK_AT,
    TCP,
    UDP,
    V6,
    ethernet,
    finish,
    network,
    packet,
    pcap,
    pseudo,
    put16,
    transport,
)
from conftest import BAD, SOURCE, Check, Run
from schemas import conforming

TABLE = SOURCE / "include/carry/capture_causes.def"
ROW = re.compile(
    r'^CARRY_CAPTURE_CAUSE\(\w+, (\w+), (\w+), (\w+),\s*((?:"[^"]*"\s*)+),\s*'
    r'((?:"[^"]*"\s*)+|NULL),\s*((?:"[^"]*"\s*)+|NULL)\)$',
    re.MULTILINE,
)


class Row(NamedTuple):
    name: str
    verdict: str
    evidence: str
    one: str
    many: str
    advice: str

    def cells(self) -> list[str]:
        """What documents say of it."""
        shown = {"FRAME": "the frame", "SAID": "flags, link header"}
        return [
            f"`{self.name}`",
            self.verdict.lower(),
            shown[self.evidence],
            self.one,
            self.advice or "none",
        ]


def rows() -> list[Row]:
    """Adjacent string literals are one, and NULL is empty."""
    text = TABLE.read_text()
    assert len(ROW.findall(text)) == text.count("\nCARRY_CAPTURE_CAUSE(")
    return [
        Row(*cells[:3], *("".join(re.findall(r'"([^"]*)"', cell)) for cell in cells[3:]))
        for cells in ROW.findall(text)
    ]


ROWS = {row.name: row for row in rows()}

A, B = "10.0.0.5", "10.0.0.9"


def one(carry: Run, *frames: bytes) -> tuple[str | None, int | None]:
    """Cause and bit of the last bad checksum of a capture, as it is reported."""
    done = carry("check", "-bJ", "-", stdin=pcap(frames))
    found = conforming("check_bad_only", done.stdout.splitlines()[-1])
    return found["cause"], found["bit"]


def segment(
    change: Callable[[int, bytes, bytes], int],
    payload: bytes = b"payload!",
    protocol: int = TCP,
    src: str = A,
    dst: str = B,
    after: bytes = b"",
) -> bytes:
    """A frame whose sum is what `change` makes of the right one, pseudo-header and segment."""
    head, body = (
        pseudo(src, dst, protocol, len(transport(protocol, payload))),
        transport(protocol, payload),
    )
    stored = change(finish(head + body), head, body) & 0xFFFF
    body = put16(body, CHECK_AT[protocol], stored)
    return ethernet(network(src, dst, protocol, body) + after)


def plus(a: int, b: int) -> int:
    """In ones'-complement arithmetic."""
    return (a + b) % 0xFFFF


def header(change: Callable[[int], int], ttl: int = 64) -> bytes:
    """A frame whose IPv4 header sum is what `change` makes of the right one."""
    ip = bytearray(packet(TCP))
    ip[8], ip[10], ip[11] = ttl, 0, 0
    return ethernet(put16(bytes(ip), 10, change(finish(bytes(ip[:20]))) & 0xFFFF))


LONG = b"x" * 31
TRAILER = bytes(range(1, 8))

FRAMES: dict[str, list[bytes]] = {
    "zero": [segment(lambda right, head, body: 0), header(lambda right: 0)],
    "not_inverted": [
        segment(lambda right, head, body: right ^ 0xFFFF),
        segment(lambda right, head, body: right ^ 0xFFFF, protocol=UDP, **V6),
        header(lambda right: right ^ 0xFFFF),
    ],
    "swapped": [
        segment(lambda right, head, body: right >> 8 | right << 8),
        header(lambda right: right >> 8 | right << 8),
    ],
    "no_pseudo": [
        segment(lambda right, head, body: finish(body)),
        segment(lambda right, head, body: finish(body), protocol=UDP, **V6),
    ],
    "pseudo_length": [
        segment(lambda right, head, body: finish(pseudo(A, B, TCP, 0) + body), LONG),
        segment(lambda right, head, body: finish(pseudo(A, B, TCP, len(body) + 20) + body), LONG),
    ],
    "padding": [
        segment(lambda right, head, body: finish(head + body + TRAILER), LONG, after=TRAILER),
        segment(
            lambda right, head, body: finish(head + body + TRAILER), LONG + b"y", after=TRAILER
        ),
        segment(
            lambda right, head, body: finish(
                pseudo(A, B, TCP, len(body) + len(TRAILER)) + body + TRAILER
            ),
            LONG,
            after=TRAILER,
        ),
    ],
    "ttl": [
        header(lambda right: plus(right, -0x100)),
        header(lambda right: plus(right, -0x100), 254),
    ],
}


@pytest.mark.parametrize("cause", FRAMES)
def test_a_frame_shows_its_cause(carry: Run, check: Check, cause: str) -> None:
    for frame in FRAMES[cause]:
        assert one(carry, frame) == (cause, None)
        status, report = check(pcap([frame]))
        (causes,) = report["causes"].values()
        assert (status, causes) == (BAD, {cause: 1})


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("bit", range(16))
def test_one_bit(carry: Run, bit: int, sign: int) -> None:
    frame = segment(lambda right, head, body: plus(right, sign << bit), LONG)
    assert one(carry, frame) == ("one_bit", bit)


def test_a_bit_that_flips_in_data_or_field(carry: Run) -> None:
    good = segment(lambda right, head, body: right, LONG)
    for at, bit in ((50, 0x40), (51, 0x01), (60, 0x80), (61, 0x20)):
        frame = bytearray(good)
        frame[at] ^= bit
        cause, named = one(carry, bytes(frame))
        assert (cause, named) == ("one_bit", bit.bit_length() - 1 + (0 if at % 2 else 8))
    done = carry("explain", "-", "1", stdin=pcap([bytes(frame)]))
    assert "bit 5 of 16, where 0 is the lowest" in " ".join(done.stdout.split())


# Beside one cause or another, by one, so that no flipped bit explains it either.
MISSES = [
    segment(lambda right, head, body: plus(right ^ 0xFFFF, 1)),
    segment(lambda right, head, body: plus(right >> 8 | right << 8, 3)),
    segment(lambda right, head, body: plus(finish(body), 1)),
    segment(lambda right, head, body: finish(pseudo(A, B, TCP, len(body) + 21) + body), LONG),
    segment(lambda right, head, body: finish(head + body + TRAILER[:-2]), LONG, after=TRAILER),
    segment(lambda right, head, body: plus(right, 3)),
    segment(lambda right, head, body: plus(right, -0x300)),
    header(lambda right: plus(right, -0x300)),
]


@pytest.mark.parametrize("index", range(len(MISSES)))
def test_near_misses_are_damage(carry: Run, index: int) -> None:
    assert one(carry, MISSES[index]) == (None, None)


def test_what_a_ttl_cannot_have_been(carry: Run) -> None:
    """255 is the highest, and transport sums cover none; a bit explains it all the same."""
    assert one(carry, header(lambda right: plus(right, -0x100), 255)) == ("one_bit", 8)
    assert one(carry, header(lambda right: plus(right, 0x100))) == ("one_bit", 8)
    frame = segment(lambda right, head, body: plus(right, -0x100))
    assert one(carry, frame) == ("one_bit", 8)


def test_cut_padding_shows_nothing(carry: Run) -> None:
    frame = FRAMES["padding"][0]
    record = struct.pack("<LLLL", 1, 0, len(frame) - 2, len(frame)) + frame[:-2]
    done = carry("check", "-bJ", "-", stdin=pcap([]) + record)
    assert conforming("check_bad_only", done.stdout)["cause"] is None


# --- The table ---


def test_each_row_has_a_test() -> None:
    named = {"adler32", "beside_partial", "by_sender", "around_partial"}  # in other files
    named |= {"offload", "sent", "local", "received", "said_left", "said_valid"}
    assert named | set(FRAMES) | {"one_bit"} == set(ROWS)


def test_documents_have_the_rows() -> None:
    documented = (SOURCE / "docs/capture.md").read_text()
    table = documented.split("## Causes\n")[1].split("\n\n")[1].splitlines()[2:]
    assert table == [f"| {' | '.join(row.cells())} |" for row in ROWS.values()]
    page = (SOURCE / "docs/man/carry-check.1").read_text()
    listed = page.split(".SS Causes\n")[1].split("\n.PP\n")[0]
    described = re.findall(r"^\.B (\w+)\n(.*?)$(?=\n\.TP|\Z)", listed, re.MULTILINE | re.DOTALL)
    assert [(name, " ".join(text.split())) for name, text in described] == [
        (row.name, f"{row.verdict.capitalize()}: it {row.one}.") for row in ROWS.values()
    ]
