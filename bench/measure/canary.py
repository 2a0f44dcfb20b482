# SPDX-License-Identifier: MIT
"""Distinguishes noise of other programs from a clock that a function lowers.

The canary is a loop of integer operations that always takes the same time, unless another program
uses the core or the clock of the core changes. It runs beside each function, and before that beside
an empty function. Another program slows both runs, and does so equally often for all functions:
such samples are discarded. A canary that is slow beside one function, but not beside the empty
function just before, shows that the function lowers the clock. Such samples are kept, as the lower
clock is a cost of the function.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from measure.plan import TOLERANCE

QUIETEST = 0.25  # quantile of canaries beside the empty function: their undisturbed time
MORE_OFTEN = 0.25  # share of slow canaries, beyond explained ones, that shows a lowered clock
OWN_USUAL = 0.8  # quantile of canaries beside a function that lowers the clock: their usual time
FEWEST = 8  # samples needed to judge a function


@dataclass
class Canaries:
    """Times of canaries in nanoseconds, by cell, subject, start and round; NaN if nothing ran."""

    rest_before: np.ndarray  # before the calls of the empty function
    rest: np.ndarray  # after the calls of the empty function
    before: np.ndarray  # before the calls of the timed function
    after: np.ndarray  # after the calls of the timed function

    @classmethod
    def empty(cls, shape: tuple[int, ...]) -> Canaries:
        return cls(*(np.full(shape, np.nan, dtype=np.float32) for _ in fields(cls)))

    def of(self, subjects: list[int], starts: int) -> Canaries:
        all_of = (getattr(self, field.name) for field in fields(self))
        return Canaries(*(one[:, subjects, :starts] for one in all_of))


@dataclass
class Judgement:
    disturbed: np.ndarray  # samples whose canary another program slowed
    lowers: np.ndarray  # by cell and subject: whether the function slows the canary
    clock: np.ndarray  # by cell and subject: the canary's time, divided by its undisturbed time


def usual(probes: list[int]) -> float:
    """Returns the undisturbed time of the canary, from probes beside the empty function."""
    return float(np.quantile(probes, QUIETEST)) if probes else math.inf


def share(of: np.ndarray, among: np.ndarray) -> float:
    return float(np.count_nonzero(of & among) / max(1, np.count_nonzero(among)))


def explained(slow_before: np.ndarray, slow: np.ndarray, rests: np.ndarray) -> np.ndarray:
    """Returns the share of samples in which other programs slow the canary, for samples that are as
    long as `rests` rests."""
    seen = ~np.isnan(rests)
    within_a_rest = share(slow, seen & ~slow_before)
    ever = share(slow, seen)
    return np.minimum(ever, 1 - (1 - within_a_rest) ** rests)


def own_limit(slowness: np.ndarray, calm: np.ndarray, lowers: np.ndarray) -> np.ndarray:
    """Returns the slowness of canaries above which samples are discarded, by cell and subject."""
    limit = np.full(lowers.shape, TOLERANCE)
    for at in zip(*np.nonzero(lowers), strict=True):
        usual = np.nanquantile(slowness[at][calm[at]], OWN_USUAL)
        limit[at] = max(1.0, usual) * TOLERANCE
    return limit[:, :, None, None]


def mean(values: np.ndarray, where: np.ndarray) -> np.ndarray:
    """Returns means over starts and rounds; NaN if there are no values."""
    count = np.count_nonzero(where, axis=(2, 3))
    total = np.where(where, values, 0.0).sum(axis=(2, 3))
    return np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)


def judge(canaries: Canaries, quiet: np.ndarray, rests: np.ndarray) -> Judgement:
    """Judges the samples of one process.

    `quiet` holds the undisturbed time of its canary at each start; `rests` holds the lengths of
    samples, in rests beside the empty function.
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
