# SPDX-License-Identifier: MIT
"""Divides captures into batches for workers, the largest captures first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from .listing import Capture

# The number of captures that are sorted together: more would need much memory in the driver.
WAVE = 100_000
# Batches become smaller towards the end, to keep all cores busy until then: each is a fraction of
# the bytes that remain for a core. Batches that are too small waste time on calls; a large batch
# loses many results if its call fails.
_PART_OF_REST = 2
_BATCH_BYTES = (64 << 20, 4 << 30)
_BATCH_CAPTURES = 500
_UNKNOWN_BYTES = 1 << 20


def waves(captures: Iterable[Capture]) -> Iterator[list[Capture]]:
    """Yields lists of captures, each with its largest captures first."""
    rest = iter(captures)
    while wave := list(islice(rest, WAVE)):
        wave.sort(key=weight, reverse=True)
        yield wave


def weight(capture: Capture) -> int:
    return _UNKNOWN_BYTES if capture.size is None else capture.size


def batches(captures: Sequence[Capture], cores: int) -> Iterator[tuple[Capture, ...]]:
    """Yields the captures of each call, in the given order."""
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
