# SPDX-License-Identifier: MIT
"""`carry fix` on fragmented datagrams and truncated packets: what it repairs, and what it does
not."""

from __future__ import annotations

import itertools
import random
import struct
import subprocess
from pathlib import Path

import pytest
from captures import (
    GOOD,
    PARTIAL,
    TCP,
    UDP,
    WRONG,
    Record,
    ethernet,
    finish,
    fold,
    network,
    packet,
    pcap,
    pseudo,
    put16,
)
from carry_tool import BAD, CLEAN, KIB, Run, peak_kib
from schemas import conforming
from test_fix import Fix, fix
from test_reassemble import V4, V6, VERSIONS, datagram, fragment, fragments, raw

pytestmark = pytest.mark.covers_capture

__all__ = ["fix"]

Ends = tuple[str, str]


def reasons(fix: Fix) -> list[tuple[int, str, str, str]]:
    return [(line["frame"], line["protocol"], line["verdict"], line["reason"]) for line in fix.left]


# --- What is repaired ---


@VERSIONS
@pytest.mark.parametrize("protocol", [TCP, UDP])
@pytest.mark.parametrize("sums", ["bad", "partial"])
def test_complete_datagram_is_repaired(fix: Fix, ends: Ends, sums: str, protocol: int) -> None:
    for size in (64, 8):  # with size 8, the field of TCP lies in the third fragment
        wrong = fragments(datagram(ends, 100, sums=sums, protocol=protocol), size)
        right = fragments(datagram(ends, 100, protocol=protocol), size)
        status, fixed, log = fix(raw(wrong))
        assert (status, fixed) == (CLEAN, raw(right))
        (change,) = log
        assert (change["frame"], change["verdict"]) == (len(wrong), sums)
        assert change["field_frame"] == (3 if protocol == TCP and size == 8 else 1)


@VERSIONS
def test_in_any_order(fix: Fix, ends: Ends) -> None:
    """A datagram is repaired for any order of its fragments."""
    wrong, right = (fragments(datagram(ends, 180, sums=sums)) for sums in ("bad", "good"))
    for order in itertools.permutations(range(len(wrong))):
        status, fixed, _log = fix(raw(wrong[at] for at in order))
        assert (status, fixed) == (CLEAN, raw(right[at] for at in order))


def test_a_sum_of_0_over_ipv6(fix: Fix) -> None:
    """A sum of 0 over IPv6 is repaired from the whole datagram: the first fragment shows only that
    the sum is illegal."""
    wrong, right = (fragments(datagram(V6, sums=sums)) for sums in ("none", "good"))
    for turn in (1, -1):
        status, fixed, log = fix(raw(wrong[::turn]))
        assert (status, fixed) == (CLEAN, raw(right[::turn]))
        assert [change["verdict"] for change in log] == ["illegal"]


@VERSIONS
@pytest.mark.parametrize("between", [0, 3, 200, 2000])
def test_fragments_far_apart(fix: Fix, ends: Ends, between: int) -> None:
    """A sum is repaired even if its field has left the input window when the last fragment
    arrives."""
    noise = [packet(TCP, bytes(1400), sums="partial")] * between
    done = [packet(TCP, bytes(1400))] * between
    wrong, right = (fragments(datagram(ends, sums=sums)) for sums in ("bad", "good"))
    status, fixed, log = fix(raw([*wrong[:-1], *noise, wrong[-1], *noise]))
    assert (status, fixed) == (CLEAN, raw([*right[:-1], *done, right[-1], *done]))
    assert len(log) == 2 * between + 1


def test_fragments_stay_within_reach_of_a_stream(tool: str, tmp_path: Path) -> None:
    """Datagrams in a stream are repaired even if a datagram between them is refused, and the
    datagram that began first is completed last."""
    noise = [packet(TCP, bytes(1400))] * 60
    refused = [fragment(packet(UDP, bytes([at] * 99)), 8, 16, ident=9) for at in (1, 2)]
    path = tmp_path / "in.pcap"

    def capture(sums: str) -> bytes:
        one, two = (fragments(datagram(sums=sums), 104, ident=ident) for ident in (1, 2))
        early = [one[0], two[0], one[1], *refused]
        return raw([*noise, *early, *noise, *two[1:], one[2]])

    path.write_bytes(capture("bad"))
    done = subprocess.run([tool, "fix", path, "-o", "-"], capture_output=True)
    assert (done.returncode, done.stdout) == (CLEAN, capture("good"))


