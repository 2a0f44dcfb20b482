# SPDX-License-Identifier: MIT
"""Each cause of bad checksums: packets that show it, and near misses that must not."""

from __future__ import annotations

import json
import random
import re
import socket
import struct
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from captures import (
    CHECK_AT,
    ICMPV6,
    TCP,
    UDP,
    UDPLITE,
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
from carry_tool import BAD, SOURCE, Check, Run, peak_kib
from schemas import conforming

pytestmark = pytest.mark.covers_capture

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
        """Returns the cells of the row as documents print it."""
        shown = {"FRAME": "the frame", "SAID": "flags, link header", "FLOW": "other checksums"}
        return [
            f"`{self.name}`",
            self.verdict.lower(),
            shown[self.evidence],
            self.one,
            self.advice or "none",
        ]


def rows() -> list[Row]:
    """Returns the rows of the table, with adjacent string literals joined and NULL as ""."""
    text = TABLE.read_text()
    assert len(ROW.findall(text)) == text.count("\nCARRY_CAPTURE_CAUSE(")
    return [
        Row(*cells[:3], *("".join(re.findall(r'"([^"]*)"', cell)) for cell in cells[3:]))
        for cells in ROW.findall(text)
    ]


ROWS = {row.name: row for row in rows()}

A, B, FAR, ONE_ON = "10.0.0.5", "10.0.0.9", "192.0.2.77", "10.0.0.6"


def one(carry: Run, *frames: bytes) -> tuple[str | None, int | None]:
    """Returns cause and bit of the last bad checksum in the report on a capture."""
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
    """Returns a frame whose checksum is the result of `change` for the right checksum, the
    pseudo-header and the segment."""
    head, body = (
        pseudo(src, dst, protocol, len(transport(protocol, payload))),
        transport(protocol, payload),
    )
    stored = change(finish(head + body), head, body) & 0xFFFF
    body = put16(body, CHECK_AT[protocol], stored)
    return ethernet(network(src, dst, protocol, body) + after)


def plus(a: int, b: int) -> int:
    """Adds in ones'-complement arithmetic."""
    return (a + b) % 0xFFFF


def header(change: Callable[[int], int], ttl: int = 64) -> bytes:
    """Returns a frame whose IPv4 header has the checksum that `change` makes of the right one."""
    ip = bytearray(packet(TCP))
    ip[8], ip[10], ip[11] = ttl, 0, 0
    return ethernet(put16(bytes(ip), 10, change(finish(bytes(ip[:20]))) & 0xFFFF))


HOP, LAST = "2001:db8:a::1", "2001:db8:f::9"
DESTINATION, ROUTING = 60, 43  # extension headers
SCTP = 132


def extended(
    wrong: Callable[[bytes], bytes],
    protocol: int = UDP,
    kind: int = DESTINATION,
    payload: bytes = b"payload!",
    change: int = 0,
) -> bytes:
    """Returns a frame with an extension header. Its checksum is computed with the pseudo-header
    that `wrong` returns for the segment, and is then off by `change`."""
    body = transport(protocol, payload)
    stored = plus(finish(wrong(body) + body), change)
    body = put16(body, CHECK_AT[protocol], stored)
    if kind == ROUTING:
        route = struct.pack(">BBBBBBH", protocol, 4, 4, 1, 1, 0, 0)
        more = route + b"".join(socket.inet_pton(socket.AF_INET6, at) for at in (LAST, HOP))
    else:
        more = bytes((protocol, 0, 1, 4, 0, 0, 0, 0))
    return ethernet(network(V6["src"], HOP, kind, more + body))


def with_protocol(number: int, dst: str = HOP) -> Callable[[bytes], bytes]:
    """Returns a function that makes the pseudo-header of a frame of extended(), with the protocol
    `number`."""
    return lambda body: pseudo(V6["src"], dst, number, len(body))


def to(dst: str) -> Callable[[bytes], bytes]:
    """Returns a function that makes the pseudo-header of a routed datagram, for the address
    `dst`."""
    return lambda body: pseudo(V6["src"], dst, UDP, len(body))


def zero_sum(protocol: int = UDP, change: int = 0) -> bytes:
    """Returns a frame with 0 in its checksum field. The computed checksum is 0, too, unless
    `change` changes the content."""
    body = transport(protocol, b"payload!" + b"\0\0")
    rest = finish(pseudo(V6["src"], V6["dst"], protocol, len(body)) + body)
    return ethernet(network(**V6, protocol=protocol, payload=put16(body, 18 - 2, rest ^ change)))


def folded_once(head: bytes, body: bytes, swap: bool = False) -> int | None:
    """Returns the checksum of a sum that is folded only once, as a big-endian number; None if no
    carry is lost. With `swap`, little-endian words are summed."""
    data = head + body + bytes(len(body) % 2)
    sum_ = sum(struct.unpack(f"{'<' if swap else '>'}{len(data) // 2}H", data))
    once = (sum_ & 0xFFFF) + (sum_ >> 16)
    stored = ~once & 0xFFFF
    return (stored >> 8 | stored << 8 & 0xFF00 if swap else stored) if once > 0xFFFF else None


def losing(size: int, swap: bool = False) -> tuple[bytes, int]:
    """Returns content whose sum loses a carry if it is folded only once, and the checksum that is
    then stored."""
    for number in reversed(range(1 << 16)):
        content = (struct.pack(">H", number) + b"\xe7\xd5" * size)[:size]
        body = transport(TCP, content)
        stored = folded_once(pseudo(A, B, TCP, len(body)), body, swap)
        if stored is not None:
            return content, stored
    raise AssertionError


def lost(size: int, swap: bool = False) -> bytes:
    """Returns a frame whose checksum lost a carry."""
    content, stored = losing(size, swap)
    return segment(lambda right, head, body: stored, content)


LONG = b"x" * 31
TRAILER = bytes(range(1, 8))

FRAMES: dict[str, list[bytes]] = {
    "zero": [segment(lambda right, head, body: 0), header(lambda right: 0)],
    "twice": [
        segment(lambda right, head, body: 0xFFFF),
        segment(lambda right, head, body: 0xFFFF, protocol=UDP, **V6),
        header(lambda right: 0xFFFF),
    ],
    "zero_computed": [zero_sum(), zero_sum(UDPLITE)],
    "pseudo_twice": [
        segment(lambda right, head, body: finish(head + head + body)),
        segment(lambda right, head, body: finish(head + head + body), protocol=UDP, **V6),
    ],
    "pseudo_address": [
        extended(to(HOP), kind=ROUTING),
        segment(lambda right, head, body: finish(pseudo(A, A, TCP, len(body)) + body), dst=FAR),
    ],
    "pseudo_protocol": [
        extended(with_protocol(DESTINATION)),
        extended(with_protocol(ROUTING, LAST), kind=ROUTING, protocol=TCP),
        segment(
            lambda right, head, body: finish(pseudo(*V6.values(), 1, len(body)) + body),
            protocol=ICMPV6,
            **V6,
        ),
    ],
    "odd_byte": [
        segment(lambda right, head, body: finish(head + body[:-1]), LONG),
        segment(lambda right, head, body: finish(head + body[:-1] + b"\0x"), LONG),
        segment(lambda right, head, body: finish(head + body[:-1]), LONG, UDP, **V6),
    ],
    "lost_carry": [lost(1200), lost(1200, True), lost(1201)],
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
    """The cause of a sum that is wrong by a power of two is one flipped bit; its number is
    reported."""
    frame = segment(lambda right, head, body: plus(right, sign << bit), LONG)
    assert one(carry, frame) == ("one_bit", bit)


def test_a_bit_that_flips_in_data_or_field(carry: Run) -> None:
    """The bit is reported wherever it flips: in the data or in the field."""
    good = segment(lambda right, head, body: right, LONG)
    for at, bit in ((50, 0x40), (51, 0x01), (60, 0x80), (61, 0x20)):
        frame = bytearray(good)
        frame[at] ^= bit
        cause, named = one(carry, bytes(frame))
        assert (cause, named) == ("one_bit", bit.bit_length() - 1 + (0 if at % 2 else 8))
    done = carry("explain", "-", "1", stdin=pcap([bytes(frame)]))
    assert "bit 5 of 16, where 0 is the lowest" in " ".join(done.stdout.split())


# Each checksum differs from the checksum that shows a cause, by a value that one flipped bit does
# not explain.
MISSES = [
    segment(lambda right, head, body: plus(right ^ 0xFFFF, 1)),
    segment(lambda right, head, body: plus(right >> 8 | right << 8, 3)),
    segment(lambda right, head, body: plus(finish(body), 1)),
    segment(lambda right, head, body: finish(pseudo(A, B, TCP, len(body) + 21) + body), LONG),
    segment(lambda right, head, body: finish(head + body + TRAILER[:-2]), LONG, after=TRAILER),
    segment(lambda right, head, body: plus(right, 3)),
    segment(lambda right, head, body: plus(right, -0x300)),
    header(lambda right: plus(right, -0x300)),
    segment(lambda right, head, body: 0xFFFD),
    header(lambda right: 0xFFFD),
    segment(lambda right, head, body: plus(finish(head + head + body), 3)),
    segment(lambda right, head, body: finish(pseudo(FAR, FAR, TCP, len(body)) + body), dst=FAR),
    segment(lambda right, head, body: plus(right, 57), LONG, UDP, **V6),
    segment(lambda right, head, body: plus(right, 56), protocol=ICMPV6, **V6),
    segment(lambda right, head, body: finish(head + body[:-1]), LONG + b"y"),
    segment(lambda right, head, body: finish(head + body[:-2] + b"w"), LONG[1:] + b"w"),
    segment(lambda right, head, body: plus(right, 0x78 * 0x101), LONG),
    extended(to(V6["src"]), kind=ROUTING, change=3),
    extended(to("2001:db8:b::1"), kind=ROUTING),
    extended(with_protocol(59)),
    ethernet(network(A, B, SCTP, struct.pack(">HHLL", 40000, 443, 1, 0xFFFF) + bytes(4))),
    extended(with_protocol(DESTINATION, LAST), kind=ROUTING),
]


@pytest.mark.parametrize("index", range(len(MISSES)))
def test_near_misses_are_damage(carry: Run, index: int) -> None:
    assert one(carry, MISSES[index]) == (None, None)


# One flipped bit explains each of these sums as well, so the cause is one_bit and not the other
# cause.
ONE_BIT = [
    (segment(lambda right, head, body: finish(pseudo(A, A, TCP, len(body)) + body), dst=ONE_ON), 0),
    (segment(lambda right, head, body: finish(head + body[:-1]), LONG + b"y@"), 14),
    (extended(with_protocol(DESTINATION), ICMPV6), 1),
    (segment(lambda right, head, body: plus(right, 1), bytes(1200)), 0),
    (segment(lambda right, head, body: plus(right, 0x100), bytes(1200)), 8),
    (segment(lambda right, head, body: plus(right, -1), losing(1200)[0]), 0),
    (segment(lambda right, head, body: plus(right, 0x100), losing(1200)[0]), 8),
    (segment(lambda right, head, body: plus(right, 2), losing(1200)[0]), 1),
    (lost(6000), 0),
    (
        segment(
            lambda right, head, body: finish(pseudo(A, B, TCP, len(body) + 4) + body),
            LONG,
            after=bytes(4),
        ),
        2,
    ),
    (segment(lambda right, head, body: finish(pseudo(A, B, TCP, 0) + body), bytes(12)), 5),
    (extended(to(LAST), kind=ROUTING, change=1), 0),
]


@pytest.mark.parametrize("index", range(len(ONE_BIT)))
def test_flipped_bit_comes_before_other_causes(carry: Run, index: int) -> None:
    frame, bit = ONE_BIT[index]
    assert one(carry, frame) == ("one_bit", bit)


def test_only_a_sum_of_zero_was_computed_as_zero(carry: Run) -> None:
    """A field of 0 has a cause only if the computed checksum is 0, too: otherwise, the sender
    omitted the checksum."""
    for frame in (zero_sum(change=1), zero_sum(change=0x8000), zero_sum(UDPLITE, 3)):
        assert one(carry, frame) == (None, None)
        done = carry("explain", "--json", "-", "1", stdin=pcap([frame]))
        found = conforming("explain", done.stdout)["layers"][-1]["checksum"]
        assert (found["verdict"], found["cause"]) == ("illegal", None)
    absent = ethernet(packet(UDP, sums="none"))
    assert carry("check", "-q", "-", stdin=pcap([absent])).returncode != BAD


def test_zero_computed_is_explained_and_repaired(carry: Run, tmp_path: Path) -> None:
    source, copy = tmp_path / "a.pcap", tmp_path / "b.pcap"
    source.write_bytes(pcap([zero_sum(), zero_sum()]))
    text = " ".join(carry("check", source).stdout.split())
    assert "udp: 2 illegal" in text
    assert "; all were computed as 0 and sent as 0" in text
    assert "try (zero_computed): make the sender store 0xffff" in text
    done = carry("explain", "--json", source, "1")
    found = conforming("explain", done.stdout)["layers"][-1]["checksum"]
    assert (found["verdict"], found["cause"], found["expected"]) == (
        "illegal",
        "zero_computed",
        0xFFFF,
    )
    assert (found["certain"], found["bit"]) == (None, None)
    assert carry("fix", "-q", source, "-o", copy).returncode == 0
    assert carry("check", "-q", copy).returncode == 0


def test_a_checksum_of_zero_may_be_twice(carry: Run) -> None:
    """One frame does not show which of the two causes of a field of 0 is right: the words name
    both."""
    done = carry("explain", "-", "1", stdin=pcap(FRAMES["zero"][:1]))
    assert "it holds 0: never filled in, or computed twice" in " ".join(done.stdout.split())


def test_impossible_ttl_is_no_cause(carry: Run) -> None:
    """A flipped bit explains these sums. No TTL was decremented: none exceeds 255, and no transport
    sum covers a TTL."""
    assert one(carry, header(lambda right: plus(right, -0x100), 255)) == ("one_bit", 8)
    assert one(carry, header(lambda right: plus(right, 0x100))) == ("one_bit", 8)
    frame = segment(lambda right, head, body: plus(right, -0x100))
    assert one(carry, frame) == ("one_bit", 8)


def test_cut_padding_shows_nothing(carry: Run) -> None:
    frame = FRAMES["padding"][0]
    record = struct.pack("<LLLL", 1, 0, len(frame) - 2, len(frame)) + frame[:-2]
    done = carry("check", "-bJ", "-", stdin=pcap([]) + record)
    assert conforming("check_bad_only", done.stdout)["cause"] is None


# --- Flows ---


def rewritten(
    count: int,
    *,
    delta: Callable[[int], int] = lambda index: 0x1357,
    in_header: bool = False,
    ports: tuple[int, int] = (40000, 443),
    src: str = A,
    numbered: bool = False,
    tags: Sequence[int] = (),
) -> list[bytes]:
    """Returns packets of a flow with different content, whose sums are off by `delta`."""
    frames = []
    for index in range(count):
        ip = bytearray(packet(TCP, bytes([index]) * 30, ports=ports, src=src))
        if numbered:  # some senders number packets, which makes headers differ as well
            ip[4:6], ip[10:12] = index.to_bytes(2, "big"), bytes(2)
            ip[10:12] = finish(bytes(ip[:20])).to_bytes(2, "big")
        for at in (36, 10) if in_header else (36,):
            right = int.from_bytes(ip[at : at + 2], "big")
            ip[at : at + 2] = plus(right, delta(index)).to_bytes(2, "big")
        frames.append(ethernet(bytes(ip), tags))
    return frames


def apart(number: int) -> Callable[[int], int]:
    """Returns the `delta` of flow `number`. The deltas differ, so that flows between the same two
    addresses show nothing together."""
    return lambda index: 0x2112 + 3 * number


def rare_flows(count: int, packets: int = 1) -> list[bytes]:
    return [
        frame
        for port in range(count)
        for frame in rewritten(packets, ports=(port + 1, 80), delta=apart(port))
    ]


def in_fragments(number: int, delta: int = 0x1357, size: int = 30) -> list[bytes]:
    """Returns two frames with the fragments of a datagram, whose sum is off by `delta`."""
    ip = packet(UDP, bytes([number]) * size)
    ip = put16(ip, 26, plus(int.from_bytes(ip[26:28], "big"), delta))
    frames = []
    for start, more in ((0, 0x2000), (16, 0)):
        part = ip[20 + start : 36 + start] if more else ip[20 + start :]
        head = put16(put16(put16(ip[:20], 2, 20 + len(part)), 4, number), 6, more | start // 8)
        frames.append(ethernet(put16(head, 10, finish(put16(head, 10, 0))) + part))
    return frames


def causes(carry: Run, frames: Iterable[bytes], *arguments: str) -> dict[str, dict[str, int]]:
    done = carry("check", "--json", *arguments, "-", stdin=pcap(frames))
    report: dict[str, dict[str, int]] = conforming("check", done.stdout)["causes"]
    return report


def reported(carry: Run, frames: Iterable[bytes], protocol: str = "tcp") -> list[str | None]:
    done = carry("check", "-bJ", "-", stdin=pcap(frames))
    found = [conforming("check_bad_only", line) for line in done.stdout.splitlines()]
    return [line["cause"] for line in found if line["protocol"] == protocol]


GOOD_ONE = ethernet(packet(TCP, b"good"))
OTHER = ethernet(packet(TCP, b"good", ports=(40001, 443)))


def test_a_flow_off_by_one_difference_was_rewritten(carry: Run) -> None:
    frames = rewritten(5)
    assert causes(carry, frames) == {"tcp": {"rewritten": 5}}
    assert reported(carry, frames) == [None, None] + ["rewritten"] * 3
    text = " ".join(carry("check", "-", stdin=pcap(frames)).stdout.split())
    assert "; all off by the same difference throughout their flow" in text
    assert causes(carry, [OTHER, *frames, OTHER]) == {"tcp": {"rewritten": 5}}
    for number in ("1", "5"):
        done = carry("explain", "--json", "-", number, stdin=pcap(frames))
        found = conforming("explain", done.stdout)["layers"][-1]["checksum"]
        assert (found["cause"], "NAT" in found["advice"]) == ("rewritten", True)


def test_an_address_shows_in_both_sums(carry: Run) -> None:
    both = {"address_changed": 4}
    for numbered in (True, False):
        frames = rewritten(4, in_header=True, numbered=numbered)
        assert causes(carry, frames) == {"ip": both, "tcp": both}
    mixed = frames + rewritten(5)[4:]
    assert causes(carry, mixed)["tcp"] == {"address_changed": 4, "rewritten": 1}


ICMP = 1


def quoting(change: int, in_quote: int) -> bytes:
    """Returns an ICMP error whose sum is off by `change`. It quotes an IPv4 header whose sum is off
    by `in_quote`."""
    quote = packet(UDP, b"payload!", src=B, dst=FAR)
    quote = put16(quote, 10, plus(finish(put16(quote[:20], 10, 0)), in_quote))
    body = struct.pack(">BBHL", 3, 3, 0, 0) + quote
    body = put16(body, 2, plus(finish(body), change))
    return ethernet(network(FAR, B, ICMP, body))


def test_one_packet_shows_a_changed_address(carry: Run) -> None:
    """Two checksums over the same addresses, off by the same difference, show a changed address."""
    frame = rewritten(1, in_header=True)[0]
    assert causes(carry, [frame]) == {"ip": {"address_changed": 1}, "tcp": {"address_changed": 1}}
    for protocol in ("ip", "tcp"):
        assert reported(carry, [frame], protocol) == ["address_changed"]
    found = explained(carry, [frame], 1)["layers"][-1]["checksum"]
    assert (found["cause"], "NAT" in found["advice"]) == ("address_changed", True)
    assert causes(carry, [quoting(0x1357, 0x1357)]) == {"icmp": {"address_changed": 1}}


def test_a_good_sum_does_not_refute_a_packet(carry: Run) -> None:
    frames = [*rewritten(4, in_header=True), GOOD_ONE]
    assert causes(carry, frames)["tcp"] == {"address_changed": 4}


@pytest.mark.parametrize(
    "frame",
    [
        put16(rewritten(1, in_header=True)[0], 14 + 36, 0x1234),
        put16(rewritten(1, in_header=True)[0], 14 + 10, 0x1234),
        rewritten(1)[0],
        put16(rewritten(1)[0], 14 + 10, 0),
        quoting(0x1357, 0x1358),
        quoting(0x1357, 0),
        quoting(0, 0x1357),
        ethernet(network(FAR, B, 4, rewritten(1)[0][14:])),
    ],
    ids=[
        "content",
        "header",
        "good header",
        "empty",
        "quote",
        "good quote",
        "good error",
        "tunnel",
    ],
)
def test_near_misses_are_no_changed_address(carry: Run, frame: bytes) -> None:
    assert "address_changed" not in str(causes(carry, [frame]))


def test_a_tunnel_with_the_same_difference_is_no_changed_address(carry: Run) -> None:
    """The header of a tunnel covers other addresses than the content."""
    frames = headers(1, content=rewritten(1)[0][14:])
    assert "address_changed" not in str(causes(carry, frames))


def test_one_bit_in_both_sums_is_a_flipped_bit(carry: Run) -> None:
    frames = rewritten(4, delta=lambda index: 0x40, in_header=True)
    assert reported(carry, frames) == ["one_bit", "one_bit"] + ["address_changed"] * 2


def test_one_bit_in_each_packet_is_a_flow(carry: Run) -> None:
    frames = rewritten(4, delta=lambda index: 0x40)
    assert causes(carry, frames) == {"tcp": {"rewritten": 4}}
    assert reported(carry, frames) == ["one_bit", "one_bit", "rewritten", "rewritten"]


@pytest.mark.parametrize(
    "frames",
    [
        rewritten(2),
        rewritten(1) * 9,
        [*rewritten(5), GOOD_ONE],
        [*rewritten(2), GOOD_ONE, *rewritten(5)],
        rewritten(6, delta=lambda index: 0x1357 + (index == 4)),
        [frame for port in range(2) for frame in rewritten(1, ports=(port, 80))],
        rare_flows(6),
        [frame for end in range(6) for frame in rewritten(1, src=f"10.0.1.{end}")],
    ],
    ids=[
        "few",
        "the same",
        "good later",
        "good between",
        "differs",
        "two ports",
        "ports",
        "senders",
    ],
)
def test_near_misses_are_no_flow(carry: Run, frames: list[bytes]) -> None:
    found = causes(carry, frames)
    assert "rewritten" not in found.get("tcp", {})
    done = carry("explain", "--json", "-", "1", stdin=pcap(frames))
    assert conforming("explain", done.stdout)["layers"][-1]["checksum"]["cause"] is None


def explained(carry: Run, frames: list[bytes], number: int) -> dict[str, Any]:
    done = carry("explain", "--json", "-", str(number), stdin=pcap(frames))
    shown: dict[str, Any] = conforming("explain", done.stdout)
    return shown


@pytest.mark.parametrize("bad", [[], [5]], ids=["tag", "no tag"])
def test_good_sums_after_other_headers_refute_nothing(carry: Run, bad: list[int]) -> None:
    good = ethernet(packet(TCP, b"good"), [] if bad else [5])
    frames = [*rewritten(4, tags=bad), good]
    assert causes(carry, frames) == {"tcp": {"rewritten": 4}}
    assert explained(carry, frames, 1)["layers"][-1]["checksum"]["cause"] == "rewritten"


def test_flows_of_datagrams(carry: Run) -> None:
    """Fragmented datagrams of one flow share their cause."""
    frames = [frame for number in range(4) for frame in in_fragments(number)]
    assert causes(carry, frames) == {"udp": {"rewritten": 4}}
    for number in (1, 2, 8):
        (datagram,) = explained(carry, frames, number)["datagrams"]
        assert datagram["layers"][-1]["checksum"]["cause"] == "rewritten"


def test_the_last_byte_of_a_datagram_in_fragments(carry: Run) -> None:
    """The cause odd_byte is recognised in a reassembled datagram, from the last byte of its last
    fragment."""
    end = 0x1F << 8
    frames = in_fragments(0x1F, delta=end, size=31)
    assert reported(carry, frames, "udp") == ["odd_byte"]
    assert reported(carry, in_fragments(0x1F, delta=end, size=30), "udp") == [None]


def test_a_good_datagram_refutes_a_flow(carry: Run) -> None:
    frames = [frame for number in range(4) for frame in in_fragments(number)]
    frames += in_fragments(4, delta=0)
    assert causes(carry, frames) == {}
    (datagram,) = explained(carry, frames, 1)["datagrams"]
    assert datagram["layers"][-1]["checksum"]["cause"] is None


def test_good_sum_revokes_reported_causes(carry: Run) -> None:
    frames = [*rewritten(4), GOOD_ONE, *rewritten(6)[4:]]
    assert reported(carry, frames) == [None, None, "rewritten", "rewritten", None, None]
    assert causes(carry, frames) == {}
    shown = carry("check", "-n9", "-", stdin=pcap(frames)).stdout
    assert "try" not in shown


def test_rare_flows_are_forgotten(carry: Run) -> None:
    """Beyond 256 flows, the flows with the most bad sums are kept."""
    often = rewritten(6)
    rare = rare_flows(600)
    frames = often[:4] + rare + often[4:]
    assert causes(carry, frames) == {"tcp": {"rewritten": 6}}


# --- Flows between two addresses ---


def query(
    number: int,
    delta: int = 0x1357,
    *,
    at: int | None = None,
    protocol: int = UDP,
    src: str = A,
    dst: str = B,
    port: int | None = None,
) -> bytes:
    """Returns a packet from a port of its own, whose sum is off by `delta`."""
    ports = (20_000 + number if port is None else port, 53)
    ip = packet(protocol, bytes([number & 0xFF, 7]) * 9, ports=ports, src=src, dst=dst)
    at = CHECK_AT[protocol] + 20 if at is None else at
    return ethernet(put16(ip, at, plus(int.from_bytes(ip[at : at + 2], "big"), delta)))


def test_flows_of_one_packet_agree(carry: Run) -> None:
    """Each query has a port of its own, and shows nothing alone."""
    frames = [query(number) for number in range(700)]
    assert causes(carry, frames) == {"udp": {"rewritten": 700}}
    assert reported(carry, frames[:4], "udp") == [None, None, "rewritten", "rewritten"]
    for number in (1, 4, 700):
        assert explained(carry, frames, number)["layers"][-1]["checksum"]["cause"] == "rewritten"


def test_only_the_first_packets_are_changed(carry: Run) -> None:
    """Good packets of the same flows refute nothing, as where a router clamps the MSS of SYNs."""
    frames = [
        frame
        for number in range(5)
        for frame in (query(number, 60, protocol=TCP), query(number, 0, protocol=TCP))
    ]
    assert causes(carry, frames) == {"tcp": {"rewritten": 5}}


def test_flows_of_several_protocols_agree(carry: Run) -> None:
    """The pseudo-header of each protocol holds the changed address."""
    echo = segment(lambda right, head, body: plus(right, 0x1357), protocol=ICMPV6, **V6)
    frames = [
        segment(lambda right, head, body: plus(right, 0x1357), protocol=protocol, **V6)
        for protocol in (TCP, UDP)
    ]
    assert causes(carry, [*frames, echo]) == {
        "tcp": {"rewritten": 1},
        "udp": {"rewritten": 1},
        "icmpv6": {"rewritten": 1},
    }
    assert causes(carry, [frames[0], echo]) == {}


def test_both_directions_agree(carry: Run) -> None:
    """A query and its response hold the same addresses."""
    there = [query(number) for number in range(2)]
    back = query(9, src=B, dst=A, port=53)
    for frames in ([*there, back], [back, *there]):
        assert causes(carry, frames) == {"udp": {"rewritten": 3}}
    assert causes(carry, [there[0], back]) == {}


def test_a_header_tells_an_address_from_a_port(carry: Run) -> None:
    known = rewritten(1, in_header=True)[0]
    frames = [query(number) for number in range(3)]
    assert causes(carry, [*frames, known]) == {
        "ip": {"address_changed": 1},
        "udp": {"address_changed": 3},
        "tcp": {"address_changed": 1},
    }


def test_one_difference_among_random_ones(carry: Run) -> None:
    """Three equal differences among 192 bad sums show a cause; among 303, they may be chance."""
    frames = [query(number) for number in range(3)]
    for count, found in ((189, {"udp": {"rewritten": 3}}), (300, {})):
        assert causes(carry, [*frames, *random_queries(count)]) == found


def random_queries(count: int) -> list[bytes]:
    return [query(1000 + number, 0x2221 + 3 * number) for number in range(count)]


@pytest.mark.parametrize(
    "frames",
    [
        [query(number) for number in range(2)],
        [query(number, port=1) for number in range(2)] + [query(2)],
        [query(1)] * 5,
        [query(number, 0x40) for number in range(5)],
        [query(number, dst=f"10.0.1.{number}") for number in range(5)],
        [query(number, 0x1357 * (1 + number)) for number in range(5)],
        [query(number, (0x1357, 0xECA8)[number % 2]) for number in range(4)],
        [query(number, at=10) for number in range(2)],
    ],
    ids=["two", "two ports", "one", "one bit", "receivers", "differ", "signs", "headers"],
)
def test_near_misses_are_no_pair(carry: Run, frames: list[bytes]) -> None:
    assert {cause for by in causes(carry, frames).values() for cause in by} <= {"one_bit"}


def test_rare_pairs_are_forgotten(carry: Run) -> None:
    """Beyond 256 pairs of addresses, the pairs with the most bad sums are kept."""
    often = [query(number) for number in range(6)]
    rare = [query(1, 0x1111, dst=f"10.{i >> 8}.{i & 255}.77") for i in range(1500)]
    assert causes(carry, often[:3] + rare + often[3:]) == {"udp": {"rewritten": 6}}
    assert causes(carry, often[:1] + rare + often[1:]) == {"udp": {"rewritten": 5}}


def records_of_flows(count: int) -> bytes:
    """Returns records of packets, each with addresses, ports and a bad sum of its own."""
    record = bytearray(pcap([query(1)])[24:])
    step, made = random.Random(5), []
    for number in range(count):
        struct.pack_into(">LLHH", record, 16 + 26, number // 9, 77, number % 65_536, 53)
        struct.pack_into(">H", record, 16 + 40, step.randrange(1, 0xFFFF))
        made.append(bytes(record))
    return b"".join(made)


def test_the_memory_for_flows_is_bounded(tool: str) -> None:
    """60,000 flows need as much memory as 20,000 flows."""
    command = [tool, "check", "-q", "-j1", "-"]
    few, many = (
        peak_kib(command, [pcap([]), records_of_flows(count)]) for count in (20_000, 60_000)
    )
    assert many < few + 1024


# --- Headers ---


def headers(count: int, first: int = 0, content: bytes = bytes(30)) -> list[bytes]:
    """Returns IPv4 packets numbered from `first` on, of which only the header sums are off."""
    frames = []
    for number in range(first, first + count):
        ip = put16(put16(network("10.0.0.1", "10.0.0.2", 4, content), 4, number), 10, 0)
        frames.append(ethernet(put16(ip, 10, plus(finish(ip[:20]), 0x1357))))
    return frames


def test_rare_headers_are_forgotten(carry: Run) -> None:
    """A rare header is forgotten even if it was added last."""
    rare = rare_flows(900)
    frames = rare[:300] + headers(1) + rare[300:]
    assert causes(carry, frames + headers(2, 1)) == {}
    assert causes(carry, frames + headers(3, 1)) == {"ip": {"rewritten": 3}}


def test_a_flow_in_the_place_of_a_header(carry: Run) -> None:
    """A flow that takes the place of a forgotten header in the table is not treated as a header."""
    rare = rare_flows(320)
    for last in range(300, 320):
        ends, delta = (last + 1, 80), apart(last)
        beside = rewritten(2, ports=ends, delta=delta, in_header=True)[1:]
        more = beside + rewritten(3, ports=ends, delta=delta)[2:]
        frames = rare[:300] + headers(1) + rare[300 : last + 1] + more
        both = {"ip": {"address_changed": 1}, "tcp": {"address_changed": 1, "rewritten": 2}}
        assert causes(carry, frames) == both


def test_refuted_flows_are_forgotten_first(carry: Run) -> None:
    """A refuted flow is forgotten first, although it has the most bad sums."""
    refuted = [*rewritten(6), GOOD_ONE]
    others = rare_flows(255, 2)
    first = rewritten(3, ports=(1, 80), delta=apart(0))
    frames = refuted + others + rewritten(1, ports=(9999, 80), delta=apart(300)) + first[2:]
    assert causes(carry, frames) == {"tcp": {"rewritten": 3}}


def test_flows_in_many_layouts(carry: Run) -> None:
    """At most eight layouts are recorded. Beyond them, any good sum of a flow refutes the flow."""
    frames = [
        frame
        for tags in range(12)
        for frame in rewritten(4, ports=(tags + 1, 80), tags=[7] * tags, delta=apart(tags))
    ]
    assert causes(carry, frames) == {"tcp": {"rewritten": 48}}
    for tags in (0, 11):
        good = ethernet(packet(TCP, b"good", ports=(tags + 1, 80)), [7] * tags)
        assert causes(carry, [*frames, good]) == {"tcp": {"rewritten": 44}}


def test_headers_of_a_tunnel_are_no_address_of_its_content(carry: Run) -> None:
    """The headers and the content have separate causes, although both are off by the same
    difference."""
    frames = [headers(1, number, inner[14:])[0] for number, inner in enumerate(rewritten(4))]
    assert causes(carry, frames) == {"ip": {"rewritten": 4}, "tcp": {"rewritten": 4}}


def test_lines_of_files_agree_with_the_summary(carry: Run, tmp_path: Path) -> None:
    """All packets of a flow have its cause, or none, as in the counts."""
    path = tmp_path / "a.pcap"
    for frames, cause in (
        ([*rewritten(4), OTHER], "rewritten"),
        ([*rewritten(4), ethernet(packet(TCP, b"good"))], None),
    ):
        path.write_bytes(pcap(frames))
        found = [json.loads(line) for line in carry("check", "-bJ", path).stdout.splitlines()]
        assert [(one["cause"], one["early"]) for one in found[:4]] == [(cause, False)] * 4
    piped = carry("check", "-bJ", "-", stdin=pcap(rewritten(4))).stdout.splitlines()
    found = [json.loads(line) for line in piped]
    assert [one["cause"] for one in found] == [None, None, "rewritten", "rewritten"]
    assert {one["early"] for one in found} == {True}


def test_threads_do_not_matter(carry: Run, tmp_path: Path) -> None:
    frames: list[bytes] = []
    for index in range(40):
        flows = rewritten(5, ports=(index + 1, 80), delta=apart(index))
        frames += flows + [OTHER] * 20
        if index % 3 == 0:
            frames.append(ethernet(packet(TCP, b"good", ports=(index + 1, 80))))
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap(frames * 3))
    outputs = {carry("check", "--json", f"-j{threads}", path).stdout for threads in (1, 2, 3, 8)}
    assert len(outputs) == 1
    assert '"rewritten":390' in outputs.pop()


def test_causes_respect_selected_protocols(carry: Run) -> None:
    frames = rewritten(4, in_header=True, numbered=True)
    for name in ("ip", "tcp"):
        assert causes(carry, frames, f"--proto={name}") == {name: {"address_changed": 4}}


# --- The table ---


def test_each_row_has_a_test() -> None:
    named = {"adler32", "beside_partial", "by_sender", "around_partial"}  # tested in other files
    named |= {"inside_good"}
    named |= {"offload", "sent", "local", "passed_on", "received", "said_left", "said_valid"}
    named |= {"repeated", "none_updated", "left_then_changed", "constant"}
    assert named | set(FRAMES) | {"one_bit", "rewritten", "address_changed"} == set(ROWS)
