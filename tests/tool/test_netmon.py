# SPDX-License-Identifier: MIT
"""Captures of Microsoft's Network Monitor, which lists its packets in a table after them."""

from __future__ import annotations

import gzip
import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from captures import (
    GOOD,
    PARTIAL,
    TCP,
    V6,
    WRONG,
    Record,
    ethernet,
    netmon,
    packet,
    pcap,
    snoop,
)
from carry_tool import BAD, CLEAN, DAMAGED, Check, Run
from test_capture_formats import judged, tshark

pytestmark = pytest.mark.covers_capture

ALL = [GOOD, WRONG, PARTIAL, ethernet(packet(TCP, **V6)), WRONG]
VERSIONS = [(1, 1), (2, 0), (2, 1), (2, 2), (2, 3)]
EACH_VERSION = pytest.mark.parametrize("version", VERSIONS)


@EACH_VERSION
@pytest.mark.parametrize("gap", [b"", bytes(5), b"abc"])
def test_packets_are_those_of_a_pcap_file(
    check: Check, version: tuple[int, int], gap: bytes
) -> None:
    """Packets after gaps are found by the table; the bytes after the table are not packets."""
    data = netmon(ALL * 30, version=version, gap=gap, behind=b"a comment" * 30_000)
    status, report = check(data)
    assert status == BAD
    assert judged(report) == judged(check(pcap(ALL * 30))[1])
    assert check(gzip.compress(data)) == (status, report)


@EACH_VERSION
def test_fix_repairs_in_place(carry: Run, tmp_path: Path, version: tuple[int, int]) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    for order in (None, [2, 0, 1]):
        made = [
            netmon(frames, version=version, gap=b"?", order=order, behind=b"more" * 99)
            for frames in ([GOOD, WRONG, GOOD], [GOOD, GOOD, GOOD])
        ]
        source.write_bytes(made[0])
        done = carry("fix", "--json", source, "-o", out)
        assert (done.returncode, done.stderr) == (CLEAN, "")
        assert json.loads(done.stdout)["repaired"]["tcp"]["bad"] == 1
        assert out.read_bytes() == made[1]


def test_a_table_names_the_order(carry: Run) -> None:
    """Frames are numbered in the order of the table, not of the file."""
    data = netmon([GOOD, WRONG], order=[1, 0])
    checksum = json.loads(carry("explain", "--json", "-", "1", stdin=data).stdout)["layers"][-1]
    assert checksum["checksum"]["verdict"] == "bad"
    assert checksum["checksum"]["offset"] == data.index(WRONG) + 14 + 20 + 16


WIFI = struct.pack("<BH29x", 2, 32) + b"\x08\x02" + bytes(22)
LLC = b"\xaa\xaa\x03\0\0\0\x08\0"


@pytest.mark.parametrize(
    ("network", "frame"),
    [
        (0, GOOD),
        (1, GOOD),
        (2, b"\x10\x40" + bytes(12) + LLC + packet(TCP)),
        (3, b"\x50" + bytes(12) + LLC + packet(TCP)),
        (6, WIFI + LLC + packet(TCP)),
        (7, packet(TCP)),
        (8, packet(TCP, **V6)),
        (9, packet(TCP)),
        (0xE001, GOOD),
        (0xE065, packet(TCP)),
        (0xE07F, bytes([0, 0, 8, 0, 0, 0, 0, 0]) + WIFI[32:] + LLC + packet(TCP)),
    ],
)
def test_networks(check: Check, network: int, frame: bytes) -> None:
    """Each network type is read, as the type of the whole file and as the type of each packet."""
    versions = VERSIONS if network < 10 else VERSIONS[2:]
    for version in versions:
        data = netmon([frame] * 2, version=version, networks=[network])
        status, report = check(data)
        assert (status, report["protocols"]["tcp"]["good"]) == (CLEAN, 2)
    mixed = netmon([GOOD, frame], version=(2, 3), networks=[1, network])
    assert check(mixed)[1]["protocols"]["tcp"]["good"] == 2


@pytest.mark.parametrize("network", [4, 5, 10, 0x1234, 0xE080, 0xE083, 0xE08A, 0xFFE0, 0xFFFF])
def test_other_networks_are_unknown_link_types(check: Check, network: int) -> None:
    data = netmon([GOOD] * 2, version=(2, 1), networks=[1, network])
    status, report = check(data)
    assert (status, report["packets"]) == (CLEAN, 2)
    assert report["unknown_links"] == {str(0x4E4D0000 | network): 1}


