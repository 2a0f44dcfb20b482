# SPDX-License-Identifier: MIT
"""`carry check` unpacks parts of compressed captures in all its threads, with the same output."""

from __future__ import annotations

import functools
import gzip
import os
import random
import resource
import struct
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from captures import GOOD, PARTIAL, TCP, WRONG, ethernet, packet, pcap
from carry_tool import BAD, DAMAGED, MIB, PACKERS, Run, peak_kib, zstd

pytestmark = pytest.mark.covers_capture

RANDOM = random.Random(43)

# Nearly incompressible: several parts of each format.
PACKETS = [ethernet(packet(TCP, RANDOM.randbytes(1300))) for _ in range(2000)]
CAPTURE = pcap([frame for each in PACKETS for frame in (each, WRONG, PARTIAL)])


def bgzf(data: bytes) -> bytes:
    """Returns a block as bgzip writes it."""
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    packed = packer.compress(data) + packer.flush()
    head = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\6\0BC\2\0" + struct.pack("<H", len(packed) + 25)
    return head + packed + struct.pack("<LL", zlib.crc32(data), len(data))


def checked_zstd(data: bytes) -> bytes:
    return zstd(data, "--check")


# Functions that compress a stream, and the bytes of a stream.
STREAMS: dict[str, tuple[Callable[[bytes], bytes], int]] = {
    "bgzf": (bgzf, 0xFF00),
    "gzip": (gzip.compress, 100_000),
    "zstd": (checked_zstd, 300_000),
    "lz4": (PACKERS["lz4"], 300_000),
    "xz": (PACKERS["xz"], 1_000_000),
}


def streams(kind: str, data: bytes) -> list[bytes]:
    pack, size = STREAMS[kind]
    return [pack(data[at : at + size]) for at in range(0, len(data), size)]


def same_with_all_threads(carry: Run, path: Path, packed: bytes) -> tuple[int, str]:
    """Returns exit status and output, which do not depend on the number of threads."""
    path.write_bytes(packed)
    found = set()
    for threads in ("1", "2", "5"):
        for mode in (["--json"], ["--bad-only"]):
            done = carry("check", "-j", threads, *mode, path)
            found.add((str(mode), done.returncode, done.stdout, done.stderr))
    assert len(found) == 2
    status, text = next((status, out) for mode, status, out, _ in found if "json" in mode)
    return status, text


@pytest.mark.parametrize("kind", STREAMS)
def test_output_does_not_depend_on_threads(carry: Run, tmp_path: Path, kind: str) -> None:
    packed = streams(kind, CAPTURE)
    assert len(b"".join(packed)) > 2 * MIB
    assert same_with_all_threads(carry, tmp_path / "a", b"".join(packed))[0] == BAD
    found = carry("check", "--quiet", tmp_path / "a")
    (tmp_path / "a").write_bytes(CAPTURE)
    plain = carry("check", "--quiet", tmp_path / "a")
    assert (found.stdout, found.stderr) == (plain.stdout, plain.stderr)


@pytest.mark.parametrize("kind", STREAMS)
def test_damage_does_not_depend_on_threads(carry: Run, tmp_path: Path, kind: str) -> None:
    packed = streams(kind, CAPTURE)
    name = "gzip" if kind == "bgzf" else kind
    last = len(packed) - 2
    for number in (last // 2, last):
        whole = packed[number]
        at = len(whole) - 6
        corrupt = whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]
        for stream in (corrupt, whole[:at], b""):
            damaged = b"".join([*packed[:number], stream, *packed[number + 1 :]])
            assert same_with_all_threads(carry, tmp_path / "a", damaged)[0] == DAMAGED
    status, text = same_with_all_threads(carry, tmp_path / "a", b"".join(packed)[:-100])
    assert status == DAMAGED
    assert f"cut {name} stream" in text


def test_streams_that_are_too_large_for_parts(carry: Run, tmp_path: Path) -> None:
    """Streams of any size may alternate with small ones, and blocks of BGZF be larger than allowed:
    they are read as they are unpacked."""
    small, large = CAPTURE[24:], pcap([GOOD] * 220_000)[24:]
    assert len(large) > 16 * MIB
    for kind, big in (("zstd", zstd(large)), ("bgzf", bgzf(large[: 16 * MIB]))):
        rest = large[16 * MIB :] if kind == "bgzf" else b""
        packed = [*streams(kind, CAPTURE), big, *streams(kind, rest + small), *streams(kind, small)]
        (tmp_path / "plain").write_bytes(CAPTURE + large + small + small)
        plain = carry("check", "--json", tmp_path / "plain")
        found = same_with_all_threads(carry, tmp_path / "packed", b"".join(packed))
        assert found == (plain.returncode, plain.stdout.replace("plain", "packed"))


@pytest.mark.skipif("CARRY_SANITIZED" in os.environ, reason="sanitizers reserve more")
def test_check_works_without_memory_for_parts(tool: str, tmp_path: Path) -> None:
    """Under a memory limit, many threads give the result of one."""
    path = tmp_path / "a"
    path.write_bytes(b"".join(streams("bgzf", CAPTURE)))
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_AS, (400000 * 1024,) * 2)
    for threads in ("1", "256"):
        done = subprocess.run(
            [tool, "check", "--json", "-j", threads, path], capture_output=True, preexec_fn=limit
        )
        assert (done.returncode, done.stderr) == (BAD, b"")


def test_memory_of_parts_is_limited(tool: str, tmp_path: Path) -> None:
    """Frames of 8 MiB, and frames that need much memory packed and unpacked."""
    whole = zstd(pcap([]))
    frame = zstd(CAPTURE[24:] * (8 * MIB // len(CAPTURE)))
    skip = struct.pack("<LL", 0x184D2A53, 8 * MIB) + bytes(8 * MIB)
    path = tmp_path / "a"
    for body in (frame * 12, (skip + zstd(pcap([GOOD] * 150_000)[24:])) * 12):
        path.write_bytes(whole + body)
        command = [tool, "check", "--quiet", "-j8", str(path), "-"]
        assert peak_kib(command, [pcap([GOOD])]) < 192 * 1024