@pytest.mark.parametrize("seed", range(3))
def test_many_datagrams_shuffled_through_a_pipe(carry: Run, tmp_path: Path, seed: int) -> None:
    """Datagrams are repaired though their fragments are mixed."""
    dice = random.Random(seed)
    made = []
    for ident in range(300):
        ends, size = dice.choice([V4, V6]), dice.randrange(100, 3000)
        how, part = dice.choice(["good", "bad", "partial"]), 8 * dice.randrange(10, 100)
        pairs = (datagram(ends, size, sums=sums) for sums in (how, "good"))
        made += zip(*(fragments(ip, part, ident=ident) for ip in pairs), strict=True)
    dice.shuffle(made)
    out = tmp_path / "out"
    done = carry("fix", "-", "-o", out, stdin=raw(wrong for wrong, _ in made))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert out.read_bytes() == raw(right for _, right in made)
    assert carry("check", "-q", out).returncode == CLEAN


@VERSIONS
def test_repetitions_are_repaired_too(fix: Fix, ends: Ends) -> None:
    """All repetitions of a fragment are repaired, so that none contradicts another afterwards."""
    for sums in ("bad", "none" if ends == V6 else "partial"):
        wrong, right = (fragments(datagram(ends, sums=how)) for how in (sums, "good"))
        order = [0, 1, 0, 0, *range(1, len(wrong))]
        status, fixed, log = fix(raw(wrong[at] for at in order))
        assert (status, fixed) == (CLEAN, raw(right[at] for at in order))
        assert [change["field_frame"] for change in log] == [1, 3, 4]


def test_overlaps_are_repaired_too(fix: Fix) -> None:
    wrong, right = (datagram(size=300, sums=sums) for sums in ("bad", "good"))

    def parts(ip: bytes) -> list[bytes]:
        spans = [(8, 64), (0, 16), (0, 8), (0, 128), (96, 200)]
        return [*(fragment(ip, *span) for span in spans), fragment(ip, 200, 308)]

    status, fixed, log = fix(raw(parts(wrong)))
    assert (status, fixed) == (CLEAN, raw(parts(right)))
    assert [change["field_frame"] for change in log] == [2, 3, 4]


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def sctp_in_vxlan(crc: int | None = None) -> bytes:
    """Returns a packet with SCTP in VXLAN. The inner frame has a VLAN tag, so that the sum of SCTP
    lies in bytes 62 to 65 of the outer IP payload."""
    head, chunk = struct.pack(">HHL", 1000, 2000, 7), struct.pack(">BBH", 11, 0, 4)
    value = crc32c(head + bytes(4) + chunk) if crc is None else crc
    inner = network(*V4, 132, head + struct.pack("<L", value) + chunk)
    frame = bytes(12) + bytes.fromhex("8100 0005 0800") + inner
    vxlan = bytes.fromhex("0800000000000100") + frame
    return network(*V4, UDP, struct.pack(">HHHH", 5000, 4789, 8 + len(vxlan), 0) + vxlan)


def test_field_in_two_fragments(fix: Fix) -> None:
    wrong, right = fragments(sctp_in_vxlan(0x12345678), 64), fragments(sctp_in_vxlan(), 64)
    status, fixed, log = fix(raw(wrong))
    assert (status, fixed) == (CLEAN, raw(right))
    assert [(change["size"], change["field_frame"]) for change in log] == [(2, 1), (2, 2)]
    assert [change["old"] for change in log] == [0x7856, 0x3412]


def test_sums_inside_each_other(fix: Fix) -> None:
    """In a fragmented packet of a tunnel, sums are repaired from the innermost outwards."""

    def tunnel(inner: bytes) -> bytes:
        return packet(UDP, gtp(inner), ports=(2152, 2152))

    wrong = put16(tunnel(put16(packet(TCP, bytes(99), sums="bad"), 10, 0x1234)), 26, 0x4321)
    status, fixed, log = fix(raw(fragments(wrong)))
    assert (status, fixed) == (CLEAN, raw(fragments(tunnel(packet(TCP, bytes(99))))))
    assert [change["protocol"] for change in log] == ["tcp", "ip", "udp"]
    good = tunnel(packet(TCP, bytes(99), sums="bad"))
    status, fixed, log = fix(raw(fragments(good)))
    assert (status, fixed) == (CLEAN, raw(fragments(tunnel(packet(TCP, bytes(99))))))
    assert [change["verdict"] for change in log] == ["bad", "good"]