@pytest.mark.parametrize("network", [0xFFFC, 0xFFFD, 0xFFFE])
def test_notes_are_no_packets(check: Check, network: int) -> None:
    data = netmon([GOOD, b"?", GOOD], version=(2, 3), networks=[1, network, 1])
    status, report = check(data)
    assert (status, report["packets"], report["unknown_links"]) == (CLEAN, 2, {})


@pytest.mark.parametrize("head", [b"", b"\2", b"\2\x02\0", b"\2\xff\0", b"\1\x20\0"])
def test_wrong_headers_of_wifi_stay(check: Check, head: bytes) -> None:
    data = netmon([head + bytes(30), GOOD], version=(2, 1), networks=[6, 1])
    status, report = check(data)
    assert (status, report["bytes"]) == (CLEAN, len(head) + 30 + len(GOOD))


def part(offset: int, value: bytes, data: bytes | None = None) -> bytes:
    """Returns a file with other bytes at an offset."""
    data = netmon([GOOD, WRONG]) if data is None else data
    offset %= len(data)
    return data[:offset] + value + data[offset + len(value) :]


def number(value: int) -> bytes:
    return struct.pack("<L", value)


PLAIN = netmon([GOOD, WRONG])
TABLE = len(PLAIN) - 8
FITS = "the frame table names offset {}, where no frame fits"
CONVERT = ": convert it with editcap -F pcap"
LARGE = f"a Network Monitor file of {{}} bytes, above the limit of {64 << 20}{CONVERT}"
TWICE = netmon([GOOD], order=[0, 0])


@pytest.mark.parametrize(
    ("data", "offset", "packets", "reason"),
    [
        (part(5, b"\3"), 0, 0, "unknown Network Monitor version 3.0"),
        (part(5, b"\0"), 0, 0, "unknown Network Monitor version 0.0"),
        (PLAIN[:127], 0, 0, "file header cut: 127 of 128 bytes"),
        (PLAIN[:-1], 0, 0, f"file cut: {TABLE + 7} of {TABLE + 8} bytes"),
        (part(28, number(7)), 0, 0, f"frame table of 7 bytes at offset {TABLE}"),
        (part(24, number(127)), 0, 0, "frame table of 8 bytes at offset 127"),
        (
            part(24, number((64 << 20) - 7)),
            0,
            0,
            LARGE.format((64 << 20) + 1),
        ),
        (
            part(24, number(2**32 - 1)),
            0,
            0,
            LARGE.format(2**32 + 7),
        ),
        (part(TABLE, number(127)), TABLE, 0, FITS.format(127)),
        (part(-4, number(2**32 - 1)), TABLE + 4, 1, FITS.format(2**32 - 1)),
        (part(-4, number(TABLE)), TABLE + 4, 1, FITS.format(TABLE)),
        (part(-4, number(TABLE - 15)), TABLE + 4, 1, FITS.format(TABLE - 15)),
        (part(128 + 12, number(2**32 - 1)), TABLE, 0, FITS.format(128)),
        (part(128 + 12, number(TABLE - 128 - 15)), TABLE, 0, FITS.format(128)),
        (TWICE, len(TWICE) - 4, 1, "the frame table names overlapping frames"),
    ],
)
def test_damage(check: Check, data: bytes, offset: int, packets: int, reason: str) -> None:
    """Damage is reported with its place and reason; the packets before it are counted."""
    status, report = check(data)
    assert (status, report["packets"]) == (DAMAGED, packets)
    assert report["damage"] == {"offset": offset, "reason": reason}


