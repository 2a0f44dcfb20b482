# SPDX-License-Identifier: MIT
"""What the library is built for, and whether a result shows it."""

from __future__ import annotations

from dataclasses import dataclass

from measure.plan import MIX_TITLES
from measure.result import LOSES_BELOW, Result, standings
from measure.text import join


@dataclass(frozen=True)
class Claim:
    text: str
    wanted: float
    value: float | None
    lacks: tuple[str, ...] = ()  # parts of it without a figure

    @property
    def kept(self) -> bool:
        return self.value is not None and self.value >= self.wanted


def against(result: Result, mode: str, size: int, peer: str | None = None) -> float | None:
    """The least speed of sums in cells of a mode, against a peer or the fastest of each cell."""
    found = [
        one.cell["speedup"].get(peer or one.best, [None])[0]
        for one in standings(result)
        if (one.cell["work"], one.cell["mode"]) == ("sum", mode)
        and (one.cell["size"], one.cell["offset"]) == (size, 0)
    ]
    return min((speed for speed in found if speed is not None), default=None)


def claims(result: Result) -> list[Claim]:
    worst = min((one.speedup[0] for one in standings(result)), default=None)
    mixed = {mode: against(result, mode, 0) for mode in ("mixed64", "mixed1500", "imix")}
    return [
        Claim(
            "sum of 1,500 bytes, hot, against the fastest peer", 1.4, against(result, "hot", 1500)
        ),
        Claim("the same, against Linux", 3.3, against(result, "hot", 1500, "linux")),
        Claim(
            "sum of sizes that vary, against the fastest peer (the worst)",
            1.15,
            min((speed for speed in mixed.values() if speed is not None), default=None),
            tuple(MIX_TITLES[mode] for mode in mixed if mixed[mode] is None),
        ),
        Claim("every cell, against its fastest peer (the worst)", LOSES_BELOW, worst),
    ]


def unknown(found: list[Claim]) -> list[str]:
    """What has no figure, or has one of a part alone."""
    texts = []
    for claim in found:
        if claim.value is None:
            texts.append(claim.text)
        elif claim.lacks:
            texts.append(f"{claim.text}: {join(list(claim.lacks))}")
    return texts
