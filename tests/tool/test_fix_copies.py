# SPDX-License-Identifier: MIT
"""`carry fix` from file to file, where the kernel copies, writes what it writes from a pipe."""

from __future__ import annotations

import os
import random
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from captures import GOOD, PARTIAL, WRONG, Pcapng, pcap
from carry_tool import HANGS, MIB, Run
from test_corpus import CAPTURES, captures

pytestmark = pytest.mark.covers_capture

Both = Callable[[Path], bytes]


@pytest.fixture
def from_pipe(tool: str, tmp_path: Path) -> Callable[[bytes], tuple[int, bytes]]:
    """Returns a function that repairs a capture from a pipe, and returns status and copy."""

    def repair(data: bytes) -> tuple[int, bytes]:
        piped = tmp_path / "piped"
        command = [tool, "fix", "-q", "-", "-o", piped]
        done = subprocess.run(command, input=data, check=False, timeout=HANGS)
        return done.returncode, piped.read_bytes() if piped.exists() else b""

    return repair


@pytest.fixture
def both(carry: Run, from_pipe: Callable[[bytes], tuple[int, bytes]], tmp_path: Path) -> Both:
    """Returns a function that repairs a capture from its file and from a pipe, and returns the
    copy. It checks that status and copy are the same, and that the capture stays as it is."""

    def repair(capture: Path) -> bytes:
        before, copy = capture.read_bytes(), tmp_path / "copy"
        status = carry("fix", "-q", capture, "-o", copy).returncode
        fixed = copy.read_bytes() if copy.exists() else b""
        assert (status, fixed) == from_pipe(before)
        assert capture.read_bytes() == before
        return fixed

    return repair


@pytest.mark.skipif(not CAPTURES.is_dir(), reason=f"no captures in {CAPTURES}")
@pytest.mark.parametrize("capture", captures() if CAPTURES.is_dir() else [])
def test_copies_of_real_captures(both: Both, capture: str) -> None:
    both(CAPTURES / capture)


def frames(share: float, size: int) -> list[bytes]:
    """Returns frames of this many bytes, of which a share must be repaired."""
    dice = random.Random(f"copies {share}")
    count = size // len(GOOD)
    return [dice.choice([WRONG, PARTIAL]) if dice.random() < share else GOOD for _ in range(count)]


@pytest.mark.parametrize("share", [0, 0.001, 0.1, 1])
@pytest.mark.parametrize("size", [MIB // 8, 3 * MIB])
def test_copies_of_made_captures(both: Both, tmp_path: Path, share: float, size: int) -> None:
    made = frames(share, size)
    capture = tmp_path / "in"
    capture.write_bytes(pcap(made))
    assert both(capture) == pcap([GOOD] * len(made))


def test_flags_are_cleared(both: Both, tmp_path: Path) -> None:
    """The flags of a packet that was left to the card change with its checksum."""
    left, received = 1 << 9, 1
    capture = tmp_path / "in"
    file, right = Pcapng().section().interface(), Pcapng().section().interface()
    for frame in frames(0.3, 2 * MIB):
        file.packet(frame, flags=left | received)
        right.packet(GOOD, flags=received if frame == PARTIAL else left | received)
    capture.write_bytes(file.bytes())
    assert both(capture) == right.bytes()


def test_capture_that_grows(
    carry: Run, from_pipe: Callable[[bytes], tuple[int, bytes]], tmp_path: Path
) -> None:
    """The copy of a capture that grows is that of its beginning, up to any byte."""
    capture, copy = tmp_path / "in", tmp_path / "copy"
    more = pcap(frames(0.1, MIB))[24:]
    capture.write_bytes(pcap(frames(0.1, 2 * MIB)))
    ended = threading.Event()

    def grow() -> None:
        with capture.open("ab", 0) as file:
            while not ended.is_set() and os.fstat(file.fileno()).st_size < 64 * MIB:
                file.write(more[:100_000])

    writer = threading.Thread(target=grow)
    writer.start()
    try:
        status = carry("fix", "-q", capture, "-o", copy).returncode
    finally:
        ended.set()
        writer.join()
    fixed = copy.read_bytes()
    assert (status, fixed) == from_pipe(capture.read_bytes()[: len(fixed)])