def test_fix_refuses_large_files(carry: Run, tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.write_bytes(part(24, number(64 << 20)))
    done = carry("fix", source, "-o", out)
    assert (done.returncode, CONVERT in done.stderr) == (DAMAGED, True)


@pytest.mark.parametrize(
    "data", [b"GMBV" + PLAIN[4:], b"RTST" + PLAIN[4:], b"GMB", b"rtss" + PLAIN[4:]]
)
def test_other_files_are_not_mistaken_for_it(check: Check, data: bytes) -> None:
    status, report = check(data)
    assert (status, report["packets"]) == (DAMAGED, 0)
    reason = report["damage"]["reason"]
    assert reason.startswith("not a capture: it starts with") or len(data) < 4


@pytest.mark.parametrize("second", [pcap([GOOD]), snoop([GOOD]), PLAIN])
def test_a_second_capture_is_named(check: Check, second: bytes) -> None:
    status, report = check(PLAIN + second)
    assert (status, report["packets"]) == (DAMAGED, 2)
    reason = "a second capture starts here: split the file"
    assert report["damage"] == {"offset": len(PLAIN), "reason": reason}


def test_no_packets(check: Check) -> None:
    status, report = check(netmon([]))
    assert (status, report["packets"], report["damage"]) == (CLEAN, 0, None)


# --- Times, and comparison with Wireshark's tools ---


def explained(carry: Run, data: bytes, frame: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        carry("explain", "--json", "-", str(frame), stdin=data).stdout
    )
    return found


@pytest.mark.parametrize(
    ("date", "time"),
    [
        ((2023, 11, 2, 14, 22, 13, 20, 0), "2023-11-14T22:13:20.000000000Z"),
        ((2024, 2, 4, 29, 23, 59, 59, 999), "2024-02-29T23:59:59.999000000Z"),
        ((2024, 12, 2, 31, 0, 0, 0, 1), "2024-12-31T00:00:00.001000000Z"),
        ((2000, 3, 3, 1, 0, 0, 0, 0), "2000-03-01T00:00:00.000000000Z"),
        ((2100, 3, 1, 1, 0, 0, 0, 0), "2100-03-01T00:00:00.000000000Z"),
        ((1999, 12, 5, 31, 12, 0, 0, 0), "1999-12-31T12:00:00.000000000Z"),
        ((2023, 0, 0, 1, 0, 0, 0, 0), None),
        ((2023, 13, 0, 1, 0, 0, 0, 0), None),
        ((1969, 12, 0, 31, 0, 0, 0, 0), None),
    ],
)
def test_the_start_of_the_capture(carry: Run, date: tuple[int, ...], time: str | None) -> None:
    for version in ((1, 1), (2, 0)):
        data = netmon([GOOD], version=version, start=struct.pack("<8H", *date))
        assert explained(carry, data, 1)["time"] == time


@EACH_VERSION
def test_times(carry: Run, version: tuple[int, int]) -> None:
    data = netmon([GOOD, Record(GOOD, seconds=1_700_000_061, fraction=234_567)], version=version)
    fraction = {(1, 1): "234000000", (2, 3): "234567100"}.get(version, "234567000")
    assert explained(carry, data, 2)["time"] == f"2023-11-14T22:14:21.{fraction}Z"


def test_times_before_the_start(carry: Run) -> None:
    """Frames may have times before the start of the capture."""
    data = netmon([Record(GOOD, seconds=1_699_999_999, fraction=1)])
    assert explained(carry, data, 1)["time"] == "2023-11-14T22:13:19.000001000Z"


@EACH_VERSION
def test_packets_are_those_of_tshark(carry: Run, tmp_path: Path, version: tuple[int, int]) -> None:
    """Notes are left out, and frames come in the order of the table, as in tshark."""
    path = tmp_path / "a.cap"
    frames = [
        GOOD,
        Record(GOOD[:50], wire=62, fraction=999_999),
        Record(PARTIAL[:61], seconds=1_700_000_009),
    ]
    networks = [1, 1, 1] if version < (2, 1) else [1, 0xFFFD, 0xE001]
    data = netmon(frames, version=version, networks=networks, gap=b"??", order=[2, 1, 0])
    path.write_bytes(data)
    theirs = tshark(path)
    for frame, (time, wire, captured) in enumerate(theirs, 1):
        ours = explained(carry, data, frame)
        assert (ours["wire"], ours["captured"]) == (wire, captured)
        assert int(ours["time"].rstrip("Z").rpartition(".")[2]) == time % 10**9
    held = f"the capture holds {len(theirs)} packets"
    assert held in carry("explain", "-", "9", stdin=data).stderr


@pytest.mark.skipif(not shutil.which("editcap"), reason="editcap is not installed")
@pytest.mark.parametrize("name", ["netmon1", "netmon2"])
def test_files_of_editcap(check: Check, tmp_path: Path, name: str) -> None:
    """A file that editcap converts has the verdicts of the original."""
    source, made = tmp_path / "a.pcap", tmp_path / "a.cap"
    source.write_bytes(pcap(ALL))
    subprocess.run(["editcap", "-F", name, source, made], check=True, timeout=600)
    status, report = check(made.read_bytes())
    assert (status, judged(report)) == (BAD, judged(check(source.read_bytes())[1]))
