# SPDX-License-Identifier: MIT
"""Computes medians and their intervals.

Samples come in rows, one for each start of the processes: the addresses of code, stack and data
change with each start. Therefore the interval of a median is found by drawing whole rows with
replacement: a median that differs between starts has a wide interval.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

DRAWS = 200
CONFIDENCE = 0.95
FEWEST = 3  # the fewest samples of a median


class Estimate(NamedTuple):
    median: float
    low: float
    high: float


def estimate(samples: np.ndarray) -> Estimate | None:
    """Estimates the median of samples in rows; NaN means no sample. Returns None if there are fewer
    samples than FEWEST."""
    rows = samples[~np.isnan(samples).all(axis=1)]
    if np.count_nonzero(~np.isnan(rows)) < FEWEST:
        return None
    drawn = np.random.default_rng(1).integers(len(rows), size=(DRAWS, len(rows)))
    medians = np.nanmedian(rows[drawn].reshape(DRAWS, -1), axis=1)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(medians, (tail, 1 - tail))
    return Estimate(float(np.nanmedian(rows)), float(low), float(high))


def speedup(ours: np.ndarray, theirs: np.ndarray) -> Estimate | None:
    """Estimates how many times as fast `ours` is, from samples that were taken alternately."""
    return estimate(theirs / ours)
