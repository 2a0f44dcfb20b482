# SPDX-License-Identifier: MIT
"""`carry check` on fragments: datagrams are reassembled, in any order of their fragments."""

from __future__ import annotations

import itertools
import json
import random
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from captures import TCP, UDP, Pcapng, Record, ethernet, finish, network, packet, pcap, put16
from carry_tool import BAD, CLEAN, KIB, Check, Run, peak_kib
from schemas import conforming

pytestmark = pytest.mark.covers_capture

RAW = 101
V4, V6 = ("10.0.0.5", "10.0.0.9"), ("2001:db8::5", "2001:db8::9")
VERSIONS = pytest.mark.parametrize("ends", [V4, V6], ids=["ipv4", "ipv6"])


def content(ip: bytes) -> tuple[bytes, int]:
    """Returns the content of a packet without options, and its protocol."""
    return (ip[40:], ip[6]) if ip[0] >> 4 == 6 else (ip[20:], ip[9])


def fragment(
    ip: bytes, start: int, end: int, *, ident: int = 99, more: bool | None = None
) -> bytes:
    """Returns bytes `start` to `end` of a packet's content, as a fragment of that packet."""
    body, protocol = content(ip)
    field = start | (end < len(body) if more is None else more)
    part = body[start:end]
    if ip[0] >> 4 == 6:
        head = put16(ip[:40], 4, 8 + len(part))
        extension = struct.pack(">BBHL", protocol, 0, field, ident)
        return head[:6] + b"\x2c" + head[7:] + extension + part
    head = put16(put16(put16(ip[:20], 2, 20 + len(part)), 4, ident), 10, 0)
    head = put16(head, 6, start >> 3 | (0x2000 if field & 1 else 0))
    return put16(head, 10, finish(head)) + part


def fragments(ip: bytes, size: int = 64, ident: int = 99) -> list[bytes]:
    total = len(content(ip)[0])
    return [fragment(ip, at, min(at + size, total), ident=ident) for at in range(0, total, size)]


def datagram(
    ends: tuple[str, str] = V4, size: int = 300, *, sums: str = "good", protocol: int = UDP
) -> bytes:
    payload = bytes(at * 7 & 255 for at in range(size))
    return packet(protocol, payload, src=ends[0], dst=ends[1], sums=sums)


def raw(parts: Iterable[bytes | Record]) -> bytes:
    return pcap(parts, link=RAW)


def verdicts(report: dict[str, Any], protocol: str = "udp") -> dict[str, int]:
    return {name: n for name, n in report["protocols"].get(protocol, {}).items() if n}


def fates(report: dict[str, Any]) -> dict[str, int]:
    return {name: n for name, n in report["reassembly"].items() if n}


def check_raw(check: Check, parts: Iterable[bytes | Record]) -> dict[str, Any]:
    return check(raw(parts))[1]


WAITING = {"unverifiable": 1}


# --- Complete datagrams ---


@VERSIONS
@pytest.mark.parametrize("sums", ["good", "bad", "partial"])
def test_a_datagram_gets_one_verdict(check: Check, ends: tuple[str, str], sums: str) -> None:
    status, report = check(raw(fragments(datagram(ends, sums=sums))))
    assert status == (BAD if sums == "bad" else CLEAN)
    assert verdicts(report) == {sums: 1}
    assert fates(report) == {"complete": 1}
    assert report["reasons"] == {}


@VERSIONS
def test_any_order(check: Check, ends: tuple[str, str]) -> None:
    """A datagram is reassembled in any order of its fragments."""
    parts = fragments(datagram(ends, 180))
    for order in itertools.permutations(parts):
        assert verdicts(check_raw(check, order)) == {"good": 1}


@VERSIONS
@pytest.mark.parametrize("seed", range(5))
def test_shuffled_fragments_of_many_datagrams(
    check: Check, ends: tuple[str, str], seed: int
) -> None:
    """Mixed fragments of many datagrams are reassembled."""
    dice = random.Random(seed)
    kinds = ["good", "bad", "partial"] * 7
    parts = [
        part
        for ident, sums in enumerate(kinds)
        for part in fragments(
            datagram(ends, dice.randrange(100, 3000), sums=sums),
            8 * dice.randrange(1, 13),
            ident=ident,
        )
    ]
    dice.shuffle(parts)
    report = check_raw(check, parts)
    assert verdicts(report) == {"good": 7, "bad": 7, "partial": 7}
    assert fates(report) == {"complete": 21}


