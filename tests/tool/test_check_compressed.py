# SPDX-License-Identifier: MIT
"""`carry check` reads compressed captures, and reports where a stream is damaged."""

from __future__ import annotations

import gzip
import lzma
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from captures import GOOD, PARTIAL, TCP, WRONG, ethernet, mixture, packet, pcap
from carry_tool import CLEAN, DAMAGED, MIB, PACKERS, Check, CheckAll, Run, packed_by, peak_kib, zstd
from test_check_threads import MODES

pytestmark = pytest.mark.covers_capture


ALL = pytest.mark.parametrize("kind", PACKERS)


def without_name(report: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in report.items() if key != "file"}


@ALL
def test_compressed_capture_has_the_same_report(
    carry: Run, check: Check, tmp_path: Path, kind: str
) -> None:
    for data in (pcap([GOOD, WRONG, PARTIAL] * 500), mixture(), pcap([]), pcap([GOOD])[:70]):
        plain, packed = tmp_path / "plain", tmp_path / "packed"
        plain.write_bytes(data)
        packed.write_bytes(PACKERS[kind](data))
        for mode in MODES:
            one = carry("check", *mode, plain)
            other = carry("check", *mode, packed)
            for text in ("stdout", "stderr"):
                named = getattr(other, text).replace(str(packed), str(plain))
                assert named == getattr(one, text)
            assert other.returncode == one.returncode
        assert check(PACKERS[kind](data)) == check(data)


@ALL
def test_consecutive_streams_are_one_capture(check: Check, kind: str) -> None:
    """Consecutive streams have the report of one stream."""
    pack = PACKERS[kind]
    whole = pcap([GOOD, WRONG] * 50)
    for at in (1, 24, 30, len(whole) - 1):
        assert check(pack(whole[:at]) + pack(b"") + pack(whole[at:])) == check(whole)


@ALL
def test_cut_streams_are_damage(check_all: CheckAll, kind: str) -> None:
    """A stream that is cut anywhere neither crashes the tool nor passes for a complete capture."""
    data = pcap([ethernet(packet(TCP, os.urandom(30000))) for _ in range(20)])
    packed = PACKERS[kind](data)
    seen = set()
    sizes = [*range(4, 40), *range(60, len(packed), 20011), len(packed) - 1]
    for status, report in check_all(packed[:size] for size in sizes):
        assert status == DAMAGED
        assert report["damage"]["reason"] == f"cut {kind} stream"
        assert report["damage"]["offset"] in {0, *range(24, len(data) + 1, 16 + 30054)}
        seen.add(report["packets"])
    assert len(seen) > 3


@ALL
def test_corrupt_streams_are_damage(check: Check, check_all: CheckAll, kind: str) -> None:
    data = pcap([ethernet(packet(TCP, bytes([n]) * 300)) for n in range(250)])
    packed = zstd(data, "--check") if kind == "zstd" else PACKERS[kind](data)
    at = len(packed) - (6 if kind == "gzip" else 2)
    corrupt = packed[:at] + bytes([packed[at] ^ 0xFF]) + packed[at + 1 :]
    status, report = check(corrupt)
    assert status == DAMAGED
    assert report["damage"]["reason"].startswith(f"corrupt {kind} stream: ")
    assert report["damage"]["offset"] <= len(data)
    status, report = check(packed + b"garbage")
    assert status == DAMAGED
    assert report["damage"]["offset"] == len(data)
    assert report["packets"] == 250
    check_all(
        packed[:at] + bytes([packed[at] ^ 0x55]) + packed[at + 1 :]
        for at in range(4, len(packed), 97)
    )


