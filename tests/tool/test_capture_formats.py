# SPDX-License-Identifier: MIT
"""Captures in other formats, and in variants of pcap; files that are not mistaken for them."""

from __future__ import annotations

import calendar
import gzip
import itertools
import json
import random
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from time import strptime
from typing import Any

import pytest
from captures import (
    GOOD,
    PARTIAL,
    TCP,
    UDP,
    V6,
    WRONG,
    Pcapng,
    Record,
    erf,
    ethernet,
    packet,
    pcap,
    snoop,
)
from carry_tool import BAD, CLEAN, DAMAGED, ERROR, SOURCE, Check, Run

pytestmark = pytest.mark.covers_capture

ALL = [GOOD, WRONG, PARTIAL, ethernet(packet(UDP, **V6)), WRONG]
SURVEYOR = bytes(16)


def judged(report: dict[str, Any]) -> dict[str, Any]:
    return {key: report[key] for key in ("packets", "protocols", "outcome", "senders", "damage")}


def erf_file(frames: list[bytes]) -> bytes:
    return b"".join(erf(frame, fraction=number) for number, frame in enumerate(frames))


FILES = {"snoop": snoop, "erf": erf_file}
BOTH = pytest.mark.parametrize("kind", FILES)


# --- Both formats ---


@BOTH
def test_packets_are_those_of_a_pcap_file(check: Check, kind: str) -> None:
    data = FILES[kind](ALL * 30)
    status, report = check(data)
    assert status == BAD
    assert judged(report) == judged(check(pcap(ALL * 30))[1])
    assert check(gzip.compress(data)) == (status, report)


@BOTH
def test_fix_repairs_in_place(carry: Run, tmp_path: Path, kind: str) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.write_bytes(FILES[kind]([GOOD, WRONG, GOOD]))
    done = carry("fix", "--json", source, "-o", out)
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert json.loads(done.stdout)["repaired"]["tcp"]["bad"] == 1
    assert out.read_bytes() == FILES[kind]([GOOD, GOOD, GOOD])


@BOTH
def test_explain(carry: Run, kind: str) -> None:
    """A packet of another format is explained, with its place in the file."""
    data = FILES[kind]([GOOD, WRONG])
    done = carry("explain", "--json", "-", "2", stdin=data)
    checksum = json.loads(done.stdout)["layers"][-1]["checksum"]
    assert (checksum["verdict"], checksum["offset"]) == ("bad", data.rindex(WRONG) + 14 + 20 + 16)


@BOTH
@pytest.mark.parametrize("other", ["pcap", "snoop"])
def test_a_second_capture_is_named(check: Check, kind: str, other: str) -> None:
    first = FILES[kind]([GOOD] * 8)
    status, report = check(first + {"pcap": pcap, "snoop": snoop}[other]([GOOD]))
    assert (status, report["packets"]) == (DAMAGED, 8)
    assert report["damage"] == {
        "offset": len(first),
        "reason": "a second capture starts here: split the file",
    }


def test_snoop_after_pcap_is_named(check: Check) -> None:
    status, report = check(pcap([GOOD]) + snoop([GOOD]))
    assert (status, report["packets"]) == (DAMAGED, 1)
    assert report["damage"]["reason"] == "a second capture starts here: split the file"


def test_in_a_folder(carry: Run, tmp_path: Path) -> None:
    """Captures of all formats are found in a folder."""
    (tmp_path / "a.snoop").write_bytes(snoop([GOOD]))
    (tmp_path / "b").write_bytes(erf_file([GOOD, WRONG]))
    (tmp_path / "c.erf.gz").write_bytes(gzip.compress(erf_file([GOOD])))
    (tmp_path / "d.erf").write_bytes(b"no capture")
    (tmp_path / "e").write_bytes(b"no capture")
    done = carry("check", tmp_path)
    assert done.returncode == DAMAGED
    assert "4 captures, 4 packets: 1 bad checksum; 1 damaged; 1 other file skipped" in done.stdout


# --- pcap of other writers ---