@VERSIONS
def test_repeated_fragments_change_nothing(check: Check, ends: tuple[str, str]) -> None:
    parts = fragments(datagram(ends))
    first, *middle, last = parts
    report = check_raw(check, [*middle, *middle, last, last, first])
    assert (verdicts(report), fates(report)) == ({"good": 1}, {"complete": 1})


@VERSIONS
@pytest.mark.parametrize("protocol", [TCP, UDP])
def test_shortest_fragments(check: Check, ends: tuple[str, str], protocol: int) -> None:
    """Fragments of 8 bytes are reassembled."""
    parts = fragments(datagram(ends, protocol=protocol), 8)
    report = check_raw(check, parts)
    assert verdicts(report, "tcp" if protocol == TCP else "udp") == {"good": 1}


@VERSIONS
def test_padding_is_no_fragment(check: Check, ends: tuple[str, str]) -> None:
    parts = [ethernet(part) + b"padding" for part in fragments(datagram(ends, 100), 8)]
    _status, report = check(pcap(parts))
    assert verdicts(report) == {"good": 1}


def test_the_longest_datagram(check: Check) -> None:
    """The longest possible datagram is reassembled."""
    for ends, head in ((V4, 20), (V6, 0)):
        whole = network(*ends, UDP, b"")
        longest = 65535 - head
        body = packet(UDP, bytes(longest - 8), src=ends[0], dst=ends[1])[len(whole) :]
        parts = fragments(whole + body, 1400)
        report = check_raw(check, parts)
        assert (verdicts(report), fates(report)) == ({"good": 1}, {"complete": 1})


def test_an_atomic_fragment_is_whole(check: Check) -> None:
    ip = datagram(V6)
    atomic = fragment(ip, 0, len(ip))
    parts = fragments(ip)
    report = check_raw(check, [parts[0], atomic, *parts[1:]])
    assert (verdicts(report), fates(report)) == ({"good": 2}, {"complete": 1})


# --- Which datagram a fragment belongs to ---


@VERSIONS
def test_fragments_of_other_datagrams_are_separate(check: Check, ends: tuple[str, str]) -> None:
    first, *rest = fragments(datagram(ends), ident=1)
    others = {
        "identification": fragments(datagram(ends), ident=2)[1:],
        "source": fragments(datagram((ends[1], ends[1])), ident=1)[1:],
        "destination": fragments(datagram((ends[0], ends[0])), ident=1)[1:],
    }
    for name, parts in others.items():
        report = check_raw(check, [first, *parts])
        assert (verdicts(report), fates(report)) == (WAITING, {"missing": 2}), name
    assert verdicts(check_raw(check, [first, *rest])) == {"good": 1}


def test_protocol_separates_datagrams_over_ipv4_only(check: Check) -> None:
    for ends, fate in ((V4, {"missing": 2}), (V6, {"complete": 1})):
        first, *rest = fragments(datagram(ends))
        at = 40 if ends == V6 else 9
        rest = [part[:at] + b"\xfd" + part[at + 1 :] for part in rest]
        assert fates(check_raw(check, [first, *rest])) == fate


@VERSIONS
def test_vlans_and_interfaces_separate_datagrams(check: Check, ends: tuple[str, str]) -> None:
    """Fragments in different VLANs, or of different interfaces, belong to different datagrams. A
    mirror port, or `any`, may see each fragment twice."""
    parts = fragments(datagram(ends))
    twice = [ethernet(part, tags=[vlan]) for part in parts for vlan in (1, 2)]
    _status, report = check(pcap(twice))
    assert (verdicts(report), fates(report)) == ({"good": 2}, {"complete": 2})
    file = Pcapng().section().interface(link=RAW).interface(link=RAW)
    for part, interface in itertools.product(parts, (0, 1)):
        file.packet(part, interface=interface)
    _status, report = check(file.bytes())
    assert (verdicts(report), fates(report)) == ({"good": 2}, {"complete": 2})


@VERSIONS
def test_datagrams_in_fragments_inside_a_tunnel(check: Check, ends: tuple[str, str]) -> None:
    """Fragments inside a tunnel are reassembled."""
    kind = 41 if ends == V6 else 4
    parts = [network("192.0.2.1", "192.0.2.2", kind, part) for part in fragments(datagram(ends))]
    assert verdicts(check_raw(check, parts)) == {"good": 1}


