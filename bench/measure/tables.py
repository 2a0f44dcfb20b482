# SPDX-License-Identifier: MIT
"""Makes tables of times, and heat maps of speeds."""

from __future__ import annotations

from html import escape
from typing import Any

from measure.html import quiet, row, table, tag
from measure.plan import MIX_TITLES, OURS, is_beside
from measure.result import (
    KINDS,
    LOSES_BELOW,
    Result,
    Standing,
    lowers_clock,
    standing,
    takes_part,
    winners,
)
from measure.text import show_added, show_bytes, show_ns, show_speed

TABLE_SIZES = (8, 20, 40, 64, 128, 256, 576, 1500, 4096, 9000, 65535)

# --- Times ---


def is_plain(cell: dict[str, Any]) -> bool:
    return cell["offset"] == 0 and cell["to"] == 0


def cell_title(cell: dict[str, Any]) -> str:
    return show_bytes(cell["size"]) if cell["size"] else MIX_TITLES[cell["mode"]]


def interval_text(value: list[float]) -> str:
    return f"{show_ns(value[1])} to {show_ns(value[2])}"


def time_cell(result: Result, cell: dict[str, Any], name: str) -> str:
    value = cell["ns"].get(name)
    if not value and name == OURS[cell["work"]]:
        return tag("td", "none", class_="broken", title="not measured")
    if not value:
        return tag("td", "&ndash;", class_="floor")
    interval, mark = interval_text(value), ""
    if lowers_clock(cell, name):
        interval += f", at {100 / cell['clock'][name]:.0f} % of the clock"
        mark = " &darr;"
    won = name in winners(result, cell)
    look = "win" if won else "" if takes_part(result, name) else "floor"
    return tag("td", show_ns(value[0]) + mark, class_=look, title=interval)


def in_order(result: Result, cells: list[dict[str, Any]]) -> list[str]:
    """Returns the functions in order: the library, peers, then functions that are not compared."""
    timed = {name for cell in cells for name in (*cell["ns"], OURS[cell["work"]])}
    names = [name for name in result["functions"] if name in timed]
    return sorted(names, key=lambda name: KINDS.index(result["functions"][name]["kind"]))


def time_table(result: Result, cells: list[dict[str, Any]]) -> str:
    """Returns a table with a row for each function and a column for each cell. The winner of each
    cell is bold."""
    rows = []
    for name in in_order(result, cells):
        look = "" if takes_part(result, name) else "floor"
        title = tag("td", escape(result["functions"][name]["title"]), class_=look)
        rows.append(row([title, *(time_cell(result, cell, name) for cell in cells)]))
    return table(["bytes", *map(cell_title, cells)], rows)


def time_tables(result: Result, cells: list[dict[str, Any]]) -> str:
    plain = [cell for cell in cells if is_plain(cell)]
    shown = {
        "the same bytes again and again": [
            cell for cell in plain if cell["mode"] == "hot" and cell["size"] in TABLE_SIZES
        ],
        "latency": [cell for cell in plain if cell["mode"] == "latency"],
        "sizes that vary, and large ones": [
            cell
            for cell in plain
            if cell["mode"] not in ("hot", "latency") and not is_beside(cell["mode"])
        ],
    }
    parts = [tag("h3", "Nanoseconds a call")]
    parts.append(
        quiet(
            "Data starts at the start of a page. The winner is bold; grey ones do not take part; "
            "&darr; marks a function that lowers the clock there."
        )
    )
    for title, own in shown.items():
        if own:
            parts.append(tag("h4", title) + time_table(result, own))
    return "".join(parts)


def beside_cell(result: Result, cell: dict[str, Any], name: str) -> str:
    """Returns the time of a whole turn, and the part that the call adds."""
    added = cell["above"].get(name)
    whole = time_cell(result, cell, name)
    if not added:
        return whole
    shown = tag("span", " " + show_added(added[0]), class_="added", title=interval_text(added))
    return whole.removesuffix("</td>") + shown + "</td>"


