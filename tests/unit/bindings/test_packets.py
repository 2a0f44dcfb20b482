# SPDX-License-Identifier: MIT
"""Checksums of frames, one by one and many at once, agree with the walk of the library in C."""

from __future__ import annotations

import array
import os
import subprocess
from collections import Counter
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path

import captures
import libcarry
import pytest
from conftest import EXAMPLES, SOURCE, Script, corpus

pytestmark = pytest.mark.sanitized

DUMP_SUMS = str(Path(os.environ.get("CARRY_BUILD", SOURCE / "build")) / "tests/dump_sums")
FRAME = captures.ethernet(captures.packet(captures.UDP, b"hello, here is carry"))


def Q(*numbers: int) -> array.array[int]:  # noqa: N802
    return array.array("Q", numbers)


def broken(frame: bytes = FRAME) -> bytearray:
    """Returns the frame with another UDP checksum."""
    data = bytearray(frame)
    data[40] ^= 0x12
    return data


def test_check() -> None:
    """Each checksum of a frame has protocol, offset, verdict and expected value."""
    ip, udp = libcarry.packet_check(FRAME)
    assert (ip.protocol, ip.verdict, ip.offset, ip.version) == ("ip", "good", 24, 4)
    assert (udp.protocol, udp.verdict, udp.stored == udp.expected) == ("udp", "good", True)
    _, udp = libcarry.packet_check(broken())
    assert (udp.verdict, udp.stored ^ udp.expected) == ("bad", 0x1200)


def test_link_types_and_cuts() -> None:
    assert libcarry.packet_check(FRAME[14:], 101)[1].verdict == "good"
    assert libcarry.packet_check(FRAME[:-2])[1].reason == "length"
    cut = libcarry.packet_check(FRAME[:-2], wire=len(FRAME))[1]
    assert (cut.verdict, cut.reason) == ("unverifiable", "snaplen")
    assert libcarry.knows_link(1) and not libcarry.knows_link(147)
    assert libcarry.packet_check(b"") == []


def test_options() -> None:
    """Options decide the verdict of a missing checksum."""
    udp6 = captures.ethernet(
        captures.packet(captures.UDP, b"hello, here is carry", src="::1", dst="::2")
    )
    zero = bytearray(udp6)
    zero[60:62] = bytes(2)
    assert libcarry.packet_check(zero)[0].verdict == "illegal"
    assert libcarry.packet_check(zero, udp6_zero_absent=True)[0].verdict == "absent"
    no_ip_sum = bytearray(FRAME)
    no_ip_sum[24:26] = bytes(2)
    assert libcarry.packet_check(no_ip_sum)[0].verdict == "bad"
    assert libcarry.packet_check(no_ip_sum, ip_zero_partial=True)[0].verdict == "partial"


def test_fix_and_fill() -> None:
    """A repair restores the frame; only fill stores an absent checksum."""
    data = broken()
    (before,) = libcarry.packet_fix(data)
    assert (before.protocol, before.verdict, data == FRAME) == ("udp", "bad", True)
    assert libcarry.packet_fix(data) == []
    blank = bytearray(FRAME)
    blank[40:42] = bytes(2)
    assert libcarry.packet_fix(bytearray(blank)) == []
    assert [s.verdict for s in libcarry.packet_fill(blank)] == ["absent"]
    assert blank == FRAME


def test_tunnels() -> None:
    """Without tunnels, only the outermost headers are checked and changed."""
    inner = captures.packet(captures.UDP, sums="bad")
    tunnel = captures.network("10.0.0.1", "10.0.0.2", 4, inner)
    offsets, sizes = Q(0), Q(len(tunnel))
    assert len(libcarry.packet_check(tunnel, 101)) == 3
    assert len(libcarry.packet_check(tunnel, 101, tunnels=False)) == 1
    assert len(libcarry.packet_check_many(tunnel, offsets, sizes, 101, tunnels=False)) == 1
    for one, many in (
        (libcarry.packet_fix, libcarry.packet_fix_many),
        (libcarry.packet_fill, libcarry.packet_fill_many),
    ):
        data = bytearray(tunnel)
        assert one(data, 101, tunnels=False) == []
        assert not len(many(data, offsets, sizes, 101, tunnels=False))
        assert [s.protocol for s in one(data, 101)] == ["udp"]


def test_fill_many() -> None:
    """Only fill stores absent checksums, and only if they are selected."""
    blank = bytearray(FRAME)
    blank[40:42] = bytes(2)
    arguments = (blank, Q(0), Q(len(blank)))
    assert not len(libcarry.packet_fix_many(*arguments))
    assert not len(libcarry.packet_fill_many(*arguments, verdicts=["bad"]))
    assert [s.verdict for _, s in libcarry.packet_fill_many(*arguments)] == ["absent"]
    assert blank == FRAME


def test_fix_only() -> None:
    """A repair of other verdicts changes nothing."""
    data = broken()
    assert libcarry.packet_fix(data, verdicts=["partial"]) == []
    assert data == broken()