TZSP = bytes.fromhex("01 00 0001 01") + bytes(12) + bytes.fromhex("0800")


def gtp(ip: bytes) -> bytes:
    return struct.pack(">BBHL", 0x30, 255, len(ip), 1) + ip


@VERSIONS
def test_only(fix: Fix, ends: Ends) -> None:
    """With --only, only the named verdicts of datagrams are repaired."""
    bad = fragments(datagram(ends, sums="bad"))
    data = raw(bad + fragments(datagram(ends, sums="partial"), ident=7))
    parts = len(fragments(datagram(ends)))
    status, _, log = fix(data, "--only", "partial")
    assert (status, [change["frame"] for change in log]) == (BAD, [2 * parts])
    assert reasons(fix) == [(parts, "udp", "bad", "only")]
    status, _, log = fix(data, "--only", "bad")
    assert (status, [change["frame"] for change in log]) == (CLEAN, [parts])
    assert reasons(fix) == [(2 * parts, "udp", "partial", "only")]


@VERSIONS
def test_dry_run(carry: Run, ends: Ends) -> None:
    data = raw(fragments(datagram(ends, sums="bad")))
    done = carry("fix", "-", "--dry-run", stdin=data)
    assert done.returncode == CLEAN
    assert done.stdout.endswith("\n1 checksum would be repaired in 1 packet\n")


def test_packets_are_counted_once(carry: Run, tmp_path: Path) -> None:
    """Two sums in one frame count as one packet; one sum in two copies of a fragment counts as two
    packets."""
    parts = fragments(datagram(sums="bad"))
    data = raw([put16(parts[0], 10, 0x1234), parts[0], *parts[1:]])
    done = carry("fix", "-", "-o", tmp_path / "out", "--json", stdin=data)
    report = conforming("fix", done.stdout)
    assert report["changed_packets"] == 2
    assert report["repaired"] == {"ip": {"bad": 1}, "udp": {"bad": 1}}


def empty(ip: bytes) -> bytes:
    """Returns the packet with 0 in the header checksum."""
    return put16(ip, 10, 0)


def test_a_header_of_0_in_fragments(fix: Fix, carry: Run) -> None:
    """A header checksum of 0 in a fragmented tunnel is repaired as bad, or as partial if a later
    packet shows that its sender omits such sums."""
    wrong = fragments(network(*V4, 4, empty(packet(TCP))), 8)
    right = fragments(network(*V4, 4, packet(TCP)), 8)
    status, fixed, log = fix(raw(wrong))
    assert (status, fixed) == (CLEAN, raw(right))
    assert [(change["protocol"], change["verdict"]) for change in log] == [("ip", "bad")]
    for behind, repaired in (
        ([], {"ip": {"bad": 1}}),
        ([empty(packet(TCP, sums="partial"))], {"ip": {"partial": 2}, "tcp": {"partial": 1}}),
    ):
        done = carry("fix", "-", "--dry-run", "--json", stdin=raw([*wrong, *behind]))
        assert conforming("fix", done.stdout)["repaired"] == repaired


# --- What is not repaired, and why ---


def illegal() -> list[bytes]:
    return fragments(datagram(V6, sums="none"))


def test_incomplete_datagram(fix: Fix) -> None:
    first, *rest = illegal()
    for parts, reason in (
        ([first], "missing"),
        ([first, *rest[:-1]], "missing"),
        ([first, rest[0], rest[0][:-1] + b"\xff", *rest], "overlapping"),
        ([rest[0], rest[0][:-1] + b"\xff", first, *rest], "overlapping"),
        ([fragment(datagram(V6), 8, 12, more=True), first, *rest], "malformed"),
    ):
        status, fixed, log = fix(raw(parts))
        assert (status, fixed, log) == (BAD, raw(parts), [])
        assert reasons(fix) == [(parts.index(first) + 1, "udp", "illegal", reason)]


def test_only_with_an_incomplete_datagram(fix: Fix) -> None:
    assert fix(raw(illegal()[:1]), "--only", "bad")[::2] == (BAD, [])
    assert reasons(fix) == [(1, "udp", "illegal", "only")]


def test_incomplete_datagram_in_a_datagram(fix: Fix) -> None:
    """The sum is listed once, with the outer datagram."""
    parts = fragments(network(*V4, 41, illegal()[0]), 48)
    assert fix(raw(parts))[::2] == (BAD, [])
    assert reasons(fix) == [(len(parts), "udp", "illegal", "uncertain")]


