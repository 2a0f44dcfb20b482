# SPDX-License-Identifier: MIT
"""Writes the section of the report about functions that lower the clock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from measure.html import capitalized, quiet, row, table, tag
from measure.losses import place_text
from measure.plan import TOLERANCE, WORKS, Work
from measure.result import Result, functions_of, lowers_clock

UNKNOWN = (
    "Not known: this result is of a time when samples beside a lower clock were all thrown away, "
    "the function that lowered it."
)


@dataclass(frozen=True)
class Effect:
    """The effect of a function on the clock."""

    name: str
    lowered: list[dict[str, Any]]  # the cells in which it lowers the clock
    timed: int  # the number of cells in which it was timed

    @property
    def worst(self) -> dict[str, Any]:
        return max(self.lowered, key=self.of)

    def of(self, cell: dict[str, Any]) -> float:
        return cell["clock"][self.name]


def effects(result: Result, work: Work) -> Iterator[Effect]:
    """Yields an effect for each function that lowers the clock in a work."""
    cells = [cell for cell in result["cells"] if cell["work"] == work.name]
    for name in functions_of(result, work.name):
        lowered = [cell for cell in cells if lowers_clock(cell, name)]
        if lowered:
            yield Effect(name, lowered, sum(name in cell["ns"] for cell in cells))


def effect_row(result: Result, work: Work, effect: Effect) -> str:
    sizes = [cell["size"] for cell in effect.lowered if cell["size"]]
    worst = effect.worst
    return row(
        [
            escape(capitalized(work.title)),
            tag("td", escape(result["functions"][effect.name]["title"]), class_="left"),
            f"{len(effect.lowered)} of {effect.timed}",
            f"{min(sizes):,}" if sizes else "&ndash;",
            tag("b", f"{100 / effect.of(worst):.0f} %"),
            tag("td", f"{worst['mode']}, {place_text(worst)}", class_="left"),
        ]
    )


def clock_section(result: Result) -> str:
    title = tag("h2", "What functions do to the clock", id="clock")
    if not any(cell["clock"] for cell in result["cells"]):
        return title + quiet(UNKNOWN)
    rows = [effect_row(result, work, effect) for work in WORKS for effect in effects(result, work)]
    if not rows:
        none = f"No function lowers the clock by more than {100 * (TOLERANCE - 1):.0f} %."
        return title + quiet(none)
    note = quiet(
        "Instructions on wide vectors lower the clock of some CPUs, for about a millisecond, and "
        "with it everything that the program does besides. It is measured by a loop of integers "
        "beside the function, in turns with the same loop beside an empty one."
    )
    left = (tag("th", text, class_="left") for text in ("function", "there"))
    head = ("work", next(left), "in cells", "from bytes", "clock, at worst", next(left))
    return title + note + table(head, rows)
