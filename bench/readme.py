#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the tables of README.md and docs/bench.md from results in the tree.

    bench/readme.py                 writes the tables again
    bench/readme.py RESULT          writes them, with RESULT in the README's large table
    bench/readme.py --check         only checks whether they are up to date (exit status 1 if not)

A line before each table names its result, and the kind of table:

    <!-- table of RESULT -->        times by size and peer
    <!-- short table of RESULT -->  a few of these times, for a further CPU
    <!-- losses of RESULT -->       lost cells; keeps the text of the last column

    <!-- end of the table -->       ends it; likewise "short table" or "losses" in place of "table"
"""

from __future__ import annotations

import argparse
import difflib
import itertools
import re
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import result
from measure.claims import against
from measure.losses import Group, groups, place_text
from measure.peers import ROOT
from measure.plan import MIX_TITLES, OURS, TOLERANCE
from measure.text import LANGUAGE_TITLES, join, show_bytes, show_ns

README = ROOT / "README.md"
DOCUMENTS = (README, ROOT / "docs/bench.md")
BLOCK = re.compile(
    r"<!-- (table|short table|losses) of (\S+) -->\n(.*?)<!-- end of the \1 -->\n", re.DOTALL
)

# Columns: peers in C by name, and the fastest peer in Rust and in Go. The report shows all.
PEERS_IN_C = {"dpdk": "DPDK", "linux": "Linux", "linux-generic": "Linux, C"}
LANGUAGES = ("rust", "go")
SMALL = 256
BOUNDS = {"load@c": "loads", "floor@c": "empty"}
SHORT = (
    *(("hot", size) for size in (20, 64, 256, 1500, 9000)),
    *(("latency", 20), ("mixed64", 0), ("imix", 0)),
)
ROWS = (
    *(("hot", size) for size in (20, 64, 256, 1500, 9000, 65535)),
    *(("latency", size) for size in (20, 1500)),
    *(("mixed64", 0), ("mixed1500", 0), ("imix", 0)),
)
PROGRAMS = (
    *("carry check", "carry check -j1", "tcpdump -vv", "tshark"),
    *("carry fix", "tcprewrite -C"),
)


class ReadmeError(Exception):
    """Reports what is wrong with the README or the result."""


def row_title(mode: str, size: int) -> str:
    if mode in MIX_TITLES:
        return MIX_TITLES[mode]
    return show_bytes(size) + (", latency" if mode == "latency" else "")


def find_cell(found: result.Result, mode: str, size: int) -> dict[str, Any]:
    for cell in found["cells"]:
        if (cell["work"], cell["mode"], cell["size"]) == ("sum", mode, size) and not cell["offset"]:
            return cell
    raise ReadmeError(f"the result has no cell of {mode}, {size} bytes")


@dataclass(frozen=True)
class Column:
    title: str
    function: str


def fastest_of(found: result.Result, peers: list[str]) -> list[str]:
    """Returns the function of these peers that is fastest in the most rows of the table."""
    functions = found["functions"]
    names = {name for name in functions if functions[name]["peer"] in peers}
    return result.fastest((find_cell(found, *row) for row in ROWS), names)


def fastest_in(found: result.Result, language: str) -> list[str]:
    return fastest_of(found, [p["name"] for p in found["peers"] if p["language"] == language])


def choose_columns(found: result.Result) -> list[Column]:
    """Returns the columns for the functions of the result."""
    ours = OURS["sum"]
    columns = [Column(function_title(found, ours), ours)]
    for peer, title in PEERS_IN_C.items():
        shown = linux_title(found) if peer == "linux" else title
        columns += (Column(shown, name) for name in fastest_of(found, [peer]))
    for language in LANGUAGES:
        shown = LANGUAGE_TITLES[language]
        for name in fastest_in(found, language):
            columns.append(Column(f"{peer_title(found, name).split()[0]}, {shown}", name))
    columns += (Column(title, name) for name, title in BOUNDS.items() if name in found["functions"])
    return columns


def linux_title(found: result.Result) -> str:
    """Returns a title with the release of Linux, as csum_partial() differs between releases."""
    fetched = found["notes"].get("c", {}).get("version-linux", "")
    version = re.match(r"\d+\.\d+", fetched)
    return f"Linux {version[0]}" if version else "Linux"


def function_title(found: result.Result, name: str) -> str:
    return found["functions"][name]["title"]


def peer_title(found: result.Result, name: str) -> str:
    peer = found["functions"][name]["peer"]
    return next(row["title"] for row in found["peers"] if row["name"] == peer)


def time_of(cell: dict[str, Any], name: str) -> str:
    if name in cell["ns"]:
        return show_ns(cell["ns"][name][0]) + "↓" * result.lowers_clock(cell, name)
    return "not measured" if name == OURS[cell["work"]] else "-"


def bold(found: result.Result, cell: dict[str, Any], name: str) -> str:
    """Returns a time, bold if it is the fastest. No time is bold if the library has none."""
    text = time_of(cell, name)
    judged = OURS[cell["work"]] in cell["ns"]
    return f"**{text}**" if judged and name in result.winners(found, cell) else text


def table_row(found: result.Result, mode: str, size: int, columns: list[Column]) -> str:
    """Returns the row of a mode and size."""
    cell = find_cell(found, mode, size)
    shown = [bold(found, cell, column.function) for column in columns]
    return "| " + " | ".join([row_title(mode, size), *shown]) + " |"


def compilers(found: result.Result) -> str:
    notes = found["notes"].get("c", {})
    names = [text for key, text in notes.items() if key.startswith("compiler-")]
    others = (found["notes"].get(language, {}).get("compiler") for language in LANGUAGES)
    return ", ".join([*names, *filter(None, others)])


def fill(text: str) -> list[str]:
    return textwrap.wrap(text, 98, break_long_words=False, break_on_hyphens=False)


def fill_item(text: str) -> list[str]:
    """Returns the lines of an item of a list, or no lines for an empty text."""
    return [("  " if place else "- ") + line for place, line in enumerate(fill(text))]


def column_sentence(found: result.Result, columns: list[Column]) -> str:
    """Returns sentences about the columns, rows whose fastest function has no column, lowered
    clocks, and missing peers."""
    chosen = [column for column in columns if found["functions"][column.function]["kind"] == "peer"]
    titles = dict.fromkeys(function_title(found, column.function) for column in chosen)
    text = f"Of variants and languages the fastest are shown: {'; '.join(titles)}."
    text += " *Loads* are loads alone, of the widest vectors, *empty* is an empty function: they do"
    text += " not take part."
    shown = {column.function for column in columns}
    if any(not result.winners(found, find_cell(found, *row)) & shown for row in ROWS):
        text += " In a row without bold another variant or peer is the fastest."
    text += clock_text(itertools.product((find_cell(found, *row) for row in ROWS), shown))
    if absent := [row["peer"] for row in found["missing"]]:
        text += f" Missing: {join(absent)}."
    return text


def clock_text(shown: Iterable[tuple[dict[str, Any], str | None]]) -> str:
    """Returns a sentence about the arrow that marks a lowered clock; no text if no shown time has
    an arrow."""
    slowest = max((cell["clock"].get(name, 1.0) for cell, name in shown), default=1.0)
    if slowest <= TOLERANCE:
        return ""
    return (
        f" ↓: the function lowers the clock of this CPU there, to {100 / slowest:.0f} % at worst."
    )


def python_sentence(found: result.Result) -> str:
    """Returns a sentence about Python, which is too slow for a column."""
    for name in fastest_in(found, "python"):
        cells = (find_cell(found, *row)["speedup"] for row in ROWS)
        speeds = [speedup[name][0] for speedup in cells if name in speedup]
        times = f"{min(speeds):,.0f} to {max(speeds):,.0f} times as long"
        return f"{function_title(found, name)} (Python) takes {times}."
    return ""


def standing_sentence(found: result.Result) -> str:
    """Returns sentences that summarise all cells."""
    ones = result.standings(found)
    lost = [one for one in ones if one.loses]
    best, linux = (against(found, "hot", 1500, peer) for peer in (None, "linux"))
    text = f"Slower than the fastest peer by more than 5 % are {len(lost)} of {len(ones)} cells"
    text += " (a cell is a work, a mode, a size and an alignment)"
    if lost:
        small = sum(0 < one.cell["size"] <= SMALL for one in lost)
        worst = min(one.speedup[0] for one in lost)
        share = "all" if small == len(lost) else small
        text += f", {share} of them on up to {SMALL} bytes; the worst has {worst:.2f} of its speed"
    text += "."
    if best is None:
        text += " At 1,500 bytes it could not be measured."
    elif linux:
        text += (
            f" At 1,500 bytes the library is {best.median:.1f} times as fast as the fastest peer"
        )
        text += f" and {linux.median:.1f} times as fast as {linux_title(found)}."
    return text + beside_text(found)


def shown_added(ns: float) -> str:
    return f"{ns:.0f} ns" if ns >= 1 else "less than 1 ns"


def beside_text(found: result.Result) -> str:
    """Returns a sentence about the cost of a call beside other work."""
    for cell in found["cells"]:
        above = cell.get("above", {})
        if (cell["work"], cell["mode"], cell["size"]) == ("sum", "beside", 1500):
            peers = [name for name in above if result.takes_part(found, name)]
            best = min(peers, key=lambda name: cell["ns"][name][0], default=None)
            own = above.get(OURS["sum"])
            if best and own:
                fastest = f"the fastest peer ({function_title(found, best)})"
                return (
                    " Beside a microsecond of other work the library adds"
                    f" {shown_added(own[0])} to it, {fastest} {shown_added(above[best][0])}."
                )
    return ""


def switch_sentence(found: result.Result) -> str:
    for cell in found["cells"]:
        if cell["work"] == "switch":
            times = sorted((times[0], name) for name, times in cell["ns"].items())
            shown = [f"{function_title(found, name)} {show_ns(time)}" for time, name in times]
            return f"A switch to another context and back, ns: {', '.join(shown)}."
    return ""


def capture_sentence(found: result.Result) -> str:
    """Returns a sentence about the speed of whole programs."""
    programs = (found["captures"] or {}).get("programs", [])
    speeds = {one["program"]: one["gb_per_s"] for one in programs if one.get("gb_per_s")}
    if "carry check" not in speeds:
        return ""
    shown = [f"`{name}` {speed:.2g}" for name, speed in speeds.items() if name in PROGRAMS]
    return f"GB/s of an IMIX capture in the page cache: {', '.join(shown)}."


def make_table(found: result.Result, _: str) -> list[str]:
    columns = choose_columns(found)
    machine = found["machine"]
    where = f"{machine['cpu']} ({machine['hypervisor']}), {machine['kernel']}"
    return [
        *fill(f"Measured on {where}, {found['date']}; {compilers(found)}."),
        "",
        "| bytes | " + " | ".join(column.title for column in columns) + " |",
        "|---|" + "---:|" * len(columns),
        *(table_row(found, mode, size, columns) for mode, size in ROWS),
        "",
        *fill(f"{column_sentence(found, columns)} {python_sentence(found)}"),
        "",
        *fill_item(standing_sentence(found)),
        *fill_item(switch_sentence(found)),
        *fill_item(capture_sentence(found)),
    ]


# --- Other CPUs ---


def short_cells(found: result.Result) -> list[dict[str, Any]]:
    return [find_cell(found, *place) for place in SHORT]


def best_peer(found: result.Result, cell: dict[str, Any]) -> str | None:
    names = [name for name in cell["ns"] if found["functions"][name]["kind"] == "peer"]
    return min(names, key=lambda name: cell["ns"][name][0], default=None)


def fastest_peer(found: result.Result, cell: dict[str, Any]) -> str:
    """Returns the time and the name of the fastest peer."""
    best = best_peer(found, cell)
    if not best:
        return "-"
    return f"{bold(found, cell, best)} {peer_title(found, best).split()[0]}"


def short_facts(found: result.Result) -> str:
    machine, ones = found["machine"], result.standings(found)
    lost = [one.speedup[0] for one in ones if one.loses]
    text = f"{machine['cpu']}, family, model and stepping {machine['family, model, stepping']}"
    text += f" ({machine['hypervisor']}), libcarry {found['libcarry']}, {found['date'][:10]}:"
    text += f" {len(lost)} of {len(ones)} cells are lost"
    text += f", the worst has {min(lost):.2f} of the peer's speed." if lost else "."
    if unmeasured := len(result.unmeasured(found)):
        share = 100 * result.discarded_share(found)
        text += f" {share:.0f} % of the samples had to be thrown away, so that the library"
        text += f" has no time in {unmeasured} cells more."
    cells = short_cells(found)
    ours = ((cell, OURS["sum"]) for cell in cells)
    return text + clock_text([*ours, *((cell, best_peer(found, cell)) for cell in cells)])


def make_short_table(found: result.Result, _: str) -> list[str]:
    cells = short_cells(found)
    head = " | ".join(row_title(*row) for row in SHORT)
    return [
        *fill(short_facts(found)),
        "",
        f"| bytes | {head} |",
        "|---|" + "---:|" * len(SHORT),
        f"| libcarry | {' | '.join(bold(found, cell, OURS['sum']) for cell in cells)} |",
        f"| fastest peer | {' | '.join(fastest_peer(found, cell) for cell in cells)} |",
    ]


# --- Losses ---

LOSSES_HEAD = "| lost | cells | worst | what was done, and what should come of it |"


def group_title(group: Group) -> str:
    sizes = sorted({one.cell["size"] for one in group.lost})
    ends = " to ".join(dict.fromkeys(show_bytes(size) for size in (sizes[0], sizes[-1]) if size))
    place = ends or MIX_TITLES.get(group.mode, "")
    return " ".join(filter(None, (f"`{group.work}`", group.mode, place)))


def group_worst(found: result.Result, group: Group) -> str:
    worst = group.worst
    times = (show_ns(worst.cell["ns"][name][0]) for name in (OURS[group.work], worst.best))
    at = f" at {place_text(worst.cell)}" if worst.cell["size"] else ""
    peer = function_title(found, worst.best)
    return f"{worst.speedup[0]:.2f}{at}: {next(times)} ns, {peer} {next(times)}"


def written(old: str) -> dict[str, str]:
    """Returns the text of the last column by the text of the first."""
    rows = (line.strip("| \n").split(" | ") for line in old.splitlines() if line.startswith("| `"))
    return {cells[0]: cells[3] for cells in rows if len(cells) == 4}


def make_losses(found: result.Result, old: str) -> list[str]:
    kept, rows = written(old), []
    for group in groups(result.standings(found)):
        title = group_title(group)
        cells = f"{len(group.lost)} of {group.cells}"
        row = f"| {title} | {cells} | {group_worst(found, group)} | {kept.get(title, '')} |"
        rows.append(row.replace("|  |", "| |"))
    return [LOSSES_HEAD, "|---|---|---|---|", *rows]


# --- Documents ---

MAKERS = {"table": make_table, "short table": make_short_table, "losses": make_losses}


def make_block(found: result.Result, name: str, kind: str = "table", old: str = "") -> str:
    lines = [f"<!-- {kind} of {name} -->", *MAKERS[kind](found, old), f"<!-- end of the {kind} -->"]
    return "\n".join([*lines, ""])


def rewrite(text: str, chosen: str | None = None, root: Path = ROOT) -> str:
    """Returns a document with new tables."""

    def made(block: re.Match[str]) -> str:
        kind, name, old = block.groups()
        name = chosen if chosen and kind == "table" else name
        return make_block(result.read(root / name), name, kind, old)

    if not BLOCK.search(text):
        raise ReadmeError("a document has no table to replace")
    return BLOCK.sub(made, text)


def show_difference(path: Path, wanted: str) -> None:
    lines = difflib.unified_diff(
        path.read_text().splitlines(), wanted.splitlines(), path.name, "results", lineterm=""
    )
    print("\n".join(lines))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("result", nargs="?", type=Path, help="the result to show")
    parser.add_argument("--check", action="store_true", help="write nothing, and show what differs")
    options = parser.parse_args()
    try:
        chosen = str(options.result.resolve().relative_to(ROOT)) if options.result else None
        wanted = {path: rewrite(path.read_text(), chosen) for path in DOCUMENTS}
    except (ReadmeError, result.ResultError, ValueError) as error:
        print(f"readme: {error}", file=sys.stderr)
        return 1
    changed = [path for path in DOCUMENTS if wanted[path] != path.read_text()]
    for path in changed:
        if options.check:
            show_difference(path, wanted[path])
        else:
            path.write_text(wanted[path])
    return 1 if options.check and changed else 0


if __name__ == "__main__":
    sys.exit(main())
