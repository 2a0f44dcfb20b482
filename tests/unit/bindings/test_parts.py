# SPDX-License-Identifier: MIT
"""Functions of the module that check captures in parts, with limits and progress."""

from __future__ import annotations

import gzip
from typing import cast

import captures
import pytest
from conftest import fragments, many
from libcarry import _carry

pytestmark = pytest.mark.sanitized

WRONG = 1 << _carry.VERDICTS.index("bad") | 1 << _carry.VERDICTS.index("illegal")


def check_part(data: bytes, most: int = 1 << 20) -> tuple[_carry.Result, bytes]:
    capture = _carry.open_bytes(data, "x")
    try:
        result, related = capture.check_part(WRONG, WRONG, 9, 0, most, None)
        return result, cast(bytes, related)
    finally:
        capture.close()


def check_related(parts: list[tuple[bytes, int, int]], *, alone: bool) -> _carry.Result:
    return _carry.check_related(parts, WRONG, WRONG, 9, 0, alone, "y")


def test_related_packets_travel() -> None:
    """Packets that the check of a part sets aside are checked later, with their numbers and offsets
    in the whole capture."""
    result, related = check_part(many(3))
    assert (result.listed(), len(result), result.status()) == (3, 0, "wrong")
    again = check_related([(related, 0, 0), (related, 100, 1 << 40)], alone=True)
    assert again.listed() == 6
    first, last = again[0], again[5]
    assert (first.frame_number, last.frame_number) == (1, 103)
    assert last.file_offset == again[2].file_offset + (1 << 40)
    assert first[5:13] == last[5:13]
    assert check_related([], alone=False).status() == "unchecked"


def test_reassembly_of_parts() -> None:
    """A datagram whose fragments are in several parts is reassembled."""
    related = [check_part(captures.pcap([frame]))[1] for frame in fragments()]
    parts = [(packets, 10 * index, 0) for index, packets in enumerate(related)]
    alone, together = (check_related(parts, alone=alone) for alone in (True, False))
    assert (alone.status(), together.status()) == ("clean", "wrong")
    assert together[0].frame_number == 11


def test_limits_and_damage() -> None:
    assert check_part(many(3), most=200)[1] is None
    result, related = check_part(many(3)[:-1])
    assert (result.status(), result.listed()) == ("damaged", 2)
    for cut in (related[:-1], related[:50]):
        with pytest.raises(ValueError, match="cut"):
            check_related([(cut, 0, 0)], alone=True)
    assert check_part(b"no capture")[0].status() == "damaged"


def test_progress_sees_how_much_was_unpacked() -> None:
    data = captures.Pcapng().section().interface().bytes()
    seen: list[tuple[int, int]] = []
    capture = _carry.open_bytes(gzip.compress(data), "x")
    assert (capture.offset(), capture.descriptions()) == (0, 0)

    def note(*_: int) -> None:
        seen.append((capture.offset(), capture.descriptions()))

    capture.check(1, WRONG, WRONG, 0, 0, 0, True, (), note, True)
    assert seen[-1] == (len(data), 2)
    capture.close()
    with pytest.raises(ValueError, match="closed"):
        capture.offset()
