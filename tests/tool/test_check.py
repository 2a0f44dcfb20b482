# SPDX-License-Identifier: MIT
"""`carry check` as users run it: formats, damage, output, exit status."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from captures import (
    GOOD,
    ICMP,
    ICMPV6,
    IGMP,
    PARTIAL,
    TCP,
    UDP,
    UDPLITE,
    WRONG,
    Pcapng,
    Record,
    ethernet,
    option,
    packet,
    pcap,
    put16,
)
from carry_tool import (
    BAD,
    CLEAN,
    DAMAGED,
    ERROR,
    HANGS,
    MIB,
    SOURCE,
    Check,
    CheckAll,
    Run,
    fewer,
    in_terminal,
    peak_kib,
)
from schemas import conforming

pytestmark = pytest.mark.covers_capture

FATES = [
    *("complete", "missing", "overlapping", "malformed"),
    *("evicted", "evicted_bytes", "no_memory"),
]
VERDICTS = ["good", "bad", "partial", "absent", "illegal", "unverifiable"]

PACKET_LIMIT = 16 * MIB

BYTE_ORDERS = pytest.mark.parametrize("order", ["<", ">"], ids=["little", "big"])


def counts(report: dict[str, Any], protocol: str) -> dict[str, int]:
    """Returns the counts that are not 0."""
    return {name: n for name, n in report["protocols"].get(protocol, {}).items() if n}


# --- Formats ---


@BYTE_ORDERS
@pytest.mark.parametrize("magic", [0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34], ids=hex)
def test_pcap(check: Check, order: str, magic: int) -> None:
    """pcap files of each byte order and magic are read."""
    status, report = check(pcap([GOOD, WRONG, PARTIAL], order=order, magic=magic))
    assert status == BAD
    assert report["packets"] == 3
    assert report["bytes"] == len(GOOD + WRONG + PARTIAL)
    assert counts(report, "ip") == {"good": 3}
    assert counts(report, "tcp") == {"good": 1, "bad": 1, "partial": 1}


@BYTE_ORDERS
@pytest.mark.parametrize("version", [(2, 4), (2, 3), (2, 2), (2, 0), (543, 0)])
def test_pcap_versions(check: Check, order: str, version: tuple[int, int]) -> None:
    """The sizes in a record are read in the order of the file's version: old versions store the
    size on the wire before the captured size."""
    old = version not in ((2, 4), (2, 3))
    sizes = (len(WRONG), 50)[:: 1 if old else -1]
    header = struct.pack(order + "LHHlLLL", 0xA1B2C3D4, *version, 0, 0, 65535, 1)
    record = struct.pack(order + "LLLL", 1_700_000_000, 0, *sizes) + WRONG[:50]
    status, report = check(header + record * 2)
    assert (status, report["packets"], report["bytes"]) == (CLEAN, 2, 100)
    assert report["reasons"] == {"tcp": {"snaplen": 2}}


@BYTE_ORDERS
@pytest.mark.parametrize("version", [(2, 5), (1, 4), (3, 0), (543, 9), (0, 0), (4, 2)])
def test_unknown_pcap_versions_are_damage(
    check: Check, order: str, version: tuple[int, int]
) -> None:
    header = struct.pack(order + "LHHlLLL", 0xA1B2C3D4, *version, 0, 0, 65535, 1)
    status, report = check(header + pcap([GOOD], order=order)[24:])
    assert (status, report["packets"]) == (DAMAGED, 0)
    name = ".".join(map(str, version))
    assert report["damage"] == {
        "offset": 0,
        "reason": f"unknown pcap version {name}",
    }


@BYTE_ORDERS
def test_pcapng_packet_blocks(check: Check, order: str) -> None:
    """Each kind of packet block of pcapng is read."""
    file = Pcapng(order).section().interface()
    file.packet(GOOD).old_packet(WRONG).simple_packet(GOOD)
    status, report = check(file.bytes())
    assert (status, report["packets"]) == (BAD, 3)
    assert counts(report, "tcp") == {"good": 2, "bad": 1}


def test_pcapng_interfaces_have_their_own_link_types(check: Check) -> None:
    raw = packet(TCP)
    file = Pcapng().section().interface(link=1).interface(link=101).interface(link=65000)
    file.packet(GOOD, interface=0).packet(raw, interface=1).packet(raw, interface=2)
    status, report = check(file.bytes())
    assert status == CLEAN
    assert counts(report, "tcp") == {"good": 2}
    assert report["unknown_links"] == {"65000": 1}


def test_pcapng_sections_have_their_own_byte_order_and_interfaces(check: Check) -> None:
    little = Pcapng("<").section().interface(link=101).packet(packet(TCP))
    big = Pcapng(">").section().interface(link=1).packet(GOOD)
    status, report = check(little.bytes() + big.bytes() + little.bytes())
    assert (status, report["packets"]) == (CLEAN, 3)
    assert counts(report, "tcp") == {"good": 3}
    status, report = check(little.bytes() + Pcapng(">").section().packet(GOOD).bytes())
    assert (status, report["packets"]) == (DAMAGED, 1)
    assert "interface 0, but 0 are described" in report["damage"]["reason"]


@BYTE_ORDERS
def test_pcapng_skips_other_blocks_of_any_size(check: Check, order: str) -> None:
    file = Pcapng(order).section().block(4, bytes(8)).interface().block(0xBAD, b"")
    file.packet(GOOD).block(0x0BAD0BAD, bytes(20 * MIB)).packet(GOOD).block(5, bytes(4))
    status, report = check(file.bytes())
    assert (status, report["packets"], report["damage"]) == (CLEAN, 2, None)


def test_pcapng_options_are_not_trusted(check: Check) -> None:
    nonsense = struct.pack("<HH", 9, 60000) + b"\x06\0\0\0"
    for options in (nonsense, b"\x09", option("<", 9, b""), option("<", 9, b"\x7f"), b"\xff" * 8):
        options += bytes(-len(options) % 4)
        data = Pcapng().section(options).interface(options=options).packet(GOOD).bytes()
        status, report = check(data)
        assert (status, report["packets"]) == (CLEAN, 1)


def test_simple_packets_are_cut_by_the_snap_length(check: Check) -> None:
    file = Pcapng().section().interface(snaplen=40).simple_packet(GOOD[:40], wire=len(GOOD))
    status, report = check(file.bytes())
    assert (status, report["bytes"]) == (CLEAN, 40)
    assert report["reasons"] == {"tcp": {"snaplen": 1}}


@BYTE_ORDERS
def test_frame_check_sequence_lies_outside_the_packet(check: Check, order: str) -> None:
    """With 4 bytes of FCS, an IP length that includes any of them exceeds the packet."""
    ip = packet(TCP, b"12345678901234")
    frame = ethernet(ip)
    assert len(frame) == 14 + len(ip)
    linked = 1 | 1 << 26 | 2 << 28
    options = option(order, 13, b"\x04")
    bits = option(order, 13, b"\x20")
    for data in (
        pcap([frame], order=order, link=linked),
        Pcapng(order).section().interface(options=options).packet(frame).bytes(),
        Pcapng(order).section().interface(options=bits).packet(frame).bytes(),
    ):
        _status, report = check(data)
        assert report["reasons"] == {"tcp": {"length": 1}}
        assert report["bytes"] == len(frame)
    for data in (
        pcap([frame + b"FCS!"], order=order, link=linked),
        Pcapng(order).section().interface(options=options).packet(frame + b"FCS!").bytes(),
        Pcapng(order).section().interface(options=bits).packet(frame + b"FCS!").bytes(),
    ):
        assert counts(check(data)[1], "tcp") == {"good": 1}


def test_packet_larger_than_its_wire_is_complete(check: Check) -> None:
    file = pcap([Record(GOOD, wire=3)])
    assert counts(check(file)[1], "tcp") == {"good": 1}


def test_an_option_without_its_value_is_ignored(check: Check) -> None:
    """An option without a value is ignored: the length of the block, which follows the option, is
    not read as the length of the FCS."""
    frame = ethernet(packet(TCP, b"12345678901234"))
    file = Pcapng().section().interface(options=struct.pack("<HH", 13, 1)).packet(frame)
    assert counts(check(file.bytes())[1], "tcp") == {"good": 1}


@pytest.mark.parametrize(
    ("protocol", "number"),
    [("tcp", TCP), ("udp", UDP), ("udplite", UDPLITE), ("icmp", ICMP), ("igmp", IGMP)],
)
def test_protocols(check: Check, protocol: str, number: int) -> None:
    """Good and bad sums of each protocol are counted."""
    frames = [ethernet(packet(number, b"odd", sums=sums)) for sums in ("good", "bad")]
    status, report = check(pcap(frames))
    assert status == BAD
    assert counts(report, protocol) == {"good": 1, "bad": 1}


def test_protocols_over_ipv6(check: Check) -> None:
    """Sums over IPv6 are verified. UDP over IPv6 without a sum is illegal."""
    ends = {"src": "2001:db8::1", "dst": "2001:db8::2"}
    frames = [ethernet(packet(number, b"odd", **ends)) for number in (TCP, UDP, ICMPV6)]
    frames.append(ethernet(packet(UDP, sums="none", **ends)))
    status, report = check(pcap(frames))
    assert status == BAD
    assert counts(report, "udp") == {"good": 1, "illegal": 1}
    assert counts(report, "tcp") == counts(report, "icmpv6") == {"good": 1}
    assert "ip" not in report["protocols"]


def test_jumbo_frames(check: Check) -> None:
    """Packets of 60 kB are verified."""
    frame = ethernet(packet(TCP, os.urandom(60000)))
    status, report = check(pcap([frame] * 40))
    assert (status, report["bytes"]) == (CLEAN, 40 * len(frame))
    assert counts(report, "tcp") == {"good": 40}


# --- Time ---


def finding(carry: Run, data: bytes) -> dict[str, Any]:
    done = carry("check", "--bad-only", "--json", "-", stdin=data)
    (line,) = done.stdout.splitlines()
    return conforming("check_bad_only", line)


@BYTE_ORDERS
def test_pcap_times(carry: Run, order: str) -> None:
    record = Record(WRONG, seconds=1_700_000_000, fraction=123_456)
    micro = finding(carry, pcap([record], order=order))
    nano = finding(carry, pcap([record], order=order, magic=0xA1B23C4D))
    assert micro["time"] == "2023-11-14T22:13:20.123456000Z"
    assert nano["time"] == "2023-11-14T22:13:20.000123456Z"


@BYTE_ORDERS
@pytest.mark.parametrize(
    ("resolution", "ticks"),
    [
        (None, 1_700_000_000_123_456),
        (6, 1_700_000_000_123_456),
        (9, 1_700_000_000_123_456_000),
        (0x80 | 20, (1_700_000_000 << 20) + 129453),
    ],
)
def test_pcapng_times(carry: Run, order: str, resolution: int | None, ticks: int) -> None:
    options = b"" if resolution is None else option(order, 9, bytes([resolution]))
    file = Pcapng(order).section().interface(options=options).packet(WRONG, ticks=ticks)
    assert finding(carry, file.bytes())["time"].startswith("2023-11-14T22:13:20.123456")


def test_pcapng_times_below_a_nanosecond_are_rounded_down(carry: Run) -> None:
    for resolution, ticks in ((12, 259_080_950_999), (18, 259_080_950_999_999_999)):
        file = Pcapng().section().interface(options=option("<", 9, bytes([resolution])))
        found = finding(carry, file.packet(WRONG, ticks=ticks).bytes())
        assert found["time"].startswith("1970-01-01T00:00:00.259080950Z")


def test_pcapng_resolutions_at_their_limits(carry: Run) -> None:
    """Resolutions are supported as far as 64 bits suffice; finer ones are read as microseconds."""
    quarters = ((18, 25 * 10**16), (0x80 | 60, 1 << 58))
    for resolution, ticks in quarters:
        file = Pcapng().section().interface(options=option("<", 9, bytes([resolution])))
        found = finding(carry, file.packet(WRONG, ticks=ticks).bytes())
        assert found["time"] == "1970-01-01T00:00:00.250000000Z"
    for resolution in (19, 0x7F, 0x80 | 61, 0xFF):
        file = Pcapng().section().interface(options=option("<", 9, bytes([resolution])))
        found = finding(carry, file.packet(WRONG, ticks=250_000).bytes())
        assert found["time"] == "1970-01-01T00:00:00.250000000Z"


def test_unknown_time_is_null(carry: Run) -> None:
    file = Pcapng().section().interface().simple_packet(WRONG)
    assert finding(carry, file.bytes())["time"] is None


@BYTE_ORDERS
@pytest.mark.parametrize(
    ("start", "resolution", "ticks", "time"),
    [
        (0, 6, 18_446_744_072_999_999, "2554-07-21T23:34:32.999999000Z"),
        (0, 6, 18_446_744_074_000_000, None),
        (0, 6, 2**64 - 1, None),
        (0, 0, 18_446_744_072, "2554-07-21T23:34:32.000000000Z"),
        (0, 0, 2**64 - 1, None),
        (-5, 6, 4_000_000, None),
        (-5, 6, 6_000_000, "1970-01-01T00:00:01.000000000Z"),
        (2**62, 6, 0, None),
    ],
)
def test_pcapng_times_out_of_range_are_unknown(
    carry: Run, order: str, start: int, resolution: int, ticks: int, time: str | None
) -> None:
    """Times before 1970, and after 2554, when 64 bits of nanoseconds end, are unknown and never
    wrap."""
    options = option(order, 9, bytes([resolution])) + option(
        order, 14, struct.pack(order + "q", start)
    )
    file = Pcapng(order).section().interface(options=options).packet(WRONG, ticks=ticks)
    assert finding(carry, file.bytes())["time"] == time


@BYTE_ORDERS
def test_pcapng_time_start(carry: Run, order: str) -> None:
    options = option(order, 14, struct.pack(order + "q", 1_700_000_000))
    file = Pcapng(order).section().interface(options=options).packet(WRONG, ticks=5)
    assert finding(carry, file.bytes())["time"] == "2023-11-14T22:13:20.000005000Z"


# --- Damage ---


def cut_files() -> dict[str, list[bytes]]:
    """Returns captures in pieces: a truncated file is valid only if it ends where a piece ends."""
    files = {}
    for kind, magic in (("pcap", 0xA1B2C3D4), ("modified", 0xA1B2CD34)):
        header, record = pcap([], magic=magic), pcap([WRONG], magic=magic)[24:]
        files[kind] = [header, record, record]
    for order in "<>":
        file = Pcapng(order).section().interface().packet(WRONG).block(5, b"")
        files["pcapng" + order] = file.simple_packet(WRONG).old_packet(WRONG).parts
    return files


@pytest.mark.parametrize("kind", cut_files())
def test_cut_anywhere(check: Check, check_all: CheckAll, kind: str) -> None:
    """Every size of the file is checked; a pipe reports the same for some of these sizes."""
    pieces = cut_files()[kind]
    data, ends = b"".join(pieces), [0, *accumulate(map(len, pieces))]
    whole = check(data)[1]["packets"]
    seen = 0
    found = check_all(data[:size] for size in range(len(data)))
    for size, (status, report) in enumerate(found):
        assert seen <= report["packets"] < whole
        seen = report["packets"]
        if size and size in ends:
            assert (status, report["damage"]) == (BAD if seen else CLEAN, None), size
        else:
            assert status == DAMAGED, size
            assert report["damage"]["offset"] == max(end for end in ends if end <= size)
        assert report["protocols"] == (
            {} if not seen else {"ip": tally(good=seen), "tcp": tally(bad=seen)}
        )
    assert seen == whole - 1
    for size in range(0, len(data), 13):
        status, report = check(data[:size])
        assert (status, {**report, "file": None}) == (
            found[size][0],
            {**found[size][1], "file": None},
        )


CAPTURES = {
    "pcap": pcap([WRONG, GOOD]),
    "big": pcap([WRONG, GOOD], order=">"),
    "nanoseconds": pcap([WRONG, GOOD], magic=0xA1B23C4D),
    "big modified": pcap([WRONG, GOOD], magic=0xA1B2CD34, order=">"),
    "no packets": pcap([]),
    "pcapng": Pcapng().section().interface().packet(WRONG).packet(GOOD).bytes(),
    "big pcapng": Pcapng(">").section().interface().packet(WRONG).packet(GOOD).bytes(),
}


@pytest.mark.parametrize("first", CAPTURES)
@pytest.mark.parametrize("second", CAPTURES)
def test_second_capture_in_a_file_is_reported(check: Check, first: str, second: str) -> None:
    """A second capture in a file, as `cat a.pcap b.pcap` writes it, is damage. Only sections of
    pcapng may follow one another."""
    status, report = check(CAPTURES[first] + CAPTURES[second])
    packets = 0 if first == "no packets" else 2
    if "pcapng" in first and "pcapng" in second:
        assert (status, report["packets"], report["damage"]) == (BAD, 4, None)
        return
    assert (status, report["packets"]) == (DAMAGED, packets)
    assert report["damage"] == {
        "offset": len(CAPTURES[first]),
        "reason": "a second capture starts here: split the file",
    }


def test_empty_packets_are_no_second_capture(check: Check) -> None:
    for seconds in (0xA1B2C3D4, 0xD4C3B2A1, 0x0A0D0D0A):
        data = pcap([Record(b"", wire=60, seconds=seconds, fraction=1), GOOD])
        status, report = check(data)
        assert (status, report["packets"]) == (CLEAN, 2)


def ng() -> Pcapng:
    return Pcapng().section().interface().packet(GOOD)


AFTER_NG = len(ng().bytes())
EPB = struct.Struct("<LLLLL")

DAMAGE = {
    "empty": (b"", 0, 0, "empty file"),
    "garbage": (b"garbage!", 0, 0, "not a capture: it starts with 67 61 72 62"),
    "short": (b"\xd4\xc3", 0, 0, "file header cut: 2 of 4 bytes"),
    "xz": (b"\xfd7zXZ\0", 0, 0, "cut xz stream"),
    "header": (pcap([])[:23], 0, 0, "file header cut: 23 of 24 bytes"),
    "record header": (
        pcap([GOOD]) + b"12345",
        1,
        40 + len(GOOD),
        "record header cut: 5 of 16 bytes",
    ),
    "record": (pcap([GOOD])[:-1], 0, 24, f"record cut: {15 + len(GOOD)} of {16 + len(GOOD)} bytes"),
    "huge record": (
        pcap([GOOD]) + struct.pack("<LLLL", 0, 0, 2**32 - 1, 60),
        1,
        40 + len(GOOD),
        "record claims 4294967295 bytes, above the limit of 16777216",
    ),
    "block": (ng().bytes()[:-1], 0, 48, f"block cut: {AFTER_NG - 49} of {AFTER_NG - 48} bytes"),
    "block header": (ng().bytes() + b"12345", 1, AFTER_NG, "block header cut: 5 of 12 bytes"),
    "odd block": (
        ng().bytes() + struct.pack("<LLL", 5, 13, 13),
        1,
        AFTER_NG,
        "block of type 0x00000005 cannot have 13 bytes",
    ),
    "small block": (
        ng().bytes() + struct.pack("<LLL", 5, 8, 8),
        1,
        AFTER_NG,
        "block of type 0x00000005 cannot have 8 bytes",
    ),
    "small packet block": (
        ng().block(6, bytes(16)).bytes(),
        1,
        AFTER_NG,
        "block of type 0x00000006 cannot have 28 bytes",
    ),
    "huge block": (
        ng().bytes() + struct.pack("<LLL", 6, PACKET_LIMIT + 4, 0),
        1,
        AFTER_NG,
        "block claims 16777220 bytes, above the limit of 16777216",
    ),
    "lengths differ": (
        ng().bytes() + struct.pack("<LLL", 5, 12, 16),
        1,
        AFTER_NG,
        "block of 12 bytes says 16 at its end",
    ),
    "packet lengths differ": (
        ng().bytes()[:-4] + struct.pack("<L", 16),
        0,
        48,
        f"block of {AFTER_NG - 48} bytes says 16 at its end",
    ),
    "packet beyond block": (
        ng().packet(GOOD, captured=len(GOOD) + 3).bytes(),
        1,
        AFTER_NG,
        f"packet of {len(GOOD) + 3} bytes in a block of {AFTER_NG - 48}",
    ),
    "no such interface": (
        ng().packet(GOOD, interface=1).bytes(),
        1,
        AFTER_NG,
        "packet of interface 1, but 1 are described",
    ),
    "simple packet without interface": (
        Pcapng().section().simple_packet(GOOD).bytes(),
        0,
        28,
        "packet of interface 0, but 0 are described",
    ),
    "byte order": (
        struct.pack("<LLL", 0x0A0D0D0A, 28, 0x01020304) + bytes(16),
        0,
        0,
        "section of unknown byte order: 04 03 02 01",
    ),
    "interfaces": (
        Pcapng().section().bytes() + Pcapng().interface().bytes() * 65537,
        0,
        28 + 20 * 65536,
        "more than 65536 interfaces",
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage(carry: Run, check: Check, kind: str) -> None:
    """JSON, text and lists show where damage is, and why."""
    data, packets, offset, reason = DAMAGE[kind]
    status, report = check(data)
    assert status == DAMAGED
    assert report["packets"] == packets
    assert report["damage"] == {"offset": offset, "reason": reason}
    text = carry("check", "-", stdin=data)
    assert text.returncode == DAMAGED
    assert f"damaged at offset {offset:,}: {reason}\n" in text.stdout
    listed = carry("check", "--bad-only", "-", stdin=data)
    assert (listed.returncode, listed.stdout) == (DAMAGED, "")
    assert listed.stderr == f"carry: standard input: damaged at offset {offset:,}: {reason}\n"


def test_largest_packet(check: Check) -> None:
    """Packets of 16 MiB are read, and larger ones are damage."""
    status, report = check(pcap([bytes(PACKET_LIMIT), GOOD]))
    assert (status, report["packets"], report["bytes"]) == (CLEAN, 2, PACKET_LIMIT + len(GOOD))
    status, report = check(pcap([bytes(PACKET_LIMIT + 1), GOOD]))
    assert (status, report["packets"]) == (DAMAGED, 0)


@pytest.mark.parametrize("kind", ["pcap", "pcapng<"])
def test_any_byte_changed(carry: Run, check_all: CheckAll, kind: str) -> None:
    """No change of one byte crashes or hangs the tool."""
    data = b"".join(cut_files()[kind])
    all_changed = [
        data[:at] + bytes([value]) + data[at + 1 :]
        for at in range(len(data))
        for value in (0xFF, data[at] ^ 0x80)
    ]
    assert {status for status, _ in check_all(all_changed)} <= {CLEAN, BAD, DAMAGED}
    for changed in fewer(all_changed, 50):
        assert carry("check", "-q", "-", stdin=changed).returncode in (CLEAN, BAD, DAMAGED)


# --- JSON ---


def tally(**given: int) -> dict[str, int]:
    return {name: given.get(name, 0) for name in VERDICTS}


def test_json_shape(carry: Run, tmp_path: Path) -> None:
    """The JSON object has exactly the expected members and values."""
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([GOOD, PARTIAL, Record(GOOD[:50], wire=len(GOOD))]) + b"x")
    done = carry("check", "--json", path)
    assert done.stdout.count("\n") == 1
    size = 2 * len(GOOD) + 50
    expected = {
        "schema": 1,
        "file": str(path),
        "packets": 3,
        "bytes": size,
        "protocols": {
            "ip": tally(good=3),
            "tcp": tally(good=1, partial=1, unverifiable=1),
        },
        "damage": {
            "offset": 24 + 3 * 16 + size,
            "reason": "record header cut: 1 of 16 bytes",
        },
        "reasons": {"tcp": {"snaplen": 1}},
        "unknown_links": {},
        "reassembly": dict.fromkeys(FATES, 0),
        "causes": {"tcp": {"offload": 1}},
        "outcome": "clean",
        "without": 0,
        "too_deep": 0,
        "senders": {
            "tcp": {
                "partial": [
                    {
                        "address": "10.0.0.5",
                        "mac": "02:00:00:00:00:01",
                        "vlans": [],
                        "at_least": 1,
                        "at_most": 1,
                    }
                ]
            }
        },
        "unselected": 0,
        "certain": {"tcp": 0},
        "left_without": 0,
        "all_zero": False,
        "raw_ip": 0,
    }
    assert json.loads(done.stdout) == expected
    assert list(json.loads(done.stdout)) == list(expected)
    assert list(json.loads(done.stdout)["protocols"]["tcp"]) == VERDICTS


def test_json_is_one_object_a_file(carry: Run, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("a", "b", "c")]
    for path in paths:
        path.write_bytes(pcap([GOOD]))
    done = carry("check", "--json", *paths)
    assert [json.loads(line)["file"] for line in done.stdout.splitlines()] == list(map(str, paths))


def test_json_of_files_that_cannot_be_opened(carry: Run, tmp_path: Path) -> None:
    reasons = {
        tmp_path: "no captures in this folder",
        tmp_path / "none": "No such file or directory",
    }
    done = carry("check", "--json", *reasons)
    assert done.returncode == ERROR
    assert done.stderr == "".join(f"carry: {path}: {why}\n" for path, why in reasons.items())
    for line, (path, reason) in zip(done.stdout.splitlines(), reasons.items(), strict=True):
        report = json.loads(line)
        assert (report["file"], report["packets"]) == (str(path), 0)
        assert report["damage"] == {"offset": 0, "reason": reason}
    assert carry("check", "--json", "--quiet", *reasons).stdout == ""
    assert carry("check", "--json", "--bad-only", *reasons).stdout == ""


def test_json_of_any_file_name(tool: str, tmp_path: Path) -> None:
    """Names in JSON are valid UTF-8, whatever bytes a name has."""
    names = {
        b'caf\xc3\xa9 "quoted"\n': 'caf\u00e9 "quoted"\n',
        b"\xff.pcap": "\ufffd.pcap",
        b"\xed\xa0\x80": "\ufffd\ufffd\ufffd",
        b"cut\xe2\x82": "cut\ufffd\ufffd",
        b"\xf0\x9f\x98\x80": "\U0001f600",
        b"\xc0\xaf": "\ufffd\ufffd",
        b"\xf5\x80\x80\x80": "\ufffd" * 4,
    }
    for name, shown in names.items():
        path = os.path.join(os.fsencode(tmp_path), name)
        Path(os.fsdecode(path)).write_bytes(pcap([GOOD]))
        done = subprocess.run([tool, "check", "--json", path], capture_output=True)
        assert json.loads(done.stdout.decode())["file"] == f"{tmp_path}/{shown}"


def test_unknown_links_beyond_those_named(check: Check) -> None:
    file = Pcapng().section()
    for link in range(60000, 60020):
        file.interface(link=link)
    for number in range(20):
        for _ in range(number + 1):
            file.packet(b"?", interface=number)
    links = check(file.bytes())[1]["unknown_links"]
    assert links == {**{str(60000 + n): n + 1 for n in range(16)}, "others": 17 + 18 + 19 + 20}


# --- Text ---


def test_summary(carry: Run, tmp_path: Path) -> None:
    """The summary lists counts, causes and senders of each verdict."""
    wrong = ethernet(packet(TCP, sums="bad", src="10.0.0.7"))
    missing = ethernet(packet(UDP, sums="none", src="2001:db8::1", dst="2001:db8::2"))
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([GOOD] * 1234 + [PARTIAL] * 3 + [WRONG] + [wrong] * 11 + [missing]))
    done = carry("check", path, env={**os.environ, "LC_ALL": "C"})
    assert done.returncode == BAD
    text = re.sub(r"\n +", " ", done.stdout)
    assert re.search(r"ip +1,249( +-){5} ", text)
    assert re.search(r"tcp +1,234 +12 +3( +-){3} ", text)
    assert "tcp: 12 bad, 11 from 10.0.0.7, 1 from 10.0.0.5 " in text
    assert "tcp: 3 partial, all sent by 10.0.0.5; transmit offload" in text
    assert "udp: 1 illegal, sent by 2001:db8::1; no checksum" in text
    assert "10.0.0.5:40000 -> 10.0.0.9:443" in text
    assert done.stdout.endswith("\n\n12 bad and 1 illegal checksums\n")
    assert max(map(len, done.stdout.splitlines()[1:])) <= 80  # the first line names the file


def test_first_bad_packets(carry: Run, tmp_path: Path) -> None:
    """The summary shows five bad packets, or as many as --show asks for."""
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([GOOD] + [WRONG] * 9))
    stored = struct.unpack_from(">H", WRONG, 14 + 20 + 16)[0]
    row = f"0x{stored:04x}  0x{stored ^ 0x1234:04x}"
    assert carry("check", path).stdout.count(row) == 5
    assert carry("check", "-n", "0", path).stdout.count(row) == 0
    assert carry("check", "--show=100", path).stdout.count(row) == 9
    assert "  and 4 more: --bad-only lists them all\n" in carry("check", path).stdout
    assert " more" not in carry("check", "-n", "9", path).stdout
    (first, *_) = [line for line in carry("check", path).stdout.splitlines() if row in line]
    offset = 24 + 16 + len(GOOD) + 16 + 14 + 20 + 16
    assert first.split()[:5] == [
        "2",
        "tcp",
        f"0x{stored:04x}",
        f"0x{stored ^ 0x1234:04x}",
        str(offset),
    ]


def test_empty_fields_are_named(carry: Run) -> None:
    blank = put16(WRONG, 14 + 20 + 16, 0)
    text = carry("check", "-", stdin=pcap([blank] * 2 + [WRONG])).stdout
    assert "tcp: 3 bad, all sent by 10.0.0.5; 2 of them hold 0: never filled in" in text


def test_many_senders_are_not_overstated(carry: Run) -> None:
    """The table of senders is bounded; beyond its size, only lower bounds are reported, and they
    are true."""
    often = [ethernet(packet(TCP, sums="bad", src="10.9.9.9"))]
    hosts = [f"10.1.{n // 200}.{n % 200 + 1}" for n in range(400)]
    others = [ethernet(packet(TCP, sums="bad", src=host)) for host in hosts]
    frames = others[:300] + often * 600 + others[300:]
    text = re.sub(r"\n +", " ", carry("check", "-", stdin=pcap(frames)).stdout)
    assert "tcp: 1,000 bad, at least 600 from 10.9.9.9, the rest from many" in text
    text = re.sub(r"\n +", " ", carry("check", "-", stdin=pcap(others)).stdout)
    assert "tcp: 400 bad, from more than 64 senders" in text


def test_unknown_link_types_are_named(carry: Run) -> None:
    done = carry("check", "-", stdin=pcap([GOOD] * 3, link=195))
    assert done.returncode == CLEAN
    assert "not examined: 3 packets of link type 195 (IEEE 802.15.4)" in done.stdout
    assert done.stdout.endswith("\nnothing was checked: no packet has a known link type\n")


def test_header_without_packets_is_clean(carry: Run) -> None:
    for data in (pcap([]), Pcapng().section().bytes()):
        done = carry("check", "-", stdin=data)
        assert done.returncode == CLEAN
        assert done.stdout == (
            "standard input: 0 packets, 0 bytes\n\nnothing was checked: no packets\n"
        )


def test_one_byte_is_no_plural(carry: Run) -> None:
    done = carry("check", "-", stdin=pcap([b"E"]))
    assert done.stdout.startswith("standard input: 1 packet, 1 byte\n")


def test_total_of_several_files(carry: Run, tmp_path: Path) -> None:
    """The report on several files ends with a total; the exit status is the most severe one."""
    for name, data in (("a", pcap([GOOD])), ("b", pcap([WRONG])), ("c", b"")):
        (tmp_path / name).write_bytes(data)
    done = carry("check", *[tmp_path / name for name in "abcd"])
    assert done.returncode == ERROR
    assert done.stdout.endswith(
        "\n4 captures, 2 packets: 1 bad checksum; 1 damaged; 1 could not be read\n"
        f"not clean: {tmp_path}/b, {tmp_path}/c, {tmp_path}/d\n"
    )
    assert [carry("check", "-q", tmp_path / name).returncode for name in "abcd"] == [0, 1, 2, 3]
    assert carry("check", "-q", tmp_path / "c", tmp_path / "b").returncode == DAMAGED


def test_names_have_no_control_characters(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "\x1b[31mred\r.pcap"
    path.write_bytes(pcap([GOOD]))
    assert carry("check", path).stdout.startswith(f"{tmp_path}/?[31mred?.pcap: 1 packet,")
    assert "\x1b" not in carry("check", f"{path}.missing").stderr
    path = tmp_path / "\u009b31mred caf\u00e9.pcap"
    path.write_bytes(pcap([GOOD]))
    assert carry("check", path).stdout.startswith(f"{tmp_path}/?31mred caf\u00e9.pcap: 1 packet,")


# --- --bad-only ---


def test_bad_only(carry: Run, tmp_path: Path) -> None:
    """--bad-only prints a line for each bad checksum. If there are several files, the line names
    the file."""
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([GOOD, PARTIAL, WRONG, WRONG]))
    done = carry("check", "--bad-only", path, env={**os.environ, "LC_ALL": "C"})
    assert done.returncode == BAD
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["3", "4"]
    assert all(line.endswith("10.0.0.5:40000 -> 10.0.0.9:443  -") for line in lines)
    done = carry("check", "--bad-only", path, path)
    assert [line.split(": ")[0] for line in done.stdout.splitlines()] == [str(path)] * 4


def test_bad_only_json(carry: Run) -> None:
    """--bad-only --json prints exactly the expected object."""
    found = finding(carry, pcap([GOOD, WRONG]))
    stored = struct.unpack_from(">H", WRONG, 14 + 20 + 16)[0]
    assert found == {
        "schema": 1,
        "file": "-",
        "frame": 2,
        "time": "2023-11-14T22:13:20.000000000Z",
        "protocol": "tcp",
        "verdict": "bad",
        "from": "10.0.0.5",
        "from_port": 40000,
        "to": "10.0.0.9",
        "to_port": 443,
        "stored": stored,
        "expected": stored ^ 0x1234,
        "offset": 24 + 16 + len(GOOD) + 16 + 14 + 20 + 16,
        "cause": None,
        "certain": None,
        "bit": None,
        "early": True,
    }


def test_bad_only_streams_from_a_pipe(tool: str) -> None:
    """A bad packet is printed while the pipe is still open."""
    with subprocess.Popen(
        [tool, "check", "--bad-only", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        child.stdin.write(pcap([WRONG]))
        child.stdin.flush()
        assert select.select([child.stdout], [], [], 10)[0], "no line while the pipe is open"
        assert b"10.0.0.5:40000" in child.stdout.readline()
        child.stdin.close()
        assert child.wait(HANGS) == BAD


# --- Files that cannot be read, and outputs that fail ---


def test_missing_file(carry: Run, tmp_path: Path) -> None:
    """A missing file is named with the system's error."""
    done = carry("check", tmp_path / "none.pcap")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == f"carry: {tmp_path}/none.pcap: No such file or directory\n"


