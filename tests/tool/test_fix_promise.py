# SPDX-License-Identifier: MIT
"""The promise of `carry fix`, on captures of all kinds, whole and randomly damaged.

The log lists everything that changed, and every sum in the copy that `carry check` finds bad or
illegal; the exit statuses are equal. A second run changes nothing (test_fix.Fix).

CARRY_TEST_LEVEL sets the number of captures. They are the same each time, unless CARRY_TEST_SEED
selects others.
"""

from __future__ import annotations

import os
import random
import struct
from collections.abc import Iterator, Sequence

import pytest
from captures import Pcapng, Record, finish, put16
from test_corpus import CAPTURES, captures
from test_fix import Fix, fix

__all__ = ["fix"]

LEVEL = {"short": 1, "medium": 2, "long": 30}[os.environ.get("CARRY_TEST_LEVEL", "medium")]
SEED = int(os.environ.get("CARRY_TEST_SEED", "0"), 0)

Frame = tuple[int, bytes]  # link type and bytes

# --- Damage to a frame ---


def flipped(dice: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(dice.randrange(4)):
        out[dice.randrange(len(out))] ^= 1 << dice.randrange(8)
    return bytes(out)


def zeroed(dice: random.Random, data: bytes) -> bytes:
    """Returns the data with a random word set to 0, which may be a checksum."""
    at = dice.randrange(0, max(len(data) - 1, 1), 2)
    return put16(data, at, 0)[: len(data)]


def cut(dice: random.Random, data: bytes) -> Record:
    return Record(data[: dice.randrange(len(data) + 1)], wire=len(data))


def ip_headers(data: bytes) -> list[int]:
    """Returns offsets at which an IP header seems to begin."""
    return [
        at
        for at in range(0, min(len(data) - 40, 120), 2)
        if (data[at] == 0x45 and data[at + 9] in (1, 4, 6, 17, 41, 47, 132))
        or (data[at] >> 4 == 6 and data[at + 6] in (0, 6, 17, 41, 44, 58, 60))
    ]


def fragments(dice: random.Random, data: bytes, at: int) -> Iterator[bytes]:
    """Yields fragments of the frame at one of its IP headers. The lengths in outer headers do not
    change, so that only fragments of outermost packets are valid."""
    version6, step, ident = data[at] >> 4 == 6, 8 * dice.randrange(1, 40), dice.randrange(1 << 16)
    size = 40 if version6 else 20
    end = at + struct.unpack_from(">H", data, at + (4 if version6 else 2))[0]
    body = data[at + size : end + (40 if version6 else 0)]
    for start in range(0, len(body), step):
        part, more = body[start : start + step], start + step < len(body)
        head = data[at : at + size]
        if version6:
            extension = struct.pack(">BBHL", head[6], 0, start | more, ident)
            head = put16(head, 4, 8 + len(part))[:6] + b"\x2c" + head[7:] + extension
        else:
            head = put16(put16(head, 2, 20 + len(part)), 4, ident)
            head = put16(put16(head, 6, start >> 3 | more << 13), 10, 0)
            head = put16(head, 10, finish(head))
        yield data[:at] + head + part


def damage_frame(dice: random.Random, frame: Frame) -> list[tuple[int, bytes | Record]]:
    link, data = frame
    if data and dice.random() < 0.3:
        data = flipped(dice, data)
    if data and dice.random() < 0.2:
        data = zeroed(dice, data)
    parts = [data]
    headers = ip_headers(data)
    if headers and dice.random() < 0.5:
        parts = list(fragments(dice, data, dice.choice(headers[:2])))
    parts += [part for part in parts if dice.random() < 0.05]
    if dice.random() < 0.3:
        dice.shuffle(parts)
    return [(link, cut(dice, part) if dice.random() < 0.1 else part) for part in parts]


def capture_of(dice: random.Random, frames: Sequence[Frame]) -> bytes:
    """Returns a capture with an interface for each link type, and packets slightly out of order."""
    packets = [packet for frame in frames for packet in damage_frame(dice, frame)]
    for at in range(len(packets)):
        other = min(at + dice.randrange(3), len(packets) - 1)
        packets[at], packets[other] = packets[other], packets[at]
    links = sorted({link for link, _ in packets})
    file = Pcapng().section()
    for link in links:
        file.interface(link=link)
    for link, item in packets:
        record = item if isinstance(item, Record) else Record(item)
        file.packet(record.data, interface=links.index(link), wire=record.wire_size)
    return file.bytes()


# --- The captures ---


def read_pcap(data: bytes) -> Iterator[Frame]:
    """Yields the packets of a pcap file; the last one may be cut short. Yields nothing for other
    formats."""
    order = {b"\xd4\xc3\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">"}.get(data[:4])
    at = 24
    while order and at + 16 <= len(data):
        size = struct.unpack_from(order + "L", data, at + 8)[0]
        yield struct.unpack_from(order + "L", data, 20)[0] & 0xFFFF, data[at + 16 : at + 16 + size]
        at += 16 + size


needs_corpus = pytest.mark.skipif(not CAPTURES.is_dir(), reason=f"no captures in {CAPTURES}")


@needs_corpus
@pytest.mark.parametrize("capture", captures() if CAPTURES.is_dir() else [])
def test_promise_for_packets_of_real_captures(fix: Fix, capture: str) -> None:
    """The promise holds for damaged packets of real captures."""
    frames = list(read_pcap((CAPTURES / capture).read_bytes()))
    for number in range(LEVEL if frames else 0):
        dice = random.Random(f"{SEED} {number} {capture}")
        some = [dice.choice(frames) for _ in range(min(len(frames), 60))]
        fix(capture_of(dice, some), *dice.choice([[], ["--only", "bad"], ["--only", "partial"]]))


@needs_corpus
@pytest.mark.parametrize("capture", captures() if CAPTURES.is_dir() else [])
def test_promise_for_damaged_captures(fix: Fix, capture: str) -> None:
    """The promise holds for captures with flipped bits, in record headers too."""
    data = (CAPTURES / capture).read_bytes()
    for number in range(LEVEL if 80 < len(data) < 1 << 20 else 0):
        dice = random.Random(f"{SEED} {number} {capture}")
        out = bytearray(data)
        for _ in range(dice.randrange(30)):
            out[dice.randrange(80, len(out))] ^= 1 << dice.randrange(8)
        fix(bytes(out))


def test_promise_for_packets_of_scapy(fix: Fix) -> None:
    """The promise holds for damaged packets of scapy."""
    for package in ("scapy", "dpkt", "hypothesis"):
        pytest.importorskip(package, reason=f"python3-{package} is not installed")
    from hypothesis import strategies as st
    from scapy_packets import Stack, frames
    from test_second_opinion import repeated

    @repeated(st.lists(frames(), min_size=3, max_size=12), st.integers(0, 1 << 32))
    def run(stacks: list[Stack], number: int) -> None:
        fix(capture_of(random.Random(number), [(stack.link, stack.data) for stack in stacks]))

    run()