@VERSIONS
@pytest.mark.parametrize("outer", [V4, V6], ids=["in-ipv4", "in-ipv6"])
@pytest.mark.parametrize("turn", [1, -1], ids=["forwards", "backwards"])
def test_fragments_of_fragments(
    check: Check, ends: tuple[str, str], outer: tuple[str, str], turn: int
) -> None:
    """Fragments of fragments are reassembled, outer ones first."""
    kind = 41 if ends == V6 else 4
    inner = fragments(datagram(ends, sums="bad"), 160)
    parts = [
        part
        for ident, packet_inside in enumerate(inner)
        for part in fragments(network(*outer, kind, packet_inside), 48, ident=ident)
    ]
    status, report = check(raw(parts[::turn]))
    assert status == BAD
    assert verdicts(report) == {"bad": 1}
    assert fates(report) == {"complete": len(inner) + 1}
    if ends == V4:  # the header of each inner packet, reported once
        outer_headers = len(parts) if outer == V4 else 0
        assert verdicts(report, "ip") == {"good": outer_headers + len(inner)}


@VERSIONS
@pytest.mark.parametrize("size", [8, 16, 24])
def test_a_header_in_a_tunnel_that_is_cut(check: Check, ends: tuple[str, str], size: int) -> None:
    """The first fragment may contain only a part of the inner header; the header's sum then waits
    for the rest. Over IPv6, this is lightweight 4over6."""
    inner = datagram(V4)
    outer = network(*ends, 4, inner)
    report = check_raw(check, fragments(outer, size))
    assert verdicts(report) == {"good": 1}
    outer_headers = len(fragments(outer, size)) if ends == V4 else 0
    assert verdicts(report, "ip")["good"] == outer_headers + 1
    assert report["reasons"] == {}
    wrong = fragments(network(*ends, 4, put16(inner, 10, 0x1234)), size)
    assert verdicts(check_raw(check, wrong), "ip")["bad"] == 1
    report = check_raw(check, fragments(outer, size)[:-1])
    assert report["reasons"].get("ip", {}) == ({"fragment": 1} if size < 20 else {})


@VERSIONS
def test_tunnels_separate_datagrams(check: Check, ends: tuple[str, str]) -> None:
    """Fragments in different tunnels belong to different datagrams, even if addresses and
    identifications are equal."""
    kind = 41 if ends == V6 else 4
    tunnels = [("192.0.2.1", "192.0.2.2"), ("192.0.2.1", "192.0.2.3")]
    parts = fragments(datagram(ends))
    both = [network(*tunnel, kind, part) for part in parts for tunnel in tunnels]
    report = check_raw(check, both)
    assert (verdicts(report), fates(report)) == ({"good": 2}, {"complete": 2})


@VERSIONS
def test_datagram_partly_in_fragments_of_a_tunnel(check: Check, ends: tuple[str, str]) -> None:
    """Fragments are part of one datagram whether or not the packet around them was reassembled."""
    kind = 41 if ends == V6 else 4
    first, *rest = [network(*V6, kind, part) for part in fragments(datagram(ends), 160)]
    frames = [ethernet(part, tags=[3]) for part in [*fragments(first, 64), *rest]]
    _status, report = check(pcap(frames))
    assert (verdicts(report), fates(report)) == ({"good": 1}, {"complete": 2})


# --- Incomplete datagrams ---


def test_first_fragment_may_contradict_itself(check: Check) -> None:
    """A packet that contradicts itself in the first fragment is counted once: the reassembled
    datagram adds nothing."""
    inner = put16(packet(UDP), 24, 999)
    report = check_raw(check, fragments(network(*V4, 4, inner + bytes(99))))
    assert verdicts(report) == {"unverifiable": 1}
    assert report["reasons"] == {"udp": {"malformed": 1}}


@VERSIONS
def test_missing_fragment(check: Check, ends: tuple[str, str]) -> None:
    """A datagram that lacks a fragment is not verified, and is counted as missing."""
    parts = fragments(datagram(ends))
    for without in range(len(parts)):
        report = check_raw(check, parts[:without] + parts[without + 1 :])
        assert verdicts(report) == (WAITING if without else {})
        assert fates(report) == {"missing": 1}