def test_header_after_truncated_bytes(fix: Fix) -> None:
    """The datagram ends where the first copy of its first fragment was cut, and is not examined."""
    shows = [empty(packet(TCP, sums="partial"))]  # the sender omits such sums
    shows += fragments(network(*V4, 4, packet(TCP, bytes(99))))  # leaves bytes in memory
    ip = network(*V4, 4, empty(packet(TCP, bytes(99), src="10.0.0.77")))
    first, *rest = fragments(ip, ident=7)
    parts = [*shows, Record(first[:28], wire=len(first)), first, *rest]
    for only in ("partial", "illegal"):
        assert fix(raw(parts), "--only", only)[0] == BAD
        assert reasons(fix)[-1] == (len(shows) + 2, "ip", "bad", "only")


def test_field_after_truncated_bytes(fix: Fix) -> None:
    first, *rest = illegal()
    assert fix(raw([Record(first[:50], wire=len(first)), first, *rest]))[::2] == (BAD, [])
    assert reasons(fix) == [(2, "udp", "illegal", "snaplen")]


def test_length_that_the_datagram_contradicts(fix: Fix) -> None:
    """A sum whose length exceeds the datagram is not repaired. The first fragment alone does not
    show that."""
    parts = fragments(put16(datagram(V6, sums="none"), 44, 999))
    assert fix(raw(parts))[::2] == (BAD, [])
    assert reasons(fix) == [(1, "udp", "illegal", "uncertain")]


def test_repetitions_in_an_incomplete_datagram(fix: Fix) -> None:
    first = illegal()[0]
    assert fix(raw([first, first]))[0] == BAD
    assert [line["frame"] for line in fix.left] == [1, 2]


def test_a_fragment_cut_by_the_capture(fix: Fix) -> None:
    """A datagram with a truncated fragment is not repaired."""
    first, *rest = illegal()
    records = [first, Record(rest[0][:-1], wire=len(rest[0])), *rest[1:]]
    assert fix(raw(records))[::2] == (BAD, [])
    assert reasons(fix) == [(1, "udp", "illegal", "snaplen")]
    parts = fragments(datagram(sums="bad"))
    records = [Record(part[:-1], wire=len(part)) for part in parts]
    assert fix(raw(records))[::2] == (CLEAN, [])  # the sum cannot be verified


def evicting(count: int) -> list[bytes]:
    return [fragment(datagram(V6), 64, 128, ident=1000 + number) for number in range(count)]


def test_evicted_datagram(fix: Fix, carry: Run) -> None:
    first, *rest = illegal()
    parts = [first, *evicting(4096), *rest]
    assert fix(raw(parts))[::2] == (BAD, [])
    assert reasons(fix) == [(1, "udp", "illegal", "evicted")]
    done = carry("fix", "-", "--dry-run", stdin=raw(parts))
    assert (
        "  udp: 1 illegal in frame 1: in a datagram given up: more than 4,096 were\n"
        "    incomplete\n" in done.stdout
    )


def in_tunnel(sums: str, outer: str = "good") -> list[bytes]:
    """Returns the fragments of a datagram, each inside GTP with an outer sum."""
    return [
        packet(UDP, gtp(part), ports=(2152, 2152), sums=outer)
        for part in fragments(datagram(sums=sums))
    ]


def test_a_sum_around_the_fragments(fix: Fix) -> None:
    """A sum inside fragments is not repaired if an outer sum covers a fragment: the outer sum would
    have to change too, but its frame may be written already."""
    parts = in_tunnel(sums="bad")
    assert fix(raw(parts))[::2] == (BAD, [])
    assert reasons(fix) == [(len(parts), "udp", "bad", "tunnel")]
    status, fixed, _ = fix(raw(in_tunnel(sums="bad", outer="none")))
    assert (status, fixed) == (CLEAN, raw(in_tunnel(sums="good", outer="none")))


def test_no_sum_around_the_fragments(fix: Fix) -> None:
    """A sum inside fragments is repaired if the outer sum is absent, even where one is required: an
    absent sum cannot become wrong."""

    def parts(sums: str) -> list[bytes]:
        return [
            packet(UDP, TZSP + part, src=V6[0], dst=V6[1], ports=(37008, 37008), sums="none")
            for part in fragments(datagram(sums=sums))
        ]

    wrong, right = parts("bad"), parts("good")
    assert fix(raw(wrong), "--only", "bad")[:2] == (BAD, raw(right))
    assert {line[1:] for line in reasons(fix)} == {("udp", "illegal", "only")}