def ixia(records: list[bytes | Record], order: str = "<", magic: int = 0x1C0001AC) -> bytes:
    """Returns Ixia's pcap: the size of all records follows the file header."""
    data = pcap(records, order=order, magic=magic)
    return data[:24] + struct.pack(order + "L", len(data) - 24) + data[24:]


def aix(records: list[bytes | Record], link: int = 6, order: str = ">", minor: int = 2) -> bytes:
    """Returns AIX's pcap: version 2.2, an ifType as link type, and the size on the wire first."""
    out = struct.pack(order + "LHHlLLL", 0xA1B2C3D4, 2, minor, 0, 0, 65535, link)
    for item in records:
        record = item if isinstance(item, Record) else Record(item)
        sizes = (record.wire_size, len(record.data))
        out += struct.pack(order + "LLLL", record.seconds, record.fraction, *sizes) + record.data
    return out


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "unit"), [(0x1C0001AB, 1000), (0x1C0001AC, 1)])
def test_pcap_of_ixia(carry: Run, check: Check, order: str, magic: int, unit: int) -> None:
    data = ixia([Record(WRONG, fraction=7), GOOD, PARTIAL], order, magic)
    status, report = check(data)
    assert status == BAD
    assert judged(report) == judged(check(pcap([WRONG, GOOD, PARTIAL]))[1])
    first = json.loads(carry("explain", "--json", "-", "1", stdin=data).stdout)
    assert (first["offset"], first["time"][-11:-1]) == (28 + 16, f".{7 * unit:09}")


@pytest.mark.parametrize("make", [ixia, aix])
def test_other_pcap_is_repaired_in_place(
    carry: Run, tmp_path: Path, make: Callable[[list[bytes]], bytes]
) -> None:
    out = tmp_path / "out"
    assert carry("fix", "-", "-o", out, stdin=make([GOOD, WRONG])).returncode == CLEAN
    assert out.read_bytes() == make([GOOD, GOOD])


@pytest.mark.parametrize(
    ("data", "reason", "offset"),
    [
        (ixia([])[:27], "file header cut: 27 of 28 bytes", 0),
        (ixia([GOOD])[:-1], f"record cut: {len(GOOD) + 15} of {len(GOOD) + 16} bytes", 28),
        (b"\xac\x01\0\x1d" + ixia([GOOD])[4:], "not a capture: it starts with ac 01 00 1d", 0),
        (b"\xad\x01\0\x1c" + ixia([GOOD])[4:], "not a capture: it starts with ad 01 00 1c", 0),
        (pcap([GOOD]) + ixia([GOOD]), "a second capture starts here", len(pcap([GOOD]))),
    ],
)
def test_damaged_ixia(check: Check, data: bytes, reason: str, offset: int) -> None:
    status, report = check(data)
    assert (status, report["damage"]["offset"]) == (DAMAGED, offset)
    assert report["damage"]["reason"].startswith(reason)


@pytest.mark.parametrize(
    ("link", "frame", "found"),
    [
        (6, GOOD, 1),
        (9, b"\x10\x40" + bytes(12) + b"\xaa\xaa\x03\0\0\0\x08\0" + packet(TCP), 6),
        (24, struct.pack(">L", 2) + packet(TCP), 0),
    ],
)
def test_pcap_of_aix(carry: Run, check: Check, link: int, frame: bytes, found: int) -> None:
    """AIX's link types are the interface types of RFC 1573, and its times have nanoseconds."""
    data = aix([Record(frame, fraction=7), Record(frame[:50], wire=len(frame))], link)
    status, report = check(data)
    assert (status, report["protocols"]["tcp"]["good"]) == (CLEAN, 1)
    assert report["protocols"]["tcp"]["unverifiable"] == 1
    first = json.loads(carry("explain", "--json", "-", "1", stdin=data).stdout)
    assert (first["linktype"], first["time"][-11:-1]) == (found, ".000000007")


