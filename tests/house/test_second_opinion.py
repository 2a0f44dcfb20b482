# SPDX-License-Identifier: MIT
"""Second opinions: the verdicts of scapy and dpkt on checksums in generated frames.

Each test takes a piece, such as a link type, a tunnel or a transport, and frames that contain
this piece and others (scapy_packets.py). CARRY_TEST_LEVEL sets the number of frames. They are the
same each time, unless CARRY_TEST_SEED selects others.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from captures import Pcapng, pcap
from carry_tool import Run

for package in ("scapy", "dpkt", "hypothesis"):
    pytest.importorskip(package, reason=f"python3-{package} is not installed")

import dpkt  # noqa: E402
from hypothesis import HealthCheck, Phase, find, given, seed, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from scapy_packets import (  # noqa: E402
    DIFFERENCES,
    NAMES,
    PIECES,
    Difference,
    Judgement,
    Range,
    Stack,
    Sum,
    frames,
    judge,
    judge_all,
)

CLEAN, BAD = 0, 1
LEVELS = {"short": 3, "medium": 8, "long": 60}
SEED = os.environ.get("CARRY_TEST_SEED")
SETTINGS = settings(
    max_examples=LEVELS[os.environ.get("CARRY_TEST_LEVEL", "medium")],
    derandomize=SEED is None,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)

every_piece = pytest.mark.parametrize("piece", PIECES)


def repeated(*strategies: st.SearchStrategy[Any]) -> Callable[[Callable[..., None]], Any]:
    """Works like `given`, with the number of examples and the seed that the environment sets."""

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        run = SETTINGS(given(*strategies)(test))
        return seed(int(SEED, 0))(run) if SEED else run

    return decorate


# --- The verdicts of carry ---


def explained(carry: Run, frame: Stack, data: bytes) -> list[dict[str, Any]]:
    """Returns the layers of a frame. Layers with a checksum have carry's report on it."""
    done = carry("explain", "--json", "-", "1", stdin=pcap([data], link=frame.link))
    assert done.stderr == ""
    return json.loads(done.stdout)["layers"]


def assert_found(frame: Stack, layers: list[dict[str, Any]]) -> None:
    """Checks that the layers are scapy's, and the sums are where the RFCs place them."""
    assert [(layer["protocol"], layer["at"]) for layer in layers] == list(frame.layers)
    sums = [layer for layer in layers if layer["checksum"]]
    places = [(layer["protocol"], layer["checksum"]["at"]) for layer in sums]
    assert places == [(item.protocol, item.field[0]) for item in frame.sums]


def assert_judged(frame: Stack, data: bytes, layers: list[dict[str, Any]]) -> None:
    given_sums = [layer["checksum"] for layer in layers if layer["checksum"]]
    for item, judgement, found in zip(
        frame.sums, judge_all(frame.sums, data), given_sums, strict=True
    ):
        assert (found["verdict"], found["expected"]) == judgement, item
        assert found["stored"] == item.stored(data)
        assert found["reason"] == ("quoted" if judgement.verdict == "unverifiable" else None)
        assert (found["size"], found["quoted"]) == (item.rule.size, item.quoted)
        if not item.other:
            assert_covers(item, data, found)


def assert_covers(item: Sum, data: bytes, found: dict[str, Any]) -> None:
    start, end = item.cover
    assert (found["covers_at"], found["covers_size"]) == (start, end - start)
    gap, pseudo = None, None
    if item.gap:
        gap = {"at": item.gap[0], "size": item.gap[1] - item.gap[0]}
    if item.pseudo:
        size, folded = item.pseudo.size, item.pseudo.folded(data)
        pseudo = {"protocol": item.pseudo.protocol, "size": size, "sum": folded}
    assert (found["gap"], found["pseudo"]) == (gap, pseudo)


def assert_agrees(carry: Run, frame: Stack, data: bytes) -> None:
    layers = explained(carry, frame, data)
    assert_found(frame, layers)
    assert_judged(frame, data, layers)


