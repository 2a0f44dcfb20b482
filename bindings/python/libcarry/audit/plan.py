# SPDX-License-Identifier: MIT
"""What workers are given: captures in batches, the largest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from .listing import Capture

# Captures whose order is decided together: more of them take the driver's memory.
WAVE = 100_000
# Batches become smaller towards the end, which keeps all cores busy until then: each is a part of
# what is left for a core. But a call takes time of its own, and what is in one call can be lost.
_PART_OF_REST = 2
_BATCH_BYTES = (64 << 20, 4 << 30)
_BATCH_CAPTURES = 500
_UNKNOWN_BYTES = 1 << 20


def waves(captures: Iterable[Capture]) -> Iterator[list[Capture]]:
    """Captures, so many at once, the largest of these first."""
    rest = iter(captures)
    while wave := list(islice(rest, WAVE)):
        wave.sort(key=weight, reverse=True)
        yield wave


def weight(capture: Capture) -> int:
    return _UNKNOWN_BYTES if capture.size is None else capture.size


def batches(captures: Sequence[Capture], cores: int) -> Iterator[tuple[Capture, ...]]:
    """Captures for one call each, in the order given."""
    rest = sum(map(weight, captures))
    batch: list[Capture] = []
    size = 0
    for capture in captures:
        least, most = _BATCH_BYTES
        target = min(most, max(least, rest // (cores * _PART_OF_REST)))
        if batch and (size + weight(capture) > target or len(batch) == _BATCH_CAPTURES):
            yield tuple(batch)
            rest -= size
            batch, size = [], 0
        batch.append(capture)
        size += weight(capture)
    if batch:
        yield tuple(batch)