@pytest.mark.parametrize(
    ("link", "order", "minor", "found"),
    [(6, "<", 2, 6), (6, ">", 4, 6), (6, ">", 1, 6), (1, ">", 2, 1), (15, ">", 2, 15)],
)
def test_other_pcap_is_not_mistaken_for_aix(
    carry: Run, link: int, order: str, minor: int, found: int
) -> None:
    data = aix([Record(GOOD, fraction=7)], link, order, minor)
    first = json.loads(carry("explain", "--json", "-", "1", stdin=data).stdout)
    assert (first["linktype"], first["time"][-11:-1]) == (found, ".000007000")


def test_other_pcap_is_read_like_tshark(carry: Run, tmp_path: Path) -> None:
    frames = [Record(WRONG, fraction=999_999), Record(GOOD[:50], wire=62), Record(PARTIAL[:61])]
    for number, data in enumerate([ixia(frames, ">", 0x1C0001AB), aix(frames)]):
        path = tmp_path / f"{number}.pcap"
        path.write_bytes(data)
        assert explained(carry, path, 3) == tshark(path)
    path.write_bytes(ixia(frames))  # some tsharks take its nanoseconds for microseconds
    assert [row[1:] for row in explained(carry, path, 3)] == [row[1:] for row in tshark(path)]


@pytest.mark.parametrize(
    ("word", "text"),
    [
        (0x46C5E1F5, "link type 0x46c5e1f5"),
        (0x00010001, "link type 0x00010001"),
        (0x02240002, "link type 0x02240002"),
        (0x0000E1F5, "link type 57845"),
        (0x0800E1F5, "link type 57845"),
        (0x2400E1F5, "link type 57845"),
    ],
)
def test_private_link_types_are_named_in_full(carry: Run, word: int, text: str) -> None:
    """If a reserved bit is set, all bits are one link type, without a frame check sequence."""
    data = pcap([GOOD], link=word)
    done = carry("check", "-", stdin=data)
    assert (done.returncode, f"not examined: 1 packet of {text}\n" in done.stdout) == (CLEAN, True)
    assert f", {text}\n" in carry("explain", "-", "1", stdin=data).stdout
    number = str(int(text.split()[-1], 0))
    report = json.loads(carry("check", "--json", "-", stdin=data).stdout)
    assert report["unknown_links"] == {number: 1}


@pytest.mark.parametrize("word", [0x00000001, 0x08000001, 0x50000001])
def test_other_bits_make_no_private_link_type(check: Check, word: int) -> None:
    assert check(pcap([GOOD], link=word))[1]["protocols"]["tcp"]["good"] == 1


# --- snoop ---


@pytest.mark.parametrize(
    ("version", "link", "behind", "frame"),
    [
        (2, 0, b"", GOOD),
        (2, 4, bytes(6), GOOD),
        (2, 4, SURVEYOR, GOOD),
        (2, 10, SURVEYOR, GOOD),
        (3, 12, SURVEYOR, GOOD),
        (5, 19, SURVEYOR, GOOD),
        (2, 14, b"", struct.pack(">L", 2) + packet(TCP)),
        (2, 18, b"", b"\x02\x00\x00\x10\xaa\xaa\x03\x00\x00\x00\x08\x00" + packet(TCP)),
        (2, 1 << 31 | 1, b"", packet(TCP)),
        (2, 1 << 31 | 2, b"", packet(TCP, **V6)),
    ],
)
def test_links_of_snoop(check: Check, version: int, link: int, behind: bytes, frame: bytes) -> None:
    """Each link type of snoop is read."""
    status, report = check(snoop([frame] * 2, version=version, link=link, behind=behind))
    assert (status, report["protocols"]["tcp"]["good"]) == (CLEAN, 2)