def depends_on(item: Sum, at: int) -> bool:
    """Checks whether a sum depends on the byte at `at`."""
    spans: list[Range] = [item.cover, *(item.pseudo.addresses if item.pseudo else ())]
    in_gap = item.gap and item.gap[0] <= at < item.gap[1]
    return not in_gap and any(start <= at < end for start, end in spans)


# --- Frames that scapy builds are good ---


@every_piece
def test_agrees_with_scapy(carry: Run, piece: str) -> None:
    @repeated(frames(piece))
    def run(frame: Stack) -> None:
        verdicts = {given_one.verdict for given_one in judge_all(frame.sums, frame.data)}
        assert verdicts <= {"good", "absent"}
        assert_agrees(carry, frame, frame.data)

    run()


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda row: row.reason)
def test_scapy_differs_as_listed(carry: Run, difference: Difference) -> None:
    """A row without its difference fails; carry agrees with the RFC."""
    frame = find(
        frames(difference.piece),
        lambda frame: difference.reason in frame.unlike,
        settings=settings(SETTINGS, max_examples=500, phases=[Phase.generate]),
    )
    assert_agrees(carry, frame, frame.data)


# --- A flipped bit ---


def loose_bytes(frame: Stack) -> list[int]:
    spans = [*frame.free, *(item.field for item in frame.sums)]
    return [at for start, end in spans for at in range(start, end)]


def flipped(data: bytes, at: int, bit: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1 << bit]) + data[at + 1 :]


@every_piece
def test_a_flipped_bit_makes_the_sums_over_it_bad(carry: Run, piece: str) -> None:
    @repeated(frames(piece), st.data())
    def run(frame: Stack, data: st.DataObject) -> None:
        at = data.draw(st.sampled_from(loose_bytes(frame)), label="at")
        changed = flipped(frame.data, at, data.draw(st.integers(0, 7), label="bit"))
        assert_agrees(carry, frame, changed)
        before, after = judge_all(frame.sums, frame.data), judge_all(frame.sums, changed)
        for item, old, new in zip(frame.sums, before, after, strict=True):
            if old.verdict == "good" and not item.other:
                assert (new.verdict != "good") == depends_on(item, at)

    run()


# --- Partial sums of transmit offload ---


def completed_by_card(frame: Stack) -> int | None:
    """Returns the index of the innermost sum that offload may leave partial."""
    return max(
        (
            place
            for place, item in enumerate(frame.sums)
            if item.pseudo and not item.quoted and item.stored(frame.data) != 0
        ),
        default=None,
    )


def recompute_sums(outer: Sequence[Sum], data: bytes) -> bytes:
    """Returns the bytes with each present outer sum computed over their new content."""
    for item in reversed(outer):
        if judge(item, data).verdict != "absent":
            data = item.store(data, item.computed(data))
    return data


@every_piece
def test_partial_sums_are_partial(carry: Run, piece: str) -> None:
    @repeated(frames(piece), st.booleans(), st.booleans())
    def run(frame: Stack, with_size: bool, sums_as_it_stands: bool) -> None:
        place = completed_by_card(frame)
        if place is None:
            return
        item, pseudo = frame.sums[place], frame.sums[place].pseudo
        assert pseudo
        data = item.store(frame.data, pseudo.folded(frame.data, with_size))
        if sums_as_it_stands:
            data = recompute_sums(frame.sums[:place], data)
        assert_agrees(carry, frame, data)
        right = Judgement("partial", item.computed(data))
        assert judge_all(frame.sums, data)[place] == right or item.verifies(data)

    run()


@pytest.mark.parametrize("piece", ["icmp error", "icmpv6 error"])
def test_quoted_partial_sums_are_partial(carry: Run, piece: str) -> None:
    """Sums around a quoted partial sum are never partial, even where they will be right when the
    partial sum is completed."""

    @repeated(frames(piece), st.booleans())
    def run(frame: Stack, sums_as_it_stands: bool) -> None:
        for place, item in enumerate(frame.sums):
            if not (item.quoted and item.pseudo and item.stored(frame.data)):
                continue
            data = item.store(frame.data, item.pseudo.folded(frame.data))
            if sums_as_it_stands:
                data = recompute_sums(frame.sums[:place], data)
            assert_agrees(carry, frame, data)
            given_ones = judge_all(frame.sums, data)
            assert given_ones[place].verdict == "partial" or item.verifies(data)
            assert all(given_one.verdict != "partial" for given_one in given_ones[:place])

    run()