def nested() -> list[bytes]:
    return [
        part
        for ident, inner in enumerate(fragments(datagram(sums="bad"), 160))
        for part in fragments(network(*V4, 4, inner), 48, ident=ident)
    ]


def test_fragments_of_fragments(fix: Fix) -> None:
    """A datagram in fragments of fragments is not repaired, but listed with its place."""
    parts = nested()
    assert fix(raw(parts))[::2] == (BAD, [])
    assert reasons(fix) == [(len(parts), "udp", "bad", "nested")]
    assert fix.left[0]["offset"] is not None


def test_sum_inside_an_unverifiable_one(fix: Fix) -> None:
    inner = put16(packet(TCP, bytes(99)), 10, 0x1234)
    frame = ethernet(packet(UDP, gtp(inner), ports=(2152, 2152)))
    assert fix(pcap([Record(frame[:-1], wire=len(frame))]))[::2] == (BAD, [])
    assert reasons(fix) == [(1, "ip", "bad", "covered")]


def test_sum_inside_one_around_a_partial_sum(fix: Fix) -> None:
    """A bad sum is not repaired if it is covered by a sum that verifies only once a partial sum is
    complete."""
    inner = put16(packet(TCP), 10, 0x1234)
    frame = packet(UDP, gtp(inner), ports=(2152, 2152))
    frame = put16(frame, 72, fold(pseudo("10.0.0.5", "10.0.0.9", TCP, 28)))
    assert fix(raw([frame]), "--only", "bad")[::2] == (BAD, [])
    assert reasons(fix) == [
        (1, "udp", "partial", "only"),
        (1, "ip", "bad", "partial"),
        (1, "tcp", "partial", "only"),
    ]
    right = packet(UDP, gtp(packet(TCP)), ports=(2152, 2152))
    assert fix(raw([frame]))[:2] == (CLEAN, raw([right]))


def test_truncated_packet(fix: Fix) -> None:
    frame = ethernet(packet(UDP, bytes(99), src=V6[0], dst=V6[1], sums="none"))
    assert fix(pcap([Record(frame[:80], wire=len(frame))]))[::2] == (BAD, [])
    assert reasons(fix) == [(1, "udp", "illegal", "snaplen")]


def quoting() -> bytes:
    error = struct.pack(">BBHL", 3, 1, 0, 0) + packet(TCP, sums="partial")
    return network("10.0.0.1", V4[0], 1, put16(error, 2, finish(error)))


def test_quoted_sum(fix: Fix) -> None:
    """A sum inside an ICMP error is not repaired."""
    assert fix(pcap([ethernet(quoting())]))[::2] == (CLEAN, [])
    assert reasons(fix) == [(1, "tcp", "partial", "quoted")]


def aggregate(*packets: bytes) -> bytes:
    """Returns an 802.11 frame with several IPv4 packets."""
    frame = bytes.fromhex("8801 2c00") + bytes(18) + bytes.fromhex("1000 8000")
    for ip in packets:
        part = bytes(12) + struct.pack(">H", 8 + len(ip)) + bytes.fromhex("aaaa03000000 0800") + ip
        frame += part + bytes(-len(part) % 4)
    return frame


def test_packet_after_a_fragment_in_its_frame(fix: Fix) -> None:
    """A packet that follows a fragment in the same frame is judged without waiting for the
    datagram."""
    wrong, right = (fragments(datagram(sums=sums), 160) for sums in ("bad", "good"))
    frames, fixed = (
        pcap([aggregate(first, quoting()), aggregate(rest)], link=105)
        for first, rest in (wrong, right)
    )
    assert fix(frames)[:2] == (CLEAN, fixed)
    assert reasons(fix) == [(1, "tcp", "partial", "quoted")]


def unknown(outer: str) -> bytes:
    """Returns UDP over IPv6 in a tunnel: it has no sum, and its length exceeds its packet."""
    inner = packet(UDP, src=V6[0], dst=V6[1], sums="none")
    inner = put16(put16(inner, 4, 999), 44, 999)
    vxlan = bytes.fromhex("0800000000000100") + ethernet(inner)
    return packet(UDP, vxlan, ports=(5000, 4789), sums=outer)