def sizes(captured: int, record: int) -> bytes:
    """Returns the header of a snoop record."""
    return struct.pack(">6L", 60, captured, record, 0, 0, 0)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (snoop([GOOD], version=1), "unknown snoop version 1"),
        (snoop([GOOD], version=6), "unknown snoop version 6"),
        (snoop([GOOD], link=10), "unknown datalink type 0xa of snoop"),
        (snoop([GOOD], link=16, behind=SURVEYOR), "unknown datalink type 0x10 of snoop"),
        (
            snoop([]) + struct.pack(">6L", 60, 61, 84, 0, 0, 0),
            "packet of 61 bytes in a record of 84",
        ),
        (snoop([]) + struct.pack(">6L", 60, 0, 23, 0, 0, 0), "packet of 0 bytes in a record of 23"),
        (
            snoop([]) + struct.pack(">6L", 60, 60, 1 << 31, 0, 0, 0),
            "record claims 2147483648 bytes, above the limit of 16777240",
        ),
        (snoop([GOOD])[:-1], "record cut: 87 of 88 bytes"),
        (b"snoop\0\0\0\0", "file header cut: 9 of 16 bytes"),
        (b"snoop", "file header cut: 5 of 16 bytes"),
        (b"snoop, they say", "not a capture: it starts with 73 6e 6f 6f"),
    ],
)
def test_damaged_snoop(check: Check, data: bytes, reason: str) -> None:
    """Damage to a snoop file is reported with its reason."""
    status, report = check(data)
    assert (status, report["damage"]["reason"]) == (DAMAGED, reason)


# --- ERF ---


MORE = [b"\x83" + bytes(7), b"\x05" + bytes(7)]
CELL = b"\x00\x00\x10\x00"
LLC = b"\xaa\xaa\x03\x00\x00\x00\x08\x00"
PPP = b"\xff\x03\x00\x21"


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        *((kind, GOOD) for kind in (2, 11, 16, 20)),
        *((kind, PPP + packet(TCP)) for kind in (1, 10, 15, 19)),
        (1, b"\x0f\x00\x08\x00" + packet(TCP)),
        *((kind, bytes(4) + PPP + packet(TCP)) for kind in (5, 17)),
        (4, CELL + LLC + packet(TCP)),
        (9, bytes(4) + CELL + LLC + packet(TCP)),
        (22, packet(TCP)),
        (23, packet(TCP, **V6)),
    ],
)
def test_types_of_erf(check: Check, kind: int, payload: bytes) -> None:
    """Each type of ERF is read, with and without extension headers."""
    plain = erf(payload, kind)
    extended = erf(payload, kind | 0x80, extensions=MORE)
    status, report = check(plain + extended)
    assert (status, report["protocols"]["tcp"]["good"]) == (CLEAN, 2)


def test_padding_is_no_packet(check: Check) -> None:
    padding = erf(bytes(20), 48, seconds=0)
    status, report = check(erf(GOOD) * 8 + padding + erf(GOOD))
    assert (status, report["packets"], report["damage"]) == (CLEAN, 9, None)


@pytest.mark.parametrize("places", list(itertools.product((False, True), repeat=4)))
def test_padding_may_be_anywhere(check: Check, places: tuple[bool, ...]) -> None:
    """Padding may also be among the records by which the format is recognised."""
    records = [erf(bytes(20), 48, seconds=0) * pad + ONE for pad in places]
    status, report = check(b"".join(records))
    assert (status, report["packets"], report["damage"]) == (CLEAN, 4, None)


def test_a_time_that_looks_like_gzip(check: Check) -> None:
    """A record whose time begins like gzip is read: gzip is recognised by a third byte as well, its
    method, which is always deflate."""
    status, report = check(b"\x1f\x8b\x01\x01" + ONE[4:] + ONE)
    assert (status, report["packets"], report["damage"]) == (CLEAN, 2, None)


def test_other_types_are_counted(check: Check) -> None:
    status, report = check(erf(GOOD) * 8 + erf(bytes(52), 3) + erf(b"?", 99) + erf(GOOD))
    assert (status, report["packets"], report["without"]) == (CLEAN, 11, 2)