@pytest.mark.parametrize(("packets", "block"), [(2, 50), (2000, 100000)])
def test_blocks_before_a_corrupt_one_count(check: Check, packets: int, block: int) -> None:
    """Packets before the corrupt block count. A block of zstd has a header of 3 bytes: last block,
    type (0 raw, 3 reserved) and size. The large blocks together exceed the reader's window, so a
    part of them is still pending when the corrupt block is read."""
    data = pcap([GOOD, WRONG] * (packets // 2))
    frame = b"\x28\xb5\x2f\xfd" + bytes([0x00, 0x38])  # no content size, a window of 128 KiB
    for at in range(0, len(data), block):
        piece = data[at : at + block]
        frame += struct.pack("<L", len(piece) << 3)[:3] + piece
    status, report = check(frame + struct.pack("<L", 3 << 1)[:3])
    assert (status, report["packets"]) == (DAMAGED, packets)
    assert report["damage"]["offset"] == len(data)
    assert report["damage"]["reason"].startswith("corrupt zstd stream: ")
    assert check(frame + b"\x01\0\0") == check(data)


@pytest.mark.parametrize(("packets", "block"), [(2, 50), (2000, 100000)])
def test_blocks_of_lz4_before_a_corrupt_one_count(check: Check, packets: int, block: int) -> None:
    """Packets before the corrupt block count. A block of lz4 consists of its size (top bit set:
    uncompressed) and at most 4 MiB of data."""
    data = pcap([GOOD, WRONG] * (packets // 2))
    frame = b"\x04\x22\x4d\x18\x60\x70\x73"
    for at in range(0, len(data), block):
        piece = data[at : at + block]
        frame += struct.pack("<L", 1 << 31 | len(piece)) + piece
    status, report = check(frame + struct.pack("<L", 5 * MIB))
    assert (status, report["packets"]) == (DAMAGED, packets)
    assert report["damage"]["offset"] == len(data)
    assert report["damage"]["reason"].startswith("corrupt lz4 stream: ")
    assert check(frame + bytes(4)) == check(data)


@pytest.mark.parametrize("kind", ["gzip", "xz"])
def test_zeros_after_streams_are_ignored(check: Check, kind: str) -> None:
    """Zeros fill the last block of a tape, or align a stream: gzip and xz ignore them."""
    data = pcap([GOOD, WRONG] * 50)
    pack = PACKERS[kind]
    packed = pack(data)
    for zeros in (1, 3, 512, 1 << 20):
        assert check(packed + bytes(zeros)) == check(data)
        both = pack(data[:30]) + bytes(zeros) + pack(data[30:])
        assert check(both + bytes(zeros)) == check(data)
    status, report = check(packed + bytes(512) + b"garbage" * 2)
    assert (status, report["packets"]) == (DAMAGED, 100)
    assert report["damage"]["reason"].startswith(f"corrupt {kind} stream: ")
    assert check(packed[:-8] + bytes(512))[0] == DAMAGED


@ALL
def test_twice_compressed(check: Check, kind: str) -> None:
    """The report says that a capture was compressed twice, and gives the command that reads it."""
    status, report = check(gzip.compress(PACKERS[kind](pcap([GOOD]))))
    assert (status, report["packets"]) == (DAMAGED, 0)
    tool = {"gzip": "z", "bzip2": "bz"}.get(kind, kind)
    reason = f"not a capture but compressed once more: {tool}cat FILE | carry check -"
    assert report["damage"]["reason"] == reason


def test_frames_to_skip(check: Check) -> None:
    """Skippable frames, which pzstd and other parallel compressors write, are skipped."""
    skip = struct.pack("<LL", 0x184D2A53, 5) + b"12345"
    assert check(skip + zstd(pcap([GOOD])) + skip) == check(pcap([GOOD]))


def test_streams_that_need_much_memory(check: Check) -> None:
    """A stream that asks for 2 GiB of memory is damage."""
    # Magic, no content size, a window of 2 GiB, one last block of no bytes.
    frame = b"\x28\xb5\x2f\xfd" + bytes([0x00, 21 << 3]) + b"\x01\0\0"
    status, report = check(frame)
    assert status == DAMAGED
    assert report["damage"]["reason"].startswith("corrupt zstd stream: Frame requires too much")


@pytest.mark.parametrize(("dictionary", "fits"), [(28, True), (29, False), (40, False)])
def test_xz_dictionaries(check: Check, dictionary: int, fits: bool) -> None:
    """A dictionary of 64 MiB (`xz -9`) is supported; 96 MiB and 4 GiB are not. `dictionary` is the
    code of the size in the block header."""
    packed = lzma.compress(pcap([GOOD]), preset=0)
    block = packed[12:16] + bytes([dictionary]) + packed[17:20]
    packed = packed[:12] + block + struct.pack("<L", zlib.crc32(block)) + packed[24:]
    status, report = check(packed)
    assert status == (CLEAN if fits else DAMAGED)
    if not fits:
        reason = "corrupt xz stream: it needs too much memory for decompression"
        assert report["damage"]["reason"] == reason


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("lz4", ["-B4"]),
        ("lz4", ["-B7", "-9"]),
        ("lz4", ["-BD", "-BX", "-B4"]),
        ("lz4", ["--content-size", "--no-frame-crc"]),
        ("xz", ["-9", "--check=sha256"]),
        ("xz", ["-T2", "--block-size=4096"]),
        ("xz", ["--x86", "--lzma2"]),
        ("bzip2", ["-9"]),
    ],
)
def test_forms_of_streams(check: Check, name: str, options: list[str]) -> None:
    """Each form that a compressor can write is read."""
    data = pcap([ethernet(packet(TCP, os.urandom(size) + bytes(size))) for size in range(300)])
    assert check(packed_by(name, data, *options)) == check(data)


# Not bzip2: its blocks are at most 900 kB and slow to compress.
@pytest.mark.parametrize("kind", [kind for kind in PACKERS if kind != "bzip2"])
def test_memory_does_not_grow_with_unpacked_bytes(tool: str, kind: str) -> None:
    records = pcap([GOOD] * 2000)[24:]
    records *= 10 * MIB // len(records)
    pack = PACKERS[kind]
    packed = pack(pcap([])) + pack(records) * 15
    assert len(packed) < 15 * len(records) / 50
    assert peak_kib([tool, "check", "-"], [packed]) < 64 * 1024