@VERSIONS
def test_a_datagram_has_60_seconds(check: Check, ends: tuple[str, str]) -> None:
    parts = fragments(datagram(ends))
    for seconds, expected in ((60, {"good": 1}), (61, WAITING), (-5, {"good": 1})):
        late = Record(parts[-1], seconds=1_700_000_000 + seconds)
        report = check_raw(check, [*(Record(part) for part in parts[:-1]), late])
        assert verdicts(report) == expected
    # A late fragment begins another datagram.
    again = [Record(part, seconds=1_700_000_100) for part in parts]
    report = check_raw(check, [Record(parts[0]), *again])
    assert (verdicts(report), fates(report)) == (
        {"good": 1, "unverifiable": 1},
        {"complete": 1, "missing": 1},
    )


def test_unknown_times_evict_no_datagram(check: Check) -> None:
    file = Pcapng().section().interface(link=RAW)
    for part in fragments(datagram()):
        file.simple_packet(part)
    assert verdicts(check(file.bytes())[1]) == {"good": 1}
    first, *rest = fragments(datagram())
    file = Pcapng().section().interface(link=RAW).simple_packet(first)
    for part in rest:
        file.packet(part, ticks=1_700_000_000_000_000)
    assert verdicts(check(file.bytes())[1]) == {"good": 1}


@VERSIONS
def test_overlap_with_other_bytes(check: Check, ends: tuple[str, str]) -> None:
    """A fragment that overlaps with different bytes makes its datagram unusable from then on."""
    ip = datagram(ends)
    parts = fragments(ip)
    forged = fragments(ip[:-1] + b"\xff")
    forged_middle = parts[1][:-1] + b"\xff"
    for order in (
        [parts[0], parts[1], forged_middle, *parts[2:]],
        [*parts[:-1], forged_middle, parts[-1]],
        [forged[-1], parts[-1], *parts],
        # All fragments arrive again: the datagram is still refused.
        [parts[0], parts[1], forged_middle, *parts, *parts],
    ):
        report = check_raw(check, order)
        assert "good" not in verdicts(report)
        assert "bad" not in verdicts(report)
        assert fates(report) == {"overlapping": 1}


@VERSIONS
def test_overlap_with_the_same_bytes(check: Check, ends: tuple[str, str]) -> None:
    """Over IPv6, every overlap is refused (RFC 5722), except for a repetition."""
    ip = datagram(ends, 184)
    first, second, third = fragments(ip)
    for name, overlapping in {
        "beyond its end": (first, second, fragment(ip, 120, 192)),
        "inside": (first, second, fragment(ip, 72, 120, more=True), third),
        "its beginning": (first, second, fragment(ip, 64, 120, more=True), third),
        "its end": (first, second, fragment(ip, 72, 128, more=True), third),
        "around": (second, fragment(ip, 0, 136, more=True), fragment(ip, 136, 192)),
        "longer": (first, fragment(ip, 0, 128, more=True), third),
        "two of them": (first, second, fragment(ip, 0, 128, more=True), third),
    }.items():
        report = check_raw(check, overlapping)
        assert fates(report) == ({"complete": 1} if ends == V4 else {"overlapping": 1}), name
        assert verdicts(report).get("good", 0) == (ends == V4), name


@VERSIONS
def test_two_ends(check: Check, ends: tuple[str, str]) -> None:
    ip = datagram(ends)
    parts = fragments(ip)
    shorter = fragment(ip, 64, 128, more=False)
    longer = fragment(datagram(ends, 400), 320, 328, more=True)
    for order in (
        [parts[-1], shorter, parts[0]],
        [shorter, *parts[1:]],
        [parts[2], shorter, parts[0]],
        [parts[-1], longer, parts[0]],
    ):
        assert fates(check_raw(check, order)) == {"overlapping": 1}


@VERSIONS
def test_the_ping_of_death(check: Check, ends: tuple[str, str]) -> None:
    """A fragment that ends beyond 65,535 bytes is malformed."""
    whole = datagram(ends, 1392)
    for start, fate in ((64000, "missing"), (64144, "malformed"), (65528, "malformed")):
        part = fragment(whole, 0, 1400, more=False)
        part = put16(part, 6, start >> 3) if ends == V4 else put16(part, 42, start)
        report = check_raw(check, [*fragments(whole), part])
        assert fates(report) in ({fate: 1}, {"complete": 1, fate: 1}), start


