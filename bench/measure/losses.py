# SPDX-License-Identifier: MIT
"""Writes two sections of the report: a tally of all cells, and the cells that the library loses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from statistics import median
from typing import Any

from measure.html import capitalized, row, table, tag
from measure.plan import MIX_TITLES, OURS, WORKS
from measure.result import LEVEL_NS, LOSES_BELOW, Result, Standing, floor_of, standings
from measure.text import join, show_added, show_bytes, show_ns, show_speed

WORK_TITLES = {work.name: work.title for work in WORKS}
ORDER = {work.name: place for place, work in enumerate(WORKS)}


def place_text(cell: dict[str, Any]) -> str:
    """Returns the size and offsets of a cell, such as "1,500 from 1", or the title of its mix."""
    if not cell["size"]:
        return MIX_TITLES.get(cell["mode"], "&ndash;")
    at = f" from {cell['offset']}" if cell["offset"] else ""
    to = f" to {cell['to']}" if cell["to"] else ""
    return f"{show_bytes(cell['size'])}{at}{to}"


def title_of(result: Result, name: str) -> str:
    return escape(result["functions"][name]["title"])


def times(value: float) -> str:
    return f"{show_speed(value)}&times;"


# --- The tally ---


def left(text: str) -> str:
    return tag("th", text, class_="left")


def tally(result: Result) -> str:
    """Returns a table with a row for each work, and a row for all works."""
    found = standings(result)
    rows = []
    for work in WORKS:
        ones = [one for one in found if one.cell["work"] == work.name]
        if ones:
            rows.append(tally_row(capitalized(work.title), work.api, ones))
    if len(rows) > 1:
        rows.append(tally_row("All", "", found))
    head = (
        *("", left("judged"), "cells", "faster", "within 5 %", "slower"),
        *("worst speed", "median", "best"),
    )
    return table(head, rows, id="tally")


def tally_row(title: str, api: str, ones: list[Standing]) -> str:
    speeds = [one.speed for one in ones]
    lost = sum(one.loses for one in ones)
    won = sum(one.speed > 1 / LOSES_BELOW and one.speedup[1] > 1 for one in ones)
    red = tag("td", str(lost), class_="broken") if lost else "0"
    ends = (times(value) for value in (min(speeds), median(speeds), max(speeds)))
    counts = map(str, (len(ones), won, len(ones) - won - lost))
    return row([escape(title), tag("td", escape(api), class_="left"), *counts, red, *ends])


# --- Losses ---


@dataclass(frozen=True)
class Group:
    """Adjacent sizes of a work and mode, each with a lost cell."""

    work: str
    mode: str
    lost: list[Standing]
    cells: int  # the number of all cells of these sizes

    @property
    def worst(self) -> Standing:
        return min(self.lost, key=lambda one: one.speedup[0])


def groups(found: list[Standing]) -> Iterator[Group]:
    places: dict[tuple[str, str], dict[int, list[Standing]]] = {}
    for one in found:
        cell = one.cell
        sizes = places.setdefault((cell["work"], cell["mode"]), {})
        sizes.setdefault(cell["size"], []).append(one)
    for (work, mode), sizes in sorted(places.items(), key=lambda item: ORDER[item[0][0]]):
        run: list[Standing] = []
        for size in [*sorted(sizes), None]:
            ones = sizes.get(size, [])
            if any(one.loses for one in ones):
                run += ones
            elif run:
                yield Group(work, mode, [one for one in run if one.loses], len(run))
                run = []


def time_above_floor(result: Result, one: Standing, name: str) -> str:
    """Returns a function's time, and its excess over a call of an empty function."""
    time, floor = one.cell["ns"][name][0], floor_of(result, one.cell, name)
    return f"{show_ns(time)} ({show_added(time - floor)})" if floor else show_ns(time)


def both(result: Result, one: Standing) -> list[str]:
    """Returns the library's time, and the peer's."""
    return [time_above_floor(result, one, name) for name in (OURS[one.cell["work"]], one.best)]


def group_row(result: Result, group: Group) -> str:
    sizes = sorted({one.cell["size"] for one in group.lost})
    ends = dict.fromkeys(show_bytes(size) for size in (sizes[0], sizes[-1]) if size)
    bytes_shown = " to ".join(ends) or MIX_TITLES.get(group.mode, "&ndash;")
    peers = dict.fromkeys(title_of(result, one.best) for one in group.lost)
    worst = group.worst
    return row(
        [
            tag("td", escape(capitalized(WORK_TITLES[group.work])), class_="wrapped"),
            tag("td", group.mode, class_="left"),
            tag("td", bytes_shown, class_="left"),
            tag("b", times(worst.speedup[0])),
            f"{len(group.lost)} of {group.cells}",
            tag("td", place_text(worst.cell), class_="left"),
            *both(result, worst),
            tag("td", join(list(peers)), class_="left wrapped"),
        ]
    )


def cell_row(result: Result, one: Standing) -> str:
    cell = one.cell
    middle, low, high = one.speedup
    return row(
        [
            tag("td", escape(capitalized(WORK_TITLES[cell["work"]])), class_="wrapped"),
            tag("td", cell["mode"], class_="left"),
            tag("td", place_text(cell), class_="left"),
            tag("b", times(middle)),
            f"{low:.2f} to {high:.2f}",
            *both(result, one),
            tag("td", title_of(result, one.best), class_="left"),
        ]
    )


def losses(result: Result) -> str:
    """Returns all cells that the library loses, in groups and one by one."""
    found = standings(result)
    lost = [one for one in found if one.loses]
    behind = sum(one.behind for one in found)
    near = f"{behind} more are slower by less than that."
    if not lost:
        text = f"No cell of {len(found)} is slower than its fastest peer by more than 5 %. {near}"
        return tag("div", text, class_="good", id="losses")
    note = (
        f"<p>Slower than the fastest peer by more than 5 %; {near} <i>From</i> and <i>to</i> are "
        "the offsets in a page at which data and copy begin. The figure in parentheses is the time "
        "without a call of an empty function. That call is measured too, so the figure may be "
        "negative. A clock cycle is 0.2 to 0.4 ns. Times below a cycle that differ by no "
        f"more than {LEVEL_NS} ns are equal.</p>"
    )
    ns = ("libcarry, ns", "peer, ns")
    head = ("work", left("mode"), left("bytes"), "worst speed", "cells lost", left("worst at"), *ns)
    rows = [group_row(result, group) for group in groups(found)]
    grouped = table([*head, left("faster peers")], rows)
    head = ("work", left("mode"), left("at"), "speed", "95 % interval", *ns, left("faster peer"))
    lost.sort(key=lambda one: (ORDER[one.cell["work"]], one.speedup[0]))
    each = table(head, [cell_row(result, one) for one in lost], id="lost-cells")
    summary = tag("summary", f"Each of the {len(lost)} cells, the worst of a work first")
    title = tag("h2", f"Where the library loses: {len(lost)} of {len(found)} cells")
    box = title + note + grouped + tag("details", summary + each)
    return tag("section", box, class_="loss", id="losses")
