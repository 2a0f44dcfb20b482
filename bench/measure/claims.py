# SPDX-License-Identifier: MIT
"""Checks whether a result shows what the library claims."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from measure.plan import MIX_TITLES
from measure.result import LOSES_BELOW, Result, Standing, standings, unmeasured
from measure.stats import Estimate
from measure.text import join, show_speed

WIDEST = 0.1  # as a share of the figure: a wider interval is useless


@dataclass(frozen=True)
class Claim:
    text: str
    wanted: float
    speed: Estimate | None
    lacks: tuple[str, ...] = ()  # parts without a figure
    lost: bool = False  # all samples of one of its cells were discarded

    @property
    def value(self) -> float | None:
        return self.speed.median if self.speed else None

    @property
    def kept(self) -> bool:
        return self.value is not None and self.value >= self.wanted

    @property
    def is_noisy(self) -> bool:
        """Returns whether all samples of a cell were discarded, or the interval is too wide. A
        claim that was not measured is not noisy."""
        wide = self.speed and self.speed.high - self.speed.low > WIDEST * self.speed.median
        return self.lost or bool(wide)


def is_at(cell: dict[str, Any], mode: str, size: int) -> bool:
    place = (cell["work"], cell["mode"], cell["size"], cell["offset"])
    return place == ("sum", mode, size, 0)


def least(speeds: Iterable[Estimate | None]) -> Estimate | None:
    return min((speed for speed in speeds if speed), default=None)


def against(result: Result, mode: str, size: int, peer: str | None = None) -> Estimate | None:
    """Returns the lowest speed of sums in the cells of a mode and size, as a multiple of the speed
    of `peer` (by default, of the fastest peer of each cell)."""
    found = (
        one.cell["speedup"].get(peer or one.best)
        for one in standings(result)
        if is_at(one.cell, mode, size)
    )
    return least(Estimate(*speed) for speed in found if speed)


def is_lost(result: Result, mode: str, size: int, peer: str | None = None) -> bool:
    """Returns whether the library lacks a time in a cell of a mode and size, and `peer`, if given,
    has one."""
    return any(
        is_at(cell, mode, size) and (peer is None or peer in cell["ns"])
        for cell in unmeasured(result)
    )


def judged_speed(one: Standing) -> Estimate:
    return Estimate(1.0, 1.0, 1.0) if one.is_level else Estimate(*one.speedup)


def one_size(result: Result, text: str, wanted: float, peer: str | None = None) -> Claim:
    place = ("hot", 1500, peer)
    return Claim(text, wanted, against(result, *place), lost=is_lost(result, *place))


def claims(result: Result) -> list[Claim]:
    mixed = {mode: against(result, mode, 0) for mode in ("mixed64", "mixed1500", "imix")}
    return [
        one_size(result, "sum of 1,500 bytes, hot, against the fastest peer", 1.4),
        one_size(result, "the same, against Linux", 3.3, "linux"),
        Claim(
            "sum of sizes that vary, against the fastest peer (the worst)",
            1.15,
            least(mixed.values()),
            tuple(MIX_TITLES[mode] for mode in mixed if mixed[mode] is None),
            any(is_lost(result, mode, 0) for mode in mixed),
        ),
        Claim(
            "every cell, against its fastest peer (the worst)",
            LOSES_BELOW,
            least(map(judged_speed, standings(result))),
        ),
    ]


def unknown(found: list[Claim]) -> list[str]:
    """Returns the claims that lack a figure, or the figures of some parts."""
    texts = []
    for claim in found:
        if claim.value is None:
            texts.append(claim.text)
        elif claim.lacks:
            texts.append(f"{claim.text}: {join(list(claim.lacks))}")
    return texts


def noisy(found: list[Claim]) -> list[str]:
    """Returns the claims whose interval is useless because of noise, each with its interval if it
    has one."""
    texts = []
    for claim in found:
        if claim.lost:
            texts.append(f"{claim.text}: no samples are left")
        elif claim.is_noisy and claim.speed:
            low, high = show_speed(claim.speed.low), show_speed(claim.speed.high)
            texts.append(f"{claim.text}: {low} to {high}")
    return texts