# --- carry fix ---


def capture(stacks: Iterable[Stack], contents: Iterable[bytes]) -> bytes:
    """Returns a capture of frames, each with its own link type."""
    file = Pcapng().section()
    for number, (stack, data) in enumerate(zip(stacks, contents, strict=True)):
        file.interface(link=stack.link).packet(data, interface=number)
    return file.bytes()


def corrupted(draw: st.DataObject, frame: Stack) -> bytes:
    """Returns the bytes with wrong values in some checksum fields."""
    data = frame.data
    for item in frame.sums:
        values = st.none() | st.integers(0, 256**item.rule.size - 1)
        if item.pseudo:
            values |= st.just(item.pseudo.folded(data))
        value = draw.draw(values, label=f"{item.protocol} at {item.field[0]}")
        if value is None or item.quoted or judge(item, frame.data).verdict == "absent":
            continue
        if judge(item, item.store(frame.data, value)).verdict in ("bad", "partial", "illegal"):
            data = item.store(data, value)
    return data


@every_piece
def test_fix_restores_frames_of_scapy(
    carry: Run, tmp_path_factory: pytest.TempPathFactory, piece: str
) -> None:
    folder = tmp_path_factory.mktemp("fix")
    wrong, right = folder / "wrong.pcapng", folder / "right.pcapng"

    @repeated(st.lists(frames(piece), min_size=1, max_size=3), st.data())
    def run(stacks: list[Stack], data: st.DataObject) -> None:
        wrong.write_bytes(capture(stacks, [corrupted(data, frame) for frame in stacks]))
        done = carry("fix", wrong, "-o", right)
        assert (done.returncode, done.stderr) == (CLEAN, "")
        assert right.read_bytes() == capture(stacks, [frame.data for frame in stacks])

    run()


# --- dpkt ---


def verifies_in_dpkt(item: Sum, data: bytes) -> bool:
    """Checks whether a sum verifies by dpkt's arithmetic, over the bytes that the RFCs name."""
    body = item.covered(data)
    if item.rule.size == 4:
        return dpkt.crc32c.cksum(item.covered(item.store(data, 0))) == item.stored(data)
    return dpkt.dpkt.in_cksum((item.pseudo.bytes(data) if item.pseudo else b"") + body) == 0


def parsed(data: bytes, at: int) -> tuple[Any, int]:
    """Returns an IP packet that dpkt has parsed, and the offset of its content."""
    if data[at] >> 4 == 4:
        packet = dpkt.ip.IP(data[at : at + int.from_bytes(data[at + 2 : at + 4], "big")])
        return packet, at + packet.hl * 4
    packet = dpkt.ip6.IP6(data[at : at + 40 + int.from_bytes(data[at + 4 : at + 6], "big")])
    return packet, at + 40 + sum(header.length for header in packet.all_extension_headers)


def rebuilt(frame: Stack) -> Iterator[tuple[Sum, int]]:
    """Yields the sums that dpkt fills in, and the values that it would store."""
    sums = {item.cover[0]: item for item in frame.sums if item.protocol in FILLED_BY_DPKT}
    for at in (at for name, at in frame.layers if name in ("ip", "ipv6")):
        packet, start = parsed(frame.data, at)
        if at in sums:
            header, _ = parsed(frame.data, at)
            header.sum, header.data = 0, frame.data[start : at + packet.len]
            yield sums[at], header.sum if bytes(header) else 0
        if start in sums and hasattr(packet.data, "sum"):
            packet.sum = packet.data.sum = 0
            bytes(packet.data)  # fills in sums without a pseudo-header
            bytes(packet)
            yield sums[start], packet.data.sum


FILLED_BY_DPKT = {
    *("ip", "tcp", "udp", "icmp", "icmpv6", "igmp", "sctp", "pim", "ospf", "vrrp"),
}


class DpktDifference(NamedTuple):
    """A case in which dpkt stores another sum than the RFC says, and a piece that shows it."""

    reason: str
    piece: str
    applies: Callable[[Sum, bytes], bool]