@pytest.mark.parametrize("outer", ["good", "partial"])
def test_sum_with_an_impossible_length(fix: Fix, outer: str) -> None:
    """A sum with an impossible length is not changed, whatever the verdict of the outer sum."""
    assert fix(raw([unknown(outer)]), "--only", "illegal")[::2] == (BAD, [])
    left = [(1, "udp", "illegal", "uncertain")]
    assert reasons(fix) == ([(1, "udp", "partial", "only"), *left] if outer == "partial" else left)
    parts = fragments(unknown(outer), 48)
    assert fix(raw(parts), "--only", "illegal")[::2] == (BAD, [])
    assert reasons(fix)[-1] == (len(parts), *left[0][1:])


def test_headers_of_two_senders_in_one_frame(carry: Run, tmp_path: Path) -> None:
    """If only one of two senders is known to leave header sums to its network card, neither header
    of a frame with both senders is repaired."""
    inner = network("10.0.0.5", "10.0.0.9", 4, empty(packet(TCP, src="10.0.0.77")))
    frame = packet(UDP, gtp(empty(inner)), ports=(2152, 2152))
    path = tmp_path / "a.pcap"
    path.write_bytes(raw([frame, empty(packet(TCP, sums="partial"))]))
    done = carry("fix", path, "--dry-run", "--json", "--only", "partial")
    report = conforming("fix", done.stdout)
    assert report["repaired"] == {"ip": {"partial": 1}, "tcp": {"partial": 1}}
    assert report["left"] == {"ip": {"bad": 2}}
    assert [reason["reason"] for reason in report["reasons"]] == ["only", "beside"]


@pytest.mark.parametrize(
    ("senders", "listed"),
    [("abababab", [1, 2, 3, 4, 5]), ("abaa", [1, 2, 3, 4]), ("aaaaaab", [1, 2, 3, 4, 5])],
)
def test_frames_of_several_senders(carry: Run, senders: str, listed: list[int]) -> None:
    """Header checksums of 0 from several senders are summarised together: the first five frames of
    all senders are listed, in order."""
    frames = [empty(packet(TCP, src=f"10.0.0.{ord(sender)}")) for sender in senders]
    done = carry("fix", "-", "--dry-run", "--json", "--only", "partial", stdin=raw(frames))
    (reason,) = conforming("fix", done.stdout)["reasons"]
    assert (reason["protocol"], reason["verdict"], reason["reason"]) == ("ip", "bad", "only")
    assert (reason["count"], reason["frames"]) == (len(senders), listed)


def test_the_summary_names_reasons_and_frames(carry: Run) -> None:
    parts = [*([WRONG] * 1018), PARTIAL, *([GOOD] * 3)]
    done = carry("fix", "-", "--dry-run", "--only", "illegal", stdin=pcap(parts))
    assert done.returncode == BAD
    assert (
        "\n"
        "  tcp: 1,018 bad in frames 1, 2, 3, 4, 5 and 1,013 more: --only does not name\n"
        "    this verdict\n"
        "  tcp: 1 partial in frame 1019: --only does not name this verdict\n"
        "\n"
        "nothing repaired, 1,018 left bad\n"
    ) in done.stdout
    done = carry("fix", "-", "--dry-run", "--json", "--only", "illegal", stdin=pcap(parts))
    assert conforming("fix", done.stdout)["reasons"] == [
        {
            "protocol": "tcp",
            "verdict": verdict,
            "reason": "only",
            "count": count,
            "frames": frames,
        }
        for verdict, count, frames in (("bad", 1018, [1, 2, 3, 4, 5]), ("partial", 1, [1019]))
    ]


def test_two_or_three_frames(carry: Run) -> None:
    """The summary lists the frames of a sum that it does not repair."""
    for count, text in ((2, "frames 1 and 2:"), (3, "frames 1, 2 and 3:")):
        done = carry("fix", "-", "--dry-run", "--only", "partial", stdin=pcap([WRONG] * count))
        assert f"  tcp: {count} bad in {text}" in done.stdout


# --- Hostile captures ---


def test_memory_does_not_grow_with_repairs(tool: str) -> None:
    """Memory does not grow although each datagram is repaired long after its first fragment has
    left the window."""
    parts = fragments(datagram(size=1200, sums="bad"), 600)
    feed = [raw([])]
    for block in range(20):
        idents = range(block * 2000, (block + 1) * 2000)
        for at in range(len(parts)):
            feed.append(raw(ident_of(parts[at], ident & 0xFFFF) for ident in idents)[24:])
    assert peak_kib([tool, "fix", "-", "--dry-run"], feed) < 24 * KIB


def ident_of(part: bytes, ident: int) -> bytes:
    part = put16(put16(part, 4, ident), 10, 0)
    return put16(part, 10, finish(part[:20]))
