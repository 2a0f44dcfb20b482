# SPDX-License-Identifier: MIT
"""carry fix on packets whose flags say that a checksum was left to the network card."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from captures import (
    GOOD,
    LEFT,
    PARTIAL,
    SENT,
    UDP,
    VALID,
    WRONG,
    Pcapng,
    ethernet,
    flagged,
    packet,
    put16,
)
from carry_tool import Run

pytestmark = pytest.mark.covers_capture

VXLAN = b"\x08" + bytes(7)


def fixed(carry: Run, tmp_path: Path, data: bytes, *arguments: str) -> bytes:
    source, copy = tmp_path / "a.pcapng", tmp_path / "b.pcapng"
    source.write_bytes(data)
    carry("fix", *arguments, source, "-o", copy)
    return copy.read_bytes()


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("old", [False, True])
def test_fix_clears_the_flag_of_a_completed_sum(
    carry: Run, tmp_path: Path, order: str, old: bool
) -> None:
    data = flagged([(PARTIAL, SENT | LEFT | VALID), (WRONG, LEFT), (GOOD, LEFT)], order, old=old)
    right = [(GOOD, SENT | VALID), (GOOD, LEFT), (GOOD, LEFT)]
    copy = fixed(carry, tmp_path, data)
    assert copy == flagged(right, order, old=old)
    assert fixed(carry, tmp_path, copy) == copy


def test_fix_keeps_the_flag_of_a_partial_sum(carry: Run, tmp_path: Path) -> None:
    data = flagged([(PARTIAL, LEFT), (PARTIAL, 0)])
    assert fixed(carry, tmp_path, data, "--only=bad") == data


def test_fix_keeps_the_flag_until_all_are_complete(carry: Run, tmp_path: Path) -> None:
    """The flag remains as long as a sum is partial. Here that sum cannot be repaired: the last byte
    that the outer sum covers was not captured."""
    tunnel = packet(UDP, VXLAN + PARTIAL + b"behind", ports=(50000, 4789))

    def capture(ip: bytes) -> bytes:
        file = Pcapng().section().interface()
        frame = ethernet(ip)
        return file.packet(frame[:-1], wire=len(frame), flags=SENT | LEFT).bytes()

    assert fixed(carry, tmp_path, capture(put16(tunnel, 10, 0))) == capture(tunnel)


def test_fix_clears_the_flag_once_all_are_complete(carry: Run, tmp_path: Path) -> None:
    frame = ethernet(packet(UDP, VXLAN + PARTIAL, ports=(50000, 4789), sums="partial"))
    copy = fixed(carry, tmp_path, flagged([(frame, SENT | LEFT)]))
    assert struct.pack("<HHL", 2, 4, SENT) in copy


@pytest.mark.skipif(not shutil.which("tshark"), reason="no tshark")
def test_another_reader_agrees_on_the_flags(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "c.pcapng"
    path.write_bytes(fixed(carry, tmp_path, flagged([(PARTIAL, SENT | LEFT), (GOOD, SENT)])))
    fields = ("-T", "fields", "-e", "frame.packet_flags", "-o", "tcp.check_checksum:TRUE")
    done = subprocess.run(
        ["tshark", "-r", path, *fields, "-e", "tcp.checksum.status"],
        check=True,
        capture_output=True,
        text=True,
    )
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [(int(flags, 16), status) for flags, status in rows] == [(SENT, "1"), (SENT, "1")]
