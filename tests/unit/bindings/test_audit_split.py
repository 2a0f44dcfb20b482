# SPDX-License-Identifier: MIT
"""A capture is checked in pieces with the rows of a single check, or refused with a reason."""

from __future__ import annotations

import gzip
import io
import pickle
import random
from collections.abc import Iterator
from functools import partial
from typing import Any

import captures
import pytest
from captures import Pcapng, Record
from conftest import corpus, fragments
from libcarry import _carry

pyarrow = pytest.importorskip("pyarrow")

from libcarry.audit import split  # noqa: E402

WRONG = 1 << _carry.VERDICTS.index("bad") | 1 << _carry.VERDICTS.index("illegal")
TABLES = ("files", "counts", "findings")
SECONDS = 1_700_000_000

Tables = dict[str, Any]


def whole(data: bytes, findings: int) -> Tables:
    capture = _carry.open_bytes(data, "x")
    result = capture.check(1, WRONG, WRONG, findings, 0, 0, True, (), None, False)
    capture.close()
    return {name: pyarrow.table(result.table(name)).combine_chunks() for name in TABLES}


def pieces_of(data: bytes, piece_size: int) -> list[split.Piece]:
    return split.plan("x", len(data), lambda: io.BytesIO(data), piece_size)


def check(data: bytes, pieces: list[split.Piece], findings: int | None) -> split.Whole:
    results = [split.check_piece(piece, lambda: io.BytesIO(data), findings) for piece in pieces]
    return split.merge(pickle.loads(pickle.dumps(results[::-1])), findings)


def compare(data: bytes, piece_size: int, findings: int = 7) -> int:
    """Compares the rows of the pieces with the rows of the whole capture; returns the number of
    pieces."""
    pieces = pieces_of(data, piece_size)
    assert pieces
    assert [pieces[0].start, *(piece.end for piece in pieces)] == [
        *(piece.start for piece in pieces),
        len(data),
    ]
    merged, expected = check(data, pieces, findings), whole(data, findings)
    for name in TABLES:
        assert merged.own[name].schema.equals(expected[name].schema, check_metadata=True)
        assert merged.own[name].to_pylist() == expected[name].to_pylist()
        assert merged.own[name].equals(expected[name])
    return len(pieces)


def refuses(data: bytes, piece_size: int, reason: str) -> None:
    pieces = pieces_of(data, piece_size)
    assert pieces
    with pytest.raises(split.IndivisibleError, match=reason):
        check(data, pieces, 7)


# --- Captures ---


def tunnel(inner: bytes) -> bytes:
    """Returns a frame with VXLAN; its outer sum is stored without inversion."""
    payload = bytes((8, 0, 0, 0, 0, 0, 1, 0)) + inner
    ip = captures.packet(captures.UDP, payload, ports=(9, 4789))
    check = int.from_bytes(ip[26:28], "big")
    return captures.ethernet(captures.put16(ip, 26, check ^ 0xFFFF))


def frames(dice: random.Random, count: int) -> Iterator[bytes]:
    """Yields frames; some of them decide the verdicts or causes of other packets."""
    for _ in range(count):
        port = dice.choice((1, 2, 3))
        src = f"10.0.{dice.randrange(3)}.{dice.randrange(1, 4)}"
        payload = dice.randbytes(dice.choice((0, 8, 40, 200)))
        kind = dice.choice(
            ("good", "good", "tunnel", "bad", "partial", "none", "header", "part", "v6")
        )
        protocol = dice.choice((captures.TCP, captures.UDP))
        ends = {"src": src, "ports": (port, 443)}
        if kind == "part":
            # Sums of these datagrams are off by different values, so that their flow has no cause.
            yield dice.choice(fragments() + fragments(77))
        elif kind == "tunnel":
            # Packets with ends of their own, so that their values show no cause.
            inner = bytearray(captures.GOOD[:-1] + dice.randbytes(1))
            inner[26:38] = dice.randbytes(12)
            yield tunnel(bytes(inner))
        elif kind == "header":
            sums = dice.choice(("good", "good", "partial"))
            ip = captures.packet(protocol, payload, sums=sums, **ends)
            yield captures.ethernet(captures.put16(ip, 10, 0))
        elif kind == "v6":
            sums = dice.choice(("good", "none"))
            yield captures.ethernet(captures.packet(captures.UDP, sums=sums, **captures.V6))
        elif kind == "bad":
            ip = bytearray(captures.packet(protocol, payload, **ends))
            ip[-1 - dice.randrange(8)] ^= dice.randrange(1, 256)
            yield captures.ethernet(bytes(ip))
        else:
            yield captures.ethernet(captures.packet(protocol, payload, sums=kind, **ends))