def test_cut_by_the_snap_length(check: Check) -> None:
    """A packet that the capture cut cannot be verified."""
    status, report = check(erf(GOOD[:50], wire=len(GOOD)) * 2)
    assert (status, report["protocols"]["tcp"]["unverifiable"]) == (CLEAN, 2)


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (bytes(16), "record claims 0 bytes"),
        (erf(b"")[:10] + struct.pack(">HHH", 17, 0, 0) + b"x", "record of 17 bytes is shorter"),
        (erf(b"\x80" * 8, 0x96, extensions=[b"\x83" + bytes(7)]), "record of 32 bytes is shorter"),
        (erf(GOOD)[:-1], "record cut: "),
        (erf(GOOD)[:15], "record header cut: 15 of 16 bytes"),
    ],
)
def test_damaged_erf(check: Check, record: bytes, reason: str) -> None:
    """Damage to an ERF file is reported with its place and reason; packets before it count."""
    start = erf_file([GOOD] * 8)
    status, report = check(start + record)
    assert (status, report["packets"]) == (DAMAGED, 8)
    assert report["damage"]["offset"] == len(start)
    assert report["damage"]["reason"].startswith(reason)


ONE = erf(GOOD)


@pytest.mark.parametrize(
    "data",
    [
        ONE[:-1],
        ONE + b"x",
        ONE + bytes(16),
        erf(GOOD, seconds=1000) * 2,
        erf(GOOD, seconds=1_800_000_000) + ONE,
        ONE + erf(GOOD, seconds=1_800_000_000),
        erf(GOOD, 0) * 2,
        erf(GOOD, 30) * 2,
        erf(GOOD, flags=0x44) * 2,
        erf(GOOD, wire=0) * 2,
        ONE * 3 + bytes(100),
        bytes(1000),
        erf(bytes(20), 48, seconds=0) * 4,
        erf(bytes(20), 48) * 9000 + ONE * 2,
        b"0" * 30000,
        b"\t" * 30000,
    ],
    ids=itertools.count(),
)
def test_other_files_are_not_mistaken_for_erf(check: Check, data: bytes) -> None:
    status, report = check(data)
    assert status == DAMAGED
    assert report["damage"]["reason"].startswith("not a capture: it starts with ")


def test_random_files_are_no_captures(carry: Run, tmp_path: Path) -> None:
    dice = random.Random(1)
    for number in range(500):
        (tmp_path / str(number)).write_bytes(dice.randbytes(dice.randrange(70000)))
    done = carry("check", tmp_path)
    assert (done.returncode, done.stdout) == (ERROR, "")


@pytest.mark.parametrize("folder", [SOURCE / "src", SOURCE / "docs", Path("/usr/bin")])
def test_files_of_other_kinds_are_no_captures(carry: Run, folder: Path) -> None:
    done = carry("check", folder)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == f"carry: {folder}: no captures in this folder\n"


# --- Obsolete packet blocks of pcapng, whose sizes exclude padding in files that ntar writes ---


def unpadded(order: str, kind: int, body: bytes, padding: int, behind: int = 0) -> bytes:
    size = 12 + len(body)
    ends = struct.pack(order + "L", size), struct.pack(order + "L", size + behind)
    return struct.pack(order + "L", kind) + ends[0] + body + bytes(padding) + ends[1]