@pytest.mark.parametrize("wire", [0xFFFFFFFF, 0xFFFF0037, 1 << 31, 200_000])
@pytest.mark.parametrize("start", [1, 8, 65528])
def test_fragment_with_a_huge_wire_size(check: Check, wire: int, start: int) -> None:
    """A fragment that claims a huge size is malformed, even if the sum of this size and its offset
    overflows. An IPv6 packet with a payload length of 0 is as long as the record claims."""
    ip = packet(UDP, bytes(60_000), src=V6[0], dst=V6[1])
    part = put16(put16(fragment(ip, 0, 60_000), 4, 0), 42, start) + bytes(90_000)
    report = check_raw(check, [Record(part, wire=wire), *fragments(datagram(V6))])
    assert fates(report) == {"malformed": 1}


@VERSIONS
def test_too_long_with_the_options_of_the_first(check: Check, ends: tuple[str, str]) -> None:
    """Fragments that are too long together with the longer header of the first one are
    malformed."""
    longest = 65535 - 20 if ends == V4 else 65535
    whole = network(*ends, UDP, b"")
    body = packet(UDP, bytes(longest - 8), src=ends[0], dst=ends[1])[len(whole) :]
    parts = fragments(whole + body, 1400)
    head = parts[0]
    if ends == V4:
        head = put16(b"\x46" + head[1:20] + b"\1\1\1\0" + head[20:], 2, len(head) + 4)
    else:
        head = put16(head[:6] + b"\0" + head[7:40] + b"\x2c\0\1\4\0\0\0\0" + head[40:], 4, 1416)
    assert fates(check_raw(check, [head, *parts[1:]])) == {"malformed": 1}


@VERSIONS
def test_impossible_fragments_are_malformed(check: Check, ends: tuple[str, str]) -> None:
    ip = datagram(ends)
    for part in (fragment(ip, 64, 64, more=False), fragment(ip, 64, 100, more=True)):
        assert fates(check_raw(check, [part, *fragments(ip)])) == {"malformed": 1}


@VERSIONS
def test_fragments_cut_by_the_capture(check: Check, ends: tuple[str, str]) -> None:
    """A datagram of truncated fragments counts as complete, but its sum cannot be verified. What
    the captured bytes show is reported."""
    parts = fragments(datagram(ends))
    for cut in range(len(parts)):
        records = [
            Record(part[:-1], wire=len(part)) if at == cut else part
            for at, part in enumerate(parts)
        ]
        report = check_raw(check, records)
        assert (verdicts(report), report["reasons"]) == (WAITING, {"udp": {"snaplen": 1}})
        assert fates(report) == {"complete": 1}
    for cut in range(1, len(parts)):
        others = parts[:cut] + parts[cut + 1 :]
        again = [Record(parts[cut][:-9], wire=len(parts[cut])), parts[cut], *others]
        report = check_raw(check, again)
        assert (report["reasons"], fates(report)) == ({"udp": {"snaplen": 1}}, {"complete": 1})
    partly = datagram(ends, sums="none" if ends == V4 else "good")
    records = [Record(part[:60], wire=len(part)) for part in fragments(partly)]
    expected = {"absent": 1} if ends == V4 else WAITING
    assert verdicts(check_raw(check, records)) == expected


def test_quoted_fragment_is_not_reassembled(check: Check) -> None:
    first, *rest = fragments(datagram())
    error = struct.pack(">BBHL", 3, 1, 0, 0) + first
    quote = network("10.0.0.1", V4[0], 1, put16(error, 2, finish(error)))
    assert fates(check_raw(check, [quote, *rest])) == {"missing": 1}


# --- Reports ---


@VERSIONS
def test_bad_datagram_is_reported_with_its_last_frame(carry: Run, ends: tuple[str, str]) -> None:
    parts = fragments(datagram(ends, sums="bad"))
    records = [Record(part, seconds=1_700_000_000 + at) for at, part in enumerate(parts)]
    data = raw([records[1], records[0], *records[2:]])
    done = carry("check", "--bad-only", "--json", "-", stdin=data)
    assert done.returncode == BAD
    finding = conforming("check_bad_only", done.stdout)
    assert finding["frame"] == len(parts)
    assert finding["time"].startswith("2023-11-14T22:13:24")
    assert [finding["from"], finding["to"]] == list(ends)
    assert [finding["from_port"], finding["to_port"]] == [40000, 443]
    field = data[finding["offset"] : finding["offset"] + 2]
    assert int.from_bytes(field, "big") == finding["stored"]
    assert finding["expected"] ^ 0x1234 == finding["stored"]