def test_many_frames_agree_with_single_ones() -> None:
    frames = [FRAME, bytes(broken()), FRAME[:40], b"", FRAME]
    data = bytearray(b"".join(frames))
    sizes = array.array("I", map(len, frames))
    offsets = array.array("Q", [0, *accumulate(sizes)][:-1])
    wires = array.array("I", [len(FRAME)] * 5)
    sums = libcarry.packet_check_many(data, offsets, sizes, wires=wires)
    expected = [
        (number, found)
        for number, frame in enumerate(frames)
        for found in libcarry.packet_check(frame, wire=len(FRAME))
    ]
    assert list(sums) == expected
    assert list(sums.frame) == [number for number, _ in expected]
    assert [libcarry.VERDICTS[v] for v in sums.verdict] == [s.verdict for _, s in expected]
    assert [libcarry.PROTOCOLS[p] for p in sums.protocol] == [s.protocol for _, s in expected]
    assert list(sums.stored) == [s.stored for _, s in expected]
    assert list(sums.offset) == [s.offset for _, s in expected]
    changed = libcarry.packet_fix_many(data, offsets, sizes, wires=wires)
    assert [(number, s.protocol) for number, s in changed] == [(1, "udp")]
    assert data[len(FRAME) : 2 * len(FRAME)] == FRAME


@pytest.mark.parametrize("path", [*EXAMPLES, *corpus()], ids=lambda path: path.name)
def test_captures_agree_with_c(path: Path) -> None:
    """Each checksum of each frame agrees with the output of a program in C."""
    said = subprocess.run([DUMP_SUMS, path], capture_output=True, text=True, timeout=300)
    rows = [line.split("\t") for line in said.stdout.splitlines()]
    in_c = Counter(
        (int(row[0]), *row[1:3], int(row[4], 16), int(row[6])) for row in rows if len(row) > 3
    )
    found: Counter[tuple[int, str, str, int, int]] = Counter()
    try:
        for frame in libcarry.frames(path):
            found.update(
                (frame.number, s.protocol, s.verdict, s.stored, s.offset) for s in frame.check()
            )
    except libcarry.CaptureError as error:
        assert said.returncode, error
    assert found == in_c


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: libcarry.packet_fix(FRAME), BufferError, "writable"),
        (lambda: libcarry.packet_check(FRAME, wire=-1), ValueError, "wire must be"),
        (lambda: libcarry.packet_check(FRAME, wire=1 << 32), ValueError, "wire must be"),
        (lambda: libcarry.packet_check(FRAME, "ethernet"), TypeError, "int"),
        (lambda: libcarry.packet_check(FRAME, (1 << 32) + 1), ValueError, "linktype must be"),
        (lambda: libcarry.packet_check(FRAME, 1 - (1 << 32)), ValueError, "linktype must be"),
        (
            lambda: libcarry.packet_check_many(FRAME, Q(0), Q(9), wires=array.array("q", [-1])),
            *(ValueError, r"wires\[0\] must be"),
        ),
        (
            lambda: libcarry.packet_check_many(FRAME, Q(0), Q(9), (1 << 32) + 1),
            *(ValueError, "linktype must be"),
        ),
        (lambda: libcarry.packet_fix(bytearray(FRAME), verdicts="worst"), ValueError, "no verdict"),
        (lambda: libcarry.packet_check_many(b"", b"", b""), TypeError, "offsets must be"),
        (lambda: libcarry.PacketSums(), TypeError, "cannot create"),
    ],
)
def test_wrong_use_raises(call: Callable[[], object], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_wires_must_match() -> None:
    with pytest.raises(ValueError, match="1 offsets, but 2 wires"):
        libcarry.packet_check_many(
            FRAME,
            array.array("Q", [0]),
            array.array("Q", [len(FRAME)]),
            wires=array.array("Q", [1, 2]),
        )


def test_offsets_in_the_frames(script: Script) -> None:
    """Offsets that a repair overwrites are checked again: no byte outside the buffer is used."""
    done = script(
        "import array, libcarry\n"
        "data = bytearray.fromhex('45000014 00000000 00000000 0a000005 0a000009')\n"
        "offsets = memoryview(data)[4:12].cast('I')  # the second one ends with the checksum\n"
        "sums = libcarry.packet_fix_many(data, offsets, array.array('I', [20, 20]), 101)\n"
        "print([(frame, s.protocol) for frame, s in sums], offsets[1] > 20)\n"
    )
    assert (done.returncode, done.stdout) == (0, "[(0, 'ip')] True\n"), done.stderr


def test_sums_index() -> None:
    """The list of sums can be indexed from both ends, and raises IndexError beyond them."""
    sums = libcarry.packet_check_many(FRAME, array.array("Q", [0]), array.array("Q", [len(FRAME)]))
    assert (len(sums), sums[-1][1].protocol) == (2, "udp")
    with pytest.raises(IndexError):
        sums[2]