def is_detoured(item: Sum, _: bytes) -> bool:
    """Checks whether the addresses of the pseudo-header are not only the two of the IP header."""
    return item.pseudo is not None and any(
        end != start for (_, end), (start, _) in pairwise(item.pseudo.addresses)
    )


DPKT_DIFFERENCES = [
    DpktDifference(
        "dpkt knows no routes and home addresses (RFC 8200, section 8.1)",
        "ipv6 routing",
        is_detoured,
    ),
    DpktDifference(
        "dpkt leaves pseudo-headers out (RFC 7761, RFC 5798, RFC 5340)",
        "vrrpv3 over ipv6",
        lambda item, _: item.protocol in ("pim", "vrrp", "ospf") and item.pseudo is not None,
    ),
    DpktDifference(
        "dpkt covers the packet in a PIM Register (RFC 7761, section 4.9)",
        "pim register",
        lambda item, _: item.protocol == "pim" and item.other is not None,
    ),
    DpktDifference(
        "dpkt covers the authentication of OSPF (RFC 2328, section D.4)",
        "ospf",
        lambda item, data: item.gap is not None and any(data[slice(*item.gap)]),
    ),
    DpktDifference(
        "dpkt loses bytes of the extension headers that an error quotes",
        "icmpv6 error",
        lambda item, data: item.protocol == "icmpv6" and data[item.cover[0]] < 128,
    ),
    DpktDifference(
        "dpkt stores 0 for UDP over IPv6 (RFC 8200, section 8.1)",
        "udp",
        lambda item, data: (
            item.protocol == "udp" and item.version == 6 and item.stored(data) == 0xFFFF
        ),
    ),
]


def unlike_dpkt(frame: Stack) -> Iterator[tuple[Sum, str]]:
    """Yields the sums on which dpkt differs, and the reason: "" if no row applies."""
    for item, value in rebuilt(frame):
        if value == item.stored(frame.data) or judge(item, frame.data).verdict == "absent":
            continue
        reasons = [row.reason for row in DPKT_DIFFERENCES if row.applies(item, frame.data)]
        yield item, reasons[0] if reasons else ""


@every_piece
def test_agrees_with_dpkt(carry: Run, tmp_path_factory: pytest.TempPathFactory, piece: str) -> None:
    """dpkt's arithmetic and its layers agree on frames that carry has repaired."""
    folder = tmp_path_factory.mktemp("dpkt")

    @repeated(frames(piece), st.data())
    def run(frame: Stack, data: st.DataObject) -> None:
        fixed = repaired(carry, folder, frame, corrupted(data, frame))
        for item in fixed.sums:
            assert verifies_in_dpkt(item, fixed.data) or judge(item, fixed.data).verdict == "absent"
        assert [item for item, reason in unlike_dpkt(fixed) if not reason] == []

    run()


def repaired(carry: Run, folder: Path, frame: Stack, data: bytes) -> Stack:
    """Returns the frame with `data`, repaired by carry."""
    source, target = folder / "wrong.pcap", folder / "right.pcap"
    source.write_bytes(pcap([data], link=frame.link))
    assert carry("fix", source, "-o", target).returncode == CLEAN
    return replace(frame, data=target.read_bytes()[-len(data) :])


@pytest.mark.parametrize("difference", DPKT_DIFFERENCES, ids=lambda row: row.reason)
def test_dpkt_differs_as_listed(difference: DpktDifference) -> None:
    find(
        frames(difference.piece),
        lambda frame: difference.reason in [reason for _, reason in unlike_dpkt(frame)],
        settings=settings(SETTINGS, max_examples=500, phases=[Phase.generate]),
    )


def test_frames_have_every_protocol() -> None:
    """Each header that the pieces use occurs in the frames."""
    seen: set[str] = set()
    for piece in PIECES:

        @settings(SETTINGS, max_examples=5)
        @given(frames(piece))
        def run(frame: Stack) -> None:
            seen.update(name for name, _ in frame.layers)

        run()
    assert seen == set(NAMES.values()) - {""} | {"raw", "mpls_udp"}