def test_a_field_beyond_the_first_fragment_has_no_offset(carry: Run) -> None:
    data = raw(fragments(datagram(protocol=TCP, sums="bad"), 8))
    done = carry("check", "--bad-only", "--json", "-", stdin=data)
    assert conforming("check_bad_only", done.stdout)["offset"] is None
    done = carry("check", "--bad-only", "-", stdin=data)
    assert done.stdout.split()[4] == "-"
    done = carry("check", "--bad-only", "--tsv", "-", stdin=data)
    assert done.stdout.endswith("\t\ttrue\n")


def test_a_field_in_nested_fragments_has_no_offset(carry: Run) -> None:
    parts = [
        part
        for ident, inner in enumerate(fragments(datagram(sums="bad"), 160))
        for part in fragments(network(*V4, 4, network(*V4, 4, inner)), 8, ident=ident)
    ]
    done = carry("check", "--bad-only", "--json", "-", stdin=raw(parts))
    assert conforming("check_bad_only", done.stdout)["offset"] is None


def test_each_sum_is_reported_once(carry: Run, check: Check) -> None:
    """A verdict that needs only the first fragment is reported there, and not again."""
    parts = fragments(datagram(V6, sums="none"))
    done = carry("check", "--bad-only", "-", stdin=raw(parts))
    (line,) = done.stdout.splitlines()
    assert line.split()[:2] == ["1", "udp"]
    assert verdicts(check_raw(check, parts)) == {"illegal": 1}
    parts = fragments(datagram(V4, sums="none"))
    assert verdicts(check_raw(check, parts)) == {"absent": 1}


@VERSIONS
def test_without_reassembly(carry: Run, ends: tuple[str, str]) -> None:
    """--no-reassemble verifies no fragmented datagram; the last option counts."""
    data = raw(fragments(datagram(ends, sums="bad")))
    done = carry("check", "--json", "--no-reassemble", "-", stdin=data)
    report = conforming("check", done.stdout)
    assert done.returncode == CLEAN
    assert (verdicts(report), report["reasons"]) == (WAITING, {"udp": {"fragment": 1}})
    assert report["reassembly"] is None
    done = carry("check", "--json", "--no-reassemble", "--reassemble", "-", stdin=data)
    assert done.returncode == BAD


def test_the_summary_counts_datagrams(carry: Run) -> None:
    parts = [*fragments(datagram()), *fragments(datagram(), ident=7)[1:]]
    done = carry("check", "-", stdin=raw(parts))
    assert "datagrams: 1 reassembled, 1 with fragments missing" in done.stdout
    assert "datagrams" not in carry("check", "-", stdin=raw([datagram()])).stdout


def test_captures_do_not_share_datagrams(carry: Run, tmp_path: Path) -> None:
    parts = fragments(datagram())
    paths = [tmp_path / "1.pcap", tmp_path / "2.pcap"]
    for path, some in zip(paths, (parts[:2], parts[2:]), strict=True):
        path.write_bytes(raw(some))
    done = carry("check", "--json", *paths)
    reports = [json.loads(line) for line in done.stdout.splitlines()]
    assert [fates(report) for report in reports] == [{"missing": 1}, {"missing": 1}]


def test_only_some_protocols(carry: Run) -> None:
    """Datagrams of protocols that are not selected are not judged."""
    data = raw(fragments(datagram(sums="bad")) + fragments(datagram(protocol=TCP, sums="bad")))
    for names, status in (("udp", BAD), ("tcp", BAD), ("ip,icmp", CLEAN)):
        done = carry("check", "--json", "--proto", names, "-", stdin=data)
        report = conforming("check", done.stdout)
        assert done.returncode == status
        for name in ("udp", "tcp"):
            assert verdicts(report, name) == ({"bad": 1} if name == names else {})


def test_partial_option_applies_to_datagrams(carry: Run) -> None:
    data = raw(fragments(datagram(sums="partial")))
    for verdict, status, lines in (("ok", CLEAN, 0), ("report", CLEAN, 1), ("bad", BAD, 1)):
        done = carry("check", "-b", "--partial", verdict, "-", stdin=data)
        assert (done.returncode, done.stdout.count("\n")) == (status, lines)


