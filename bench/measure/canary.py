# SPDX-License-Identifier: MIT
"""Tells a neighbour's noise from a clock that a function lowers.

The canary is a loop of integers that takes as long each time, unless somebody else uses the core or
its clock changes. It runs beside each function, and before that beside an empty one. A neighbour
makes both slow, and each function as often as any other: such samples are thrown away. What is slow
beside one function, and was not beside the empty one just before, is what this function does to the
clock: such samples stay, as that is what the function costs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from measure.plan import TOLERANCE

QUIETEST = 0.25  # of the canaries beside the empty function: as they are without neighbours
MORE_OFTEN = 0.25  # slow in so many more of its samples than neighbours explain: the function is
OWN_USUAL = 0.8  # of the canaries beside a function that lowers the clock
FEWEST = 8  # samples to judge a function by


@dataclass
class Canaries:
    """Nanoseconds, by cell and subject, then start and round; NaN where nothing ran."""

    rest_before: np.ndarray  # beside the empty function, before and after its calls
    rest: np.ndarray
    before: np.ndarray  # beside the function that is timed, likewise
    after: np.ndarray

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> Canaries:
        return cls(*(np.full(shape, np.nan, dtype=np.float32) for _ in fields(cls)))

    def of(self, subjects: list[int], starts: int) -> Canaries:
        all_of = (getattr(self, field.name) for field in fields(self))
        return Canaries(*(one[:, subjects, :starts] for one in all_of))


@dataclass
class Judgement:
    disturbed: np.ndarray  # samples beside which somebody else made the canary slow
    lowers: np.ndarray  # by cell and subject: whether the function makes it slow
    clock: np.ndarray  # by cell and subject: how long it takes, in its usual time beside nothing


def usual(probes: list[int]) -> float:
    """What the canary takes beside the empty function, of some that had time to recover."""
    return float(np.quantile(probes, QUIETEST)) if probes else math.inf


def share(of: np.ndarray, among: np.ndarray) -> float:
    return float(np.count_nonzero(of & among) / max(1, np.count_nonzero(among)))


def explained(slow_before: np.ndarray, slow: np.ndarray, rests: np.ndarray) -> np.ndarray:
    """How often a neighbour makes the canary slow within a sample that is so many rests long."""
    seen = ~np.isnan(rests)
    within_a_rest = share(slow, seen & ~slow_before)
    ever = share(slow, seen)
    return np.minimum(ever, 1 - (1 - within_a_rest) ** rests)


def own_limit(slowness: np.ndarray, calm: np.ndarray, lowers: np.ndarray) -> np.ndarray:
    """Up to where a canary is as usual: by cell and subject, in those beside the empty function."""
    limit = np.full(lowers.shape, TOLERANCE)
    for at in zip(*np.nonzero(lowers), strict=True):
        usual = np.nanquantile(slowness[at][calm[at]], OWN_USUAL)
        limit[at] = max(1.0, usual) * TOLERANCE
    return limit[:, :, None, None]


def mean(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Over starts and rounds; NaN where there are none."""
    count = np.count_nonzero(where, axis=(2, 3))
    total = np.where(where, values, 0.0).sum(axis=(2, 3))
    return np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)


def judge(canaries: Canaries, quiet: np.ndarray, rests: np.ndarray) -> Judgement:
    """Of one process.

    `quiet` holds by start what its canary usually takes; `rests` says how long samples are, in
    rests beside the empty function.
    """
    taken = ~np.isnan(canaries.rest) & ~np.isnan(canaries.after)
    usual = quiet[:, None]
    slow = canaries.after > usual * TOLERANCE
    slow_rest = canaries.rest > usual * TOLERANCE
    calm = taken & ~slow_rest
    by_neighbours = explained(
        canaries.rest_before > usual * TOLERANCE, slow_rest, np.where(taken, rests, np.nan)
    )
    enough = np.count_nonzero(calm, axis=(2, 3)) >= FEWEST
    lowers = enough & (mean(slow - by_neighbours, calm) > MORE_OFTEN)
    kept = calm.copy()
    for canary in (canaries.before, canaries.after):
        kept &= canary <= usual * own_limit(canary / usual, calm, lowers)
    return Judgement(taken & ~kept, lowers, mean(canaries.after / usual, kept))