def old_packet(order: str, data: bytes) -> bytes:
    return struct.pack(order + "HHLLLL", 0, 0xFFFF, 0, 0, len(data), len(data)) + data


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("size", range(8, 12))
def test_old_packet_blocks(check: Check, tmp_path: Path, order: str, size: int) -> None:
    """Old packet blocks without padding at the end are read as tshark reads them."""
    frame = ethernet(packet(TCP, bytes(size)))
    file = Pcapng(order).section().interface()
    file.parts.append(unpadded(order, 2, old_packet(order, frame), -len(frame) % 4))
    status, report = check(file.packet(GOOD).bytes())
    assert (status, report["packets"], report["protocols"]["tcp"]["good"]) == (CLEAN, 2, 2)
    path = tmp_path / "a.pcapng"
    path.write_bytes(file.bytes())
    assert [wire for _, wire, _ in tshark(path)] == [len(frame), len(GOOD)]


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (unpadded("<", 2, old_packet("<", GOOD), 0), "block of 94 bytes says "),
        (unpadded("<", 2, old_packet("<", GOOD), 2, 2), "block of 94 bytes says 96 at its end"),
        (unpadded("<", 6, old_packet("<", GOOD), 2), "block of type 0x00000006 cannot have 94"),
        (unpadded("<", 3, bytes(6), 2), "block of type 0x00000003 cannot have 18 bytes"),
        (unpadded("<", 99, bytes(6), 2), "block of type 0x00000063 cannot have 18 bytes"),
        (
            struct.pack("<LL", 2, 0xFFFFFFFF) + bytes(8),
            "block of type 0x00000002 cannot have 42949",
        ),
    ],
)
def test_other_blocks_count_their_padding(check: Check, block: bytes, reason: str) -> None:
    start = Pcapng().section().interface().bytes()
    status, report = check(start + block + Pcapng().packet(GOOD).bytes())
    assert (status, report["packets"], report["damage"]["offset"]) == (DAMAGED, 0, len(start))
    assert report["damage"]["reason"].startswith(reason)


# --- Comparison with Wireshark's tools ---


def tshark(path: Path) -> list[tuple[int, int, int]]:
    """Returns time in nanoseconds, size on the wire and captured size of each frame."""
    program = shutil.which("tshark")
    if not program:
        pytest.skip("tshark is not installed")
    fields = ("frame.time_epoch", "frame.len", "frame.cap_len")
    command = [program, "-n", "-r", path, "-Tfields", *(f"-e{field}" for field in fields)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    frames = []
    for line in done.stdout.splitlines():
        time, wire, captured = line.split("\t")
        seconds, _, fraction = time.partition(".")
        frames.append((int(seconds) * 10**9 + int(fraction), int(wire), int(captured)))
    return frames


def explained(carry: Run, path: Path, count: int, headers: int = 0) -> list[tuple[int, int, int]]:
    """Returns the time, the size on the wire and the captured size of each frame from `carry
    explain`. Subtracts `headers` bytes from the sizes."""
    frames = []
    for number in range(1, count + 1):
        report = json.loads(carry("explain", "--json", path, str(number)).stdout)
        second, _, fraction = report["time"].rstrip("Z").partition(".")
        time = calendar.timegm(strptime(second, "%Y-%m-%dT%H:%M:%S")) * 10**9 + int(fraction)
        frames.append((time, report["wire"] - headers, report["captured"] - headers))
    assert carry("explain", path, str(count + 1)).returncode == ERROR
    return frames


def test_snoop_is_read_like_tshark(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.snoop"
    frames = [Record(WRONG, fraction=999_999), Record(GOOD[:50], wire=62), Record(PARTIAL[:61])]
    path.write_bytes(snoop(frames))
    assert explained(carry, path, 3) == tshark(path)


def test_erf_is_read_like_tshark(carry: Run, tmp_path: Path) -> None:
    """tshark's sizes do not include the headers of ERF, here 16 + 16 + 2 bytes."""
    path = tmp_path / "a.erf"
    fractions = (0, 1, 2, 3, 1 << 31, 0x12345678, 0xFFFFFFFF)
    records = [erf(GOOD, 0x82, extensions=MORE, fraction=number) for number in fractions]
    records += [erf(GOOD[:50], 0x82, extensions=MORE, wire=wire) for wire in (40, 50, 62, 66)]
    path.write_bytes(b"".join(records))
    assert explained(carry, path, len(records), 34) == tshark(path)


@pytest.mark.skipif(not shutil.which("editcap"), reason="editcap is not installed")
def test_snoop_of_editcap(carry: Run, check: Check, tmp_path: Path) -> None:
    """A file that editcap converts has the verdicts of the original."""
    source, made = tmp_path / "a.pcap", tmp_path / "a.snoop"
    source.write_bytes(pcap(ALL))
    subprocess.run(["editcap", "-F", "snoop", source, made], check=True, timeout=600)
    status, report = check(made.read_bytes())
    assert (status, judged(report)) == (BAD, judged(check(source.read_bytes())[1]))