def test_without_tunnels(carry: Run) -> None:
    """--no-tunnels reassembles outer datagrams, and judges nothing inside."""
    inside = network("192.0.2.1", "192.0.2.2", 4, datagram(sums="bad"))
    data = raw([*fragments(inside), *fragments(datagram(sums="bad"), ident=7)])
    for options, count in (([], 2), (["--no-tunnels"], 1)):
        report = json.loads(carry("check", "--json", *options, "-", stdin=data).stdout)
        assert verdicts(report) == {"bad": count}
        assert fates(report) == {"complete": 2}


def test_write_bad_takes_the_frame_that_completes(carry: Run, tmp_path: Path) -> None:
    parts, bad = fragments(datagram(sums="bad")), tmp_path / "bad.pcapng"
    assert carry("check", "-q", "-w", bad, "-", stdin=raw(parts)).returncode == BAD
    written = bad.read_bytes()
    assert [part in written for part in parts] == [False] * (len(parts) - 1) + [True]


@pytest.mark.parametrize("mode", ["--json", "--tsv", "--show=1000"])
@pytest.mark.parametrize("listing", ["--bad-only", "--partial=report"])
def test_report_does_not_depend_on_threads(
    carry: Run, tmp_path: Path, mode: str, listing: str
) -> None:
    """The output is the same for any number of threads, even if the fragments of a datagram are in
    several batches."""
    dice = random.Random(3)
    sums = ["good", "bad", "partial", "none"]
    kinds = [datagram(ends, 2000, sums=how) for ends in (V4, V6) for how in sums]
    parts = [
        part for ident in range(2000) for part in fragments(dice.choice(kinds), 480, ident=ident)
    ]
    for at in range(len(parts)):
        other = min(at + dice.randrange(1000), len(parts) - 1)
        parts[at], parts[other] = parts[other], parts[at]
    path = tmp_path / "many.pcap"
    path.write_bytes(raw(parts))
    (result,) = {carry("check", mode, listing, "-j", n, path).stdout for n in ("1", "2", "5")}
    assert result.count("\n") > 400 or listing != "--bad-only"
    if mode == "--json" and listing != "--bad-only":
        assert fates(json.loads(result)) == {"complete": 2000}


# --- Hostile captures ---


def flood(part: bytes, count: int) -> Iterator[bytes]:
    """Yields `count` records, in blocks; each record has a fragment of another datagram."""
    record = pcap([part], link=RAW)[24:]
    identification, source = (4, 12) if part[0] >> 4 == 4 else (46, 8)
    for batch in range(0, count, 5000):
        records = bytearray()
        for number in range(batch, min(batch + 5000, count)):
            body = bytearray(record)
            struct.pack_into(">H", body, 16 + identification, number & 0xFFFF)
            struct.pack_into(">H", body, 16 + source + 2, number >> 16)
            records += body
        yield bytes(records)


def part_at(ends: tuple[str, str], start: int) -> bytes:
    part = fragment(datagram(ends, 56), 0, 64, more=True)
    return put16(part, 6, 0x2000 | start >> 3) if ends == V4 else put16(part, 42, start | 1)


@VERSIONS
@pytest.mark.parametrize("start", [0, 64, 65408])
def test_a_flood_of_datagrams(check: Check, ends: tuple[str, str], start: int) -> None:
    """Datagrams beyond the limit are evicted and counted."""
    report = check_all(check, flood(part_at(ends, start), 20_000))
    assert sum(fates(report).values()) == report["packets"] == 20_000
    assert fates(report)["evicted"] >= 20_000 - 4096


def check_all(check: Check, records: Iterable[bytes]) -> dict[str, Any]:
    return check(raw([]) + b"".join(records))[1]


@pytest.mark.parametrize("start", [0, 65408])
def test_memory_does_not_grow_with_datagrams(tool: str, start: int) -> None:
    feed = [raw([]), *flood(part_at(V4, start), 1_000_000)]
    assert peak_kib([tool, "check", "-"], feed) < 24 * KIB