def test_unreadable_file(tool: str) -> None:
    """An unreadable file is named with the system's error. Root may read everything, so the tool
    then runs as nobody, in a folder that everyone may enter."""
    user = 65534 if os.geteuid() == 0 else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        copy = shutil.copy(tool, folder / "carry")
        path = folder / "a.pcap"
        path.write_bytes(pcap([GOOD]))
        path.chmod(0)
        done = subprocess.run([copy, "check", path], user=user, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (ERROR, f"carry: {path}: Permission denied\n")


def test_read_error(carry: Run) -> None:
    done = carry("check", "/proc/self/mem")
    assert done.returncode == ERROR
    assert done.stderr == "carry: /proc/self/mem: cannot read: Input/output error\n"


def test_closed_input(tool: str, tmp_path: Path) -> None:
    """A file that is opened as descriptor 0 is not mistaken for standard input."""
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([GOOD]))
    script = f"{tool} check -q - {path} - <&-"
    done = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True)
    message = "carry: standard input: Bad file descriptor\n"
    assert (done.returncode, done.stderr) == (ERROR, 2 * message)


def test_fifo(tool: str, tmp_path: Path) -> None:
    """A named pipe is read to its end."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    data = pcap([GOOD] * 1000)
    writer = threading.Thread(target=path.write_bytes, args=[data])
    writer.start()
    done = subprocess.run([tool, "check", "--json", path], capture_output=True, timeout=600)
    writer.join()
    assert json.loads(done.stdout)["packets"] == 1000


def test_a_pipe_that_does_not_block(tool: str) -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    child = subprocess.Popen([tool, "check", "--json", "-"], stdin=reader, stdout=subprocess.PIPE)
    os.close(reader)
    data = pcap([GOOD, WRONG] * 1000)
    with os.fdopen(writer, "wb") as pipe:
        for at in range(0, len(data), 10007):
            pipe.write(data[at : at + 10007])
            pipe.flush()
    report = json.loads(child.communicate(timeout=600)[0])
    assert (child.returncode, report["packets"], report["damage"]) == (BAD, 2000, None)


@pytest.mark.parametrize("mode", ["", "--json", "--bad-only"])
def test_closed_pipe(tool: str, tmp_path: Path, mode: str) -> None:
    """If the reader of the pipe ends early, as `head` does, there is no message."""
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([WRONG] * 5000))
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [tool, "check", *filter(None, [mode]), path], stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (ERROR, b"")


@pytest.mark.parametrize("mode", ["", "--json", "--bad-only"])
def test_full_device(tool: str, tmp_path: Path, mode: str) -> None:
    """A write error is reported in one line."""
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([WRONG] * 5000))
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [tool, "check", *filter(None, [mode]), path], stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == ERROR
    assert re.fullmatch(rb"carry: cannot write the output: [^\n]+\n", done.stderr)


# --- Usage ---


def test_help(carry: Run) -> None:
    """The help lists options, exit status and examples, in 80 columns."""
    done = carry("check", "--help")
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert carry("help", "check").stdout == done.stdout
    for word in ("--bad-only", "--json", "--show", "--quiet", "Exit status", "Examples"):
        assert word in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_version_and_commands(carry: Run) -> None:
    """carry shows its version and commands, and refuses unknown ones."""
    assert re.match(r"carry \d+\.\d+\.\d+\n", carry("--version").stdout)
    assert carry("--help").stdout.startswith("Usage: carry COMMAND")
    nothing = carry()
    assert (nothing.returncode, nothing.stdout) == (ERROR, "")
    assert nothing.stderr == carry("--help").stdout
    for arguments in (["frobnicate"], ["help", "frobnicate"]):
        done = carry(*arguments)
        assert (done.returncode, done.stdout) == (ERROR, "")
        assert done.stderr == "carry: no command 'frobnicate'; see carry --help\n"


def test_missing_file_is_not_taken_for_a_command(carry: Run) -> None:
    done = carry("rot-2026.pcap")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == "carry: rot-2026.pcap: No such file or directory\n"


def test_a_file_in_place_of_a_command(tool: str, carry: Run, tmp_path: Path) -> None:
    """The name of a file in place of a command checks the file: `tcpdump -G 60 -w %F-%T.pcap -z
    carry` runs the tool with only this name."""
    path, named = tmp_path / "rot-0.pcap", tmp_path / "cpu"
    path.write_bytes(pcap([WRONG]))
    named.write_bytes(pcap([WRONG]))
    for arguments in ([path], [path, "-J"], [tmp_path], [path, named, "-b"]):
        done = carry(*arguments)
        assert done.returncode == BAD
        assert done.stdout == carry("check", *arguments).stdout != ""
    done = carry("-", "-J", stdin=pcap([GOOD]))
    assert (done.returncode, json.loads(done.stdout)["packets"]) == (CLEAN, 1)
    assert carry(path, "--frob").stderr.startswith("carry check: unknown option '--frob'")
    done = subprocess.run([tool, "cpu", "-J"], cwd=tmp_path, capture_output=True)
    assert (done.returncode, done.stderr) == (CLEAN, b"")
    assert "packets" not in json.loads(done.stdout)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "no file given"),
        (["--frob", "a"], "unknown option '--frob'"),
        (["-x", "a"], "unknown option '-x'"),
        (["-qx", "a"], "unknown option '-x'"),
        (["a", "-n"], "option '-n' needs a value"),
        (["a", "--show"], "option '--show' needs a value"),
        (["--json=1", "a"], "option '--json=1' takes no value"),
        (["-n", "-1", "a"], "--show takes a number from 0 to 10000, not '-1'"),
        (["-n", "5x", "a"], "--show takes a number from 0 to 10000, not '5x'"),
        (["-n", "10001", "a"], "--show takes a number from 0 to 10000, not '10001'"),
    ],
)
def test_wrong_usage_is_refused_with_its_reason(
    carry: Run, arguments: list[str], message: str
) -> None:
    done = carry("check", *arguments)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == f"carry check: {message}; see carry check --help\n"


def test_quiet(carry: Run, tmp_path: Path) -> None:
    """--quiet prints nothing, and does not change the exit status."""
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([WRONG]) + b"x")
    for options in ("-q", "-qb", "-qJ", "-qbJ", "-qt"):
        done = carry("check", options, path)
        assert (done.returncode, done.stdout, done.stderr) == (DAMAGED, "", "")


# --- Terminals ---


def test_colours_only_on_a_terminal(tool: str, carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([GOOD, WRONG, PARTIAL]))
    plain = carry("check", path).stdout
    coloured = in_terminal([tool, "check", str(path)])
    assert "\x1b" not in plain
    assert "\x1b[31m" in coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured).replace("\r\n", "\n") == plain.replace(
        "\u2192", "->"
    )
    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        assert "\x1b" not in in_terminal([tool, "check", str(path)], **variables)
    assert "\x1b[31m" in in_terminal([tool, "check", str(path)], NO_COLOR="")


SLOW_WRITER = """
import sys, time
sys.path.insert(0, {tests!r})
from captures import *
data = pcap([ethernet(packet(TCP))] * 100)
out = sys.stdout.buffer
out.write(data); out.flush()
for _ in range(10):
    time.sleep(0.12)
    out.write(data[24:]); out.flush()