def records(seed: int, count: int = 300) -> list[Record]:
    dice = random.Random(seed)
    cuts = (70, 200, 1000)
    return [
        Record(frame[: dice.choice(cuts)], len(frame), SECONDS + index // 5, dice.randrange(10**6))
        for index, frame in enumerate(frames(dice, count))
    ]


def old_pcap(items: list[Record], *, version: tuple[int, int]) -> bytes:
    """Returns a file of version 2.2 or 543.0; these versions store the two lengths of a record in
    reverse order."""
    data = captures.pcap(items)
    at, out = 24, bytearray(data)
    for item in items:
        out[at + 8 : at + 16] = data[at + 12 : at + 16] + data[at + 8 : at + 12]
        at += 16 + len(item.data)
    out[4:8] = version[0].to_bytes(2, "little") + version[1].to_bytes(2, "little")
    return bytes(out)


def pcapng(items: list[Record], order: str = "<") -> Pcapng:
    file = Pcapng(order).section().interface().interface(link=101)
    file.block(4, bytes(8))  # name resolution block without names
    for item in items:
        ticks = item.seconds * 10**6 + item.fraction
        file.packet(item.data, ticks=ticks, wire=item.wire)
    return file


VARIANTS = {
    **{
        f"{magic:x}{order}": partial(captures.pcap, order=order, magic=magic)
        for order in "<>"
        for magic in (0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34)
    },
    "2.2": lambda items: old_pcap(items, version=(2, 2)),
    "543.0": lambda items: old_pcap(items, version=(543, 0)),
    "ng<": lambda items: pcapng(items).bytes(),
    "ng>": lambda items: pcapng(items, ">").bytes(),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_variant(variant: str) -> None:
    """Pieces of each format have the rows of the whole capture."""
    data = VARIANTS[variant](records(1))
    assert compare(data, 4000, 200) > 5


@pytest.mark.parametrize("seed", range(8))
def test_pieces_of_all_sizes(seed: int) -> None:
    """Pieces of any size, with any limit of findings, have the rows of the whole capture."""
    data = captures.pcap(records(seed, 150))
    for piece_size, findings in ((200, 7), (300, 1000), (1111, 1), (2000, 0), (4000, 2)):
        compare(data, piece_size, findings)


def test_all_findings() -> None:
    """Without a limit, the pieces list all findings."""
    data = captures.pcap([captures.WRONG] * 20 + [captures.GOOD] * 20)
    pieces = pieces_of(data, 500)
    merged = check(data, pieces, None)
    assert merged.own["findings"].equals(whole(data, 1000)["findings"])
    assert merged.listed == len(merged.own["findings"]) == 20


def test_findings_beyond_the_first_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Findings beyond the first ones of a piece are in the rows, too."""
    zero = captures.put16(captures.packet(captures.UDP), 10, 0)
    illegal = captures.packet(captures.UDP, sums="none", **captures.V6)
    data = captures.pcap([captures.ethernet(ip) for ip in (zero, illegal) for _ in range(30)])
    monkeypatch.setattr(split, "_FINDINGS_AT_FIRST", 4)
    assert (
        check(data, pieces_of(data, 500), None).own["findings"].equals(whole(data, 99)["findings"])
    )


# --- Captures that are not split ---


def test_no_pieces() -> None:
    """A small, compressed or unreadable capture is not divided."""
    data = captures.pcap(records(1))
    assert pieces_of(data, len(data)) == []
    assert pieces_of(gzip.compress(data, 0), 1000) == []
    assert pieces_of(captures.snoop(records(1)), 1000) == []
    assert pieces_of(data[:24] + bytes(9000), 1000) == []
    assert pieces_of(bytes(9000), 1000) == []
    assert pieces_of(b"\n\r\r\n" * 1000, 1000) == []
    assert pieces_of(data[:3], 1) == []
    assert pieces_of(Pcapng().section().interface().block(4, bytes(4000)).bytes(), 1000) == []


def test_no_boundary_where_packets_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split, "SNAPLEN_BYTES", 5000)
    monkeypatch.setattr(split, "WINDOW_BYTES", 20_000)
    large = [Record(bytes(5001), seconds=SECONDS)] * 9
    data = captures.pcap([*records(1), *large, *records(2)])
    assert 5 < compare(data, 3000) < len(data) // 3000 - 9
    assert not pieces_of(captures.pcap(large), 10_000)


# --- Findings that need several pieces ---


def off_by(ip: bytes, difference: int) -> bytes:
    """Returns a frame with this UDP packet, whose sum is changed to be off by `difference`."""
    check = int.from_bytes(ip[26:28], "big")
    return captures.ethernet(captures.put16(ip, 26, (check + difference - 1) % 0xFFFF + 1))


def flow(port: int, payloads: list[bytes], difference: int = 0x101) -> list[bytes]:
    return [
        off_by(captures.packet(captures.UDP, payload, ports=(port, 53)), difference)
        for payload in payloads
    ]


def test_causes_by_flow() -> None:
    """Causes that need packets of several pieces are found, or the pieces are refused."""
    good = [captures.GOOD] * 20
    once, twice, thrice = (flow(7, [bytes(8), b"12345678", b"abcdefgh"][:n]) for n in (1, 2, 3))
    compare(captures.pcap([*good, *once, *good, *twice[1:], *good]), 500)
    for frames in (thrice, [tunnel(frame) for frame in thrice]):
        data = captures.pcap([*good, *frames[:2], *good, *frames[2:], *good])
        refuses(data, 500, "may have one cause")


def test_flows_beyond_the_limit_are_refused() -> None:
    many = [flow(port, [b"12345678"], 3 * port)[0] for port in range(1000, 1300)]
    compare(captures.pcap(many), 5000)
    compare(captures.pcap([*many[:200], *[many[0]] * 9]), 5000)
    refuses(captures.pcap([*many, many[0]]), 5000, "more than 256 flows")


def test_many_bad_checksums_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of bad checksums whose flows are compared is limited, to limit the memory."""
    many = [flow(port, [b"12345678"], 3 * port)[0] for port in range(1000, 1300)]
    monkeypatch.setattr(split, "MOST_COMPARED", 299)
    refuses(captures.pcap(many), 5000, "more than 299 bad checksums")
    monkeypatch.setattr(split, "MOST_COMPARED", 300)
    compare(captures.pcap(many), 5000)


def test_flows_that_agree_are_refused() -> None:
    """Flows between two addresses may show a cause together."""
    agreeing = [flow(port, [b"12345678"])[0] for port in range(1000, 1300)]
    refuses(captures.pcap(agreeing), 5000, "may have one cause")


def test_a_packet_that_shows_a_changed_address_is_split() -> None:
    """The cause that such a packet shows does not depend on other packets."""
    moved = off_by(captures.packet(captures.UDP, b"12345678"), 0x1357)
    check = int.from_bytes(moved[24:26], "big")
    moved = captures.put16(moved, 24, (check + 0x1357 - 1) % 0xFFFF + 1)
    compare(captures.pcap([*[captures.GOOD] * 20, moved, *[captures.GOOD] * 20]), 500)


def test_too_many_related_packets_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = captures.pcap([*[captures.GOOD] * 50, *[captures.WRONG] * 50])
    compare(data, 1000)
    monkeypatch.setattr(split, "RELATED_BYTES", 500)
    refuses(data, 1000, "packets are related")


@pytest.mark.parametrize("order", "<>")
def test_late_interfaces_and_sections(order: str) -> None:
    """A capture that describes an interface or a section after packets is refused."""
    some = records(3, 50)
    for late in (Pcapng(order).interface(link=9), Pcapng(order).section().interface()):
        file = pcapng(some, order)
        file.parts += late.parts
        for item in some:
            file.packet(item.data)
        refuses(file.bytes(), 2000, "describes")


def test_damage() -> None:
    """With damage at the end, pieces have the rows of the whole capture; damage in the middle is
    refused."""
    items = records(4)
    data = captures.pcap(items)
    compare(data[:-7], 3000)
    compare(data + b"cut", 3000)
    half = 24 + sum(16 + len(item.data) for item in items[:150])
    refuses(data[: half + 8] + b"\xff" * 4 + data[half + 12 :], 3000, "damaged: record claims")
    ng = pcapng(items).bytes()
    compare(ng[:-7], 3000)
    refuses(data + captures.pcap(items), 3000, "damaged: a second capture")


def test_shortened_file_is_a_system_error() -> None:
    """A file that ends before the start of a piece raises OSError."""
    data = captures.pcap(records(5))
    pieces = pieces_of(data, 3000)
    for end in (pieces[2].start, pieces[-1].start):
        with pytest.raises(OSError, match="bytes before a piece"):
            check(data[: end + 1], pieces, 7)


def test_missing_piece_is_refused() -> None:
    data = captures.pcap(records(5))
    pieces = pieces_of(data, 3000)
    for some in (pieces[:-1], pieces[1:], [*pieces, pieces[0]]):
        with pytest.raises(ValueError, match="not all of"):
            check(data, some, 7)


# --- Wrong guesses ---


def nested(where: str) -> bytes:
    """Returns a capture of the transfer of a capture; the transferred records could mislead a
    guess."""
    inner = captures.pcap([Record(captures.GOOD, seconds=SECONDS)] * 100)
    payload = inner + (b"more" if where == "middle" else b"")
    packet = Record(captures.ethernet(captures.packet(captures.UDP, payload)), seconds=SECONDS)
    packets = records(6, 60)
    packets.insert(60 if where == "last" else 30, packet)
    return captures.pcap(packets)


def test_a_capture_in_a_packet() -> None:
    """If a capture inside a packet is mistaken for the start of a piece, the pieces are refused."""
    compare(nested("middle"), 1000)
    refuses(nested("end"), 1000, "damaged: record cut")
    refuses(nested("last"), 1000, "damaged: record cut")


def test_check_of_pieces_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the check of the pieces, a wrong guess produces wrong rows."""
    data = nested("last")
    monkeypatch.setattr(split, "contradiction", lambda _: None)
    merged = check(data, pieces_of(data, 1000), 7)
    assert merged.own["files"]["packets"][0].as_py() != 61
    late = pcapng(records(3, 50))
    late.section().interface(link=147)
    for item in records(3, 50):
        late.packet(item.data)
    counts = check(late.bytes(), pieces_of(late.bytes(), 2000), 7).own["counts"]
    assert not counts.equals(whole(late.bytes(), 7)["counts"])


@pytest.mark.parametrize("magic", [0xA1B2C3D4, 0xA1B23C4D])
@pytest.mark.parametrize("order", "<>")
def test_misaligned_headers_are_not_chosen(magic: int, order: str) -> None:
    """Read 4 bytes late, the fields of a record and the start of its frame look like a header."""
    frame = b"\0\0\x0c\7" + captures.GOOD[4:]
    items = [Record(frame, seconds=SECONDS, fraction=i) for i in range(99)]
    data = captures.pcap(items, order=order, magic=magic)
    for piece_size in range(1000, 1076):
        for piece in pieces_of(data, piece_size):
            assert not (piece.start - 24) % (16 + len(frame)) or not piece.index


# --- Files ---


class Watched(io.BytesIO):
    """Records the size of the largest read."""

    largest = 0

    def read(self, size: int | None = -1) -> bytes:
        assert size is not None
        Watched.largest = max(Watched.largest, size if size >= 0 else 1 << 62)
        return super().read(min(size, 5000))  # some stores return less


def test_pieces_are_read_as_streams() -> None:
    data = captures.pcap(records(7) * 40)
    pieces = split.plan("x", len(data), lambda: Watched(data), len(data) // 3)
    assert len(pieces) == 3
    assert Watched.largest <= 1 << 20
    seen: list[int] = []
    for piece in pieces:
        split.check_piece(piece, lambda: Watched(data), 7, lambda *what: seen.append(what[0]))
    assert Watched.largest <= 1 << 20
    assert seen


@pytest.mark.skipif(not corpus(), reason="no CARRY_CORPUS")
def test_corpus(capsys: pytest.CaptureFixture[str]) -> None:
    """Most real captures can be split, and then have the rows of the whole capture."""
    reasons: list[str] = []
    equal = 0
    for path in corpus():
        data = path.read_bytes()
        try:
            equal += bool(pieces_of(data, len(data) // 3) and compare(data, len(data) // 3))
        except split.IndivisibleError as error:
            reasons.append(f"{path.name}: {error}")
    with capsys.disabled():
        print(f"\n{equal} captures in pieces, {len(reasons)} by one worker", *reasons, sep="\n  ")
    assert equal > len(reasons)