def beside_table(result: Result, cells: list[dict[str, Any]]) -> str:
    """Returns a table of the times that calls add to a program with other work between them."""
    beside = [cell for cell in cells if is_beside(cell["mode"])]
    if not beside:
        return ""
    rows = []
    for name in in_order(result, beside):
        look = "" if takes_part(result, name) else "floor"
        title = tag("td", escape(result["functions"][name]["title"]), class_=look)
        rows.append(row([title, *(beside_cell(result, cell, name) for cell in beside)]))
    note = quiet(
        "Behind each call follows a microsecond of other work, which counts: a thousand "
        "multiplications, each of which waits for the last one. Small are the nanoseconds above "
        "that work with an empty function in it, which is what a call costs the program: calls and "
        "other work overlap, and a clock that a function lowers makes the work take longer."
    )
    shown = table(["bytes", *map(cell_title, beside)], rows)
    return tag("h3", "Nanoseconds a turn beside other work") + note + shown


# --- Speeds ---


def heat_style(speed: float) -> str:
    """Returns a colour: red if slower, blue if faster. It is strongest at half the speed and at
    four times the speed."""
    if speed < 1:
        name, part = "slower", 1 / speed - 1
    else:
        name, part = "faster", (speed - 1) / 3
    return f"background:rgb(var(--{name}) / {min(1.0, part) * 0.75:.2f})"


def heat_cell(result: Result, one: Standing | None) -> str:
    if not one:
        return "<td></td>"
    median, low, high = one.speedup
    best = result["functions"][one.best]["title"]
    title = f"{median:.3f} times the speed of {best}, {low:.3f} to {high:.3f}"
    look = {"class_": "lost"} if one.loses else {}
    return tag("td", show_speed(median), style=heat_style(median), title=title, **look)


def legend() -> str:
    speeds = (0.5, 0.67, 0.8, LOSES_BELOW, 1, 1.25, 1.5, 2, 3, 4)
    cells = "".join(tag("td", show_speed(speed), style=heat_style(speed)) for speed in speeds)
    words = "<td>slower</td>", "<td>faster, four times and more</td>"
    shown = tag("table", tag("tr", words[0] + cells + words[1]), class_="heat legend")
    return tag("div", shown, class_="scroll") + quiet("Where the library loses, cells are framed.")


def line_title(cell: dict[str, Any]) -> str:
    """Returns the title of a cell's row: "hot, from 14 to 2"."""
    at = f", from {cell['offset']}" if cell["offset"] else ""
    to = f", to {cell['to']}" if cell["to"] else ""
    return f"{cell['mode']}{at}{to}"


def heat_map(result: Result, cells: list[dict[str, Any]]) -> str:
    """Returns a map of speeds against the fastest peer: sizes across, modes and alignments down."""
    packets = [cell for cell in cells if cell["mode"] in ("hot", "latency", "beside")]
    sizes = sorted({cell["size"] for cell in packets})
    lines: dict[str, dict[int, Standing | None]] = {}
    for cell in packets:
        lines.setdefault(line_title(cell), {})[cell["size"]] = standing(result, cell)
    rows = [
        row([title, *(heat_cell(result, line.get(size)) for size in sizes)])
        for title, line in lines.items()
    ]
    head = (tag("th", tag("span", show_bytes(size)), class_="size") for size in sizes)
    parts = [
        tag("h3", "Speed against the fastest peer, by size, alignment and mode"),
        table(["", *head], rows, class_="heat"),
    ]
    others = [cell for cell in cells if cell not in packets]
    if others:
        speeds = [heat_cell(result, standing(result, cell)) for cell in others]
        titles = [cell_title(cell) + ", beside" * is_beside(cell["mode"]) for cell in others]
        rows = [row(["sizes that vary, and large ones", *speeds])]
        parts.append(table(["", *titles], rows, class_="heat others"))
    return "".join([*parts, legend()])


# --- Works without bytes ---


def loop_table(result: Result, cells: list[dict[str, Any]]) -> str:
    """Returns a table with a row for each function, the fastest first."""
    rows = []
    for cell in cells:
        for name in sorted(cell["ns"], key=lambda name: cell["ns"][name][0]):
            speed = cell["speedup"].get(name)
            shown = "&ndash;"
            if speed:
                middle, low, high = map(show_speed, speed)
                shown = f"{middle}&times; ({low} to {high})"
            look = "" if takes_part(result, name) else "floor"
            title = tag("td", escape(result["functions"][name]["title"]), class_=look)
            rows.append(row([title, time_cell(result, cell, name), shown]))
    return table(("", "ns", "libcarry's speed against it"), rows)