"""


def slow_writer(tmp_path: Path) -> str:
    script = tmp_path / "slow.py"
    script.write_text(SLOW_WRITER.format(tests=str(SOURCE / "tests/harness")))
    return f"{sys.executable} {script}"


def test_progress_line(tool: str, carry: Run, tmp_path: Path) -> None:
    """A slow check shows progress on a terminal, and clears the line at the end."""
    pipe = f"{slow_writer(tmp_path)} | {tool} check -"
    shown = in_terminal(["/bin/sh", "-c", pipe], NO_COLOR="1")
    assert re.search(r"\r\x1b\[K\d+\.\d kB  \d+\.\d\d GB/s", shown)
    assert "\r\x1b[Kstandard input: 1,100 packets" in shown, "the line is not cleared"
    assert "\x1b" not in in_terminal(["/bin/sh", "-c", f"{pipe} 2>/dev/null"], NO_COLOR="1")


@pytest.mark.parametrize("columns", [12, 50, 80])
def test_progress_lines_fit_and_are_few(tool: str, tmp_path: Path, columns: int) -> None:
    """Lines fit the size that the terminal reports, and there are at most ten a second."""
    path = tmp_path / "zeros.pcap"
    path.write_bytes(pcap([]))
    os.truncate(path, 1 << 36)  # zeros are empty records
    terminal, stderr = pty.openpty()
    fcntl.ioctl(stderr, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    started = time.monotonic()
    with subprocess.Popen([tool, "check", "-q", path], stderr=stderr) as child:
        shown = b""
        while shown.count(b"%") < 5:
            shown += os.read(terminal, 65536)
        child.terminate()
    seconds = time.monotonic() - started
    os.close(stderr)
    os.close(terminal)
    first, *lines = shown.split(b"\r\x1b[K")
    assert first == b"" and lines[0].startswith(b"[") == (columns >= 50)
    assert max(map(len, lines)) < columns
    assert len(lines) <= 10 * seconds


def test_no_progress_line_for_short_work(tool: str, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([GOOD]))
    assert "\x1b" not in in_terminal([tool, "check", str(path)], NO_COLOR="1")


def test_ignored_interrupts_remain_ignored(tool: str, tmp_path: Path) -> None:
    pipe = f"{slow_writer(tmp_path)} | {tool} check -"
    script = f"trap '' INT; (sleep 0.3; kill -INT 0) & {pipe}"
    shown = in_terminal(["/bin/sh", "-c", script], NO_COLOR="1")
    assert "standard input: 1,100 packets" in shown


# --- Memory ---


def test_memory_does_not_grow_with_the_file(tool: str) -> None:
    records = pcap([GOOD, WRONG, PARTIAL] * 2000)
    copies = 200 * 1000 * 1000 // len(records) + 1
    assert peak_kib([tool, "check", "-"], [records] + [records[24:]] * copies) < 16 * 1024


def test_memory_does_not_grow_with_claims(tool: str) -> None:
    claim = pcap([]) + struct.pack("<LLLL", 0, 0, PACKET_LIMIT, PACKET_LIMIT) + b"short"
    assert peak_kib([tool, "check", "-"], [claim]) < 16 * 1024
    block = ng().bytes() + struct.pack("<LLL", 6, PACKET_LIMIT, 0)
    assert peak_kib([tool, "check", "-"], [block]) < 16 * 1024


def test_memory_for_the_largest_packets(tool: str) -> None:
    """Packets of 16 MiB need less than 64 MiB of memory."""
    record = pcap([bytes(PACKET_LIMIT)])
    assert peak_kib([tool, "check", "-"], [record] + [record[24:]] * 4) < 64 * 1024


# --- Examples ---


def files_below(folder: Path) -> list[Path]:
    return sorted(path.relative_to(folder) for path in folder.rglob("*") if path.is_file())


def test_script_makes_the_same_examples(tmp_path: Path) -> None:
    subprocess.run([sys.executable, SOURCE / "examples/make_captures.py", tmp_path], check=True)
    made = files_below(tmp_path)
    kept = {".c", ".py", ".build"}
    assert made == [path for path in files_below(SOURCE / "examples") if path.suffix not in kept]
    for name in made:
        assert (tmp_path / name).read_bytes() == (SOURCE / "examples" / name).read_bytes(), name


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("good.pcap", CLEAN),
        ("good.snoop", CLEAN),
        ("good.erf", CLEAN),
        ("netmon.cap", CLEAN),
        ("offload.pcapng", CLEAN),
        ("broken.pcap", BAD),
        ("damaged.pcap", DAMAGED),
        ("network.pcapng", BAD),
    ],
)
def test_examples(carry: Run, name: str, status: int) -> None:
    """Each example has its documented exit status."""
    assert carry("check", SOURCE / "examples" / name).returncode == status