def test_memory_does_not_grow_with_large_datagrams(tool: str) -> None:
    ip = packet(UDP, bytes(60_000))
    feed = [raw([])]
    for ident in range(1000):
        feed.append(raw(fragments(ip, 1400, ident=ident)[:-1])[24:])
    assert peak_kib([tool, "check", "-"], feed) < 24 * KIB


def test_a_datagram_survives_a_small_flood(check: Check) -> None:
    first, *rest = fragments(datagram())
    for others, expected in ((1000, {"good": 1}), (5000, WAITING)):
        noise = [fragment(datagram(V6), 64, 128, ident=number) for number in range(others)]
        assert verdicts(check_raw(check, [first, *noise, *rest])) == expected


def test_datagram_that_waited_longest_is_evicted_first(check: Check) -> None:
    one, two = fragments(datagram(), ident=1), fragments(datagram(), ident=2)
    noise = [fragment(datagram(V6), 64, 128, ident=number) for number in range(4095)]
    # A fragment of the first datagram arrives in between, so that the second one waits longer.
    report = check_raw(check, [one[0], two[0], one[1], *noise, *one[2:], *two[1:]])
    assert verdicts(report) == {"good": 1, "unverifiable": 1}
    assert fates(report) == {"complete": 1, "evicted": 1, "missing": 4096}


def test_late_datagram_does_not_count_as_evicted(check: Check) -> None:
    noise = [
        Record(fragment(datagram(V6), 64, 128, ident=number), seconds=1_700_000_100)
        for number in range(4096)
    ]
    report = check_raw(check, [Record(fragments(datagram())[0]), *noise])
    assert fates(report) == {"missing": 4097}


def claiming(count: int, start: int = 0) -> Iterator[bytes]:
    """Yields records of 44 bytes, each a truncated fragment of another datagram that claims to be
    long."""
    part = fragment(network(*V4, UDP, bytes(65512)), 0, 65504)
    part = put16(part, 6, 0x2000 | start >> 3)
    record = pcap([Record(part[:44], wire=len(part))], link=RAW)[24:]
    for number in range(count):
        yield put16(put16(record, 16 + 4, number & 0xFFFF), 16 + 14, number >> 16)


def test_datagram_counts_by_its_captured_bytes(check: Check) -> None:
    """A datagram is reassembled while 4,000 others claim 64 KiB each: only captured bytes count."""
    first, *rest = (raw([part])[24:] for part in fragments(datagram(size=3000), 1400))
    report = check_all(check, [first, *claiming(4000), *rest])
    assert verdicts(report)["good"] == 1
    assert fates(report) == {"complete": 1, "missing": 4000}


def test_memory_depends_on_captured_bytes(tool: str) -> None:
    """Memory holds at most 4,096 datagrams of 44 bytes, about 2 MiB, whatever sizes they claim."""
    feed = [raw([]), *claiming(20_000), *claiming(20_000, 8)]
    without = peak_kib([tool, "check", "--no-reassemble", "-"], feed)
    assert peak_kib([tool, "check", "-"], feed) < without + 4 * KIB


def large(ident: int) -> list[bytes]:
    return fragments(packet(UDP, bytes(60_000)), 30_000, ident=ident)[:-1]


def test_datagrams_beyond_the_limit_of_bytes(carry: Run, check: Check) -> None:
    parts = [part for ident in range(300) for part in large(ident)]
    report = check_raw(check, parts)
    kept = (16 << 20) // 60_000
    assert fates(report).keys() == {"missing", "evicted_bytes"}
    assert kept - 5 <= fates(report)["missing"] <= kept
    done = carry("check", "-", stdin=raw(parts))
    said = f"{fates(report)['evicted_bytes']} given up: incomplete ones held more than 16 MiB"
    assert said in " ".join(done.stdout.split())


def test_datagrams_beyond_the_limit_of_number(carry: Run) -> None:
    done = carry("check", "-", stdin=raw([]) + b"".join(flood(part_at(V4, 64), 5000)))
    said = "904 given up: more than 4,096 were incomplete"
    assert said in " ".join(done.stdout.split())


def test_endless_repetitions_of_a_fragment(check: Check) -> None:
    """A datagram is evicted if a fragment is repeated too often, because repetitions are kept."""
    first, *rest = fragments(datagram())
    records = raw([first])[24:] * 300_000 + raw(rest)[24:]
    report = check(raw([]) + records)[1]
    assert fates(report) == {"evicted_bytes": 1}
