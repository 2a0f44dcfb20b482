#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps the README's table that of a result in the tree.

    bench/readme.py                 writes the table anew
    bench/readme.py RESULT          the same, of another result
    bench/readme.py --check         says whether it is what would be written (exit status 1: no)

The README names the result, in the line that begins the table.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import result
from measure.claims import against
from measure.peers import ROOT
from measure.plan import MIX_TITLES, OURS
from measure.text import LANGUAGE_TITLES, join, show_bytes, show_ns

README = ROOT / "README.md"
BLOCK = re.compile(r"<!-- table of (\S+) -->\n.*?<!-- end of the table -->\n", re.DOTALL)

# Columns: peers in C by name, of other languages their fastest. The report tells of all.
PEERS_IN_C = {"dpdk": "DPDK", "linux": "Linux", "linux-generic": "Linux, C"}
LANGUAGES = ("rust", "go")
SMALL = 256
BOUNDS = {"load@c": "loads", "floor@c": "empty"}
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
    """What is wrong with the README, or with the result."""


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
    """The function of these peers that is the fastest of them in most rows of the table."""
    functions = found["functions"]
    names = {name for name in functions if functions[name]["peer"] in peers}
    return result.fastest((find_cell(found, *row) for row in ROWS), names)


def fastest_in(found: result.Result, language: str) -> list[str]:
    return fastest_of(found, [p["name"] for p in found["peers"] if p["language"] == language])


def choose_columns(found: result.Result) -> list[Column]:
    """For what the result has."""
    ours = OURS["sum"]
    columns = [Column(function_title(found, ours), ours)]
    for peer, title in PEERS_IN_C.items():
        columns += (Column(title, name) for name in fastest_of(found, [peer]))
    for language in LANGUAGES:
        shown = LANGUAGE_TITLES[language]
        for name in fastest_in(found, language):
            columns.append(Column(f"{peer_title(found, name)} ({shown})", name))
    columns += (Column(title, name) for name, title in BOUNDS.items() if name in found["functions"])
    return columns


def function_title(found: result.Result, name: str) -> str:
    return found["functions"][name]["title"]


def peer_title(found: result.Result, name: str) -> str:
    peer = found["functions"][name]["peer"]
    return next(row["title"] for row in found["peers"] if row["name"] == peer)


def table_row(found: result.Result, mode: str, size: int, columns: list[Column]) -> str:
    """The fastest but for bounds is bold."""
    cell = find_cell(found, mode, size)
    best = result.winners(found, cell)
    shown = []
    for name in (column.function for column in columns):
        text = show_ns(cell["ns"][name][0]) if name in cell["ns"] else "-"
        shown.append(f"**{text}**" if name in best else text)
    return "| " + " | ".join([row_title(mode, size), *shown]) + " |"


def compilers(found: result.Result) -> str:
    notes = found["notes"].get("c", {})
    names = [text for key, text in notes.items() if key.startswith("compiler-")]
    others = (found["notes"].get(language, {}).get("compiler") for language in LANGUAGES)
    return ", ".join([*names, *filter(None, others)])


def fill(text: str) -> list[str]:
    return textwrap.wrap(text, 98, break_long_words=False, break_on_hyphens=False)


def fill_item(text: str) -> list[str]:
    """Of a list; nothing makes none."""
    return [("  " if place else "- ") + line for place, line in enumerate(fill(text))]


def column_sentence(found: result.Result, columns: list[Column]) -> str:
    """What the columns are, and that no column may hold the fastest."""
    chosen = [column for column in columns if found["functions"][column.function]["kind"] == "peer"]
    titles = dict.fromkeys(function_title(found, column.function) for column in chosen)
    text = f"Of variants and languages the fastest are shown: {'; '.join(titles)}."
    text += " *Loads* are loads alone, of the widest vectors, *empty* is an empty function: they do"
    text += " not take part."
    shown = {column.function for column in columns}
    if any(not result.winners(found, find_cell(found, *row)) & shown for row in ROWS):
        text += " In a row without bold another variant or peer is the fastest."
    if absent := [row["peer"] for row in found["missing"]]:
        text += f" Missing: {join(absent)}."
    return text


def python_sentence(found: result.Result) -> str:
    """Too slow for a column."""
    for name in fastest_in(found, "python"):
        cells = (find_cell(found, *row)["speedup"] for row in ROWS)
        speeds = [speedup[name][0] for speedup in cells if name in speedup]
        times = f"{min(speeds):,.0f} to {max(speeds):,.0f} times as long"
        return f"{function_title(found, name)} (Python) takes {times}."
    return ""


def standing_sentence(found: result.Result) -> str:
    """What all cells say together."""
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
    if best and linux:
        text += f" At 1,500 bytes the library is {best:.1f} times as fast as the fastest peer and"
        text += f" {linux:.1f} times as fast as Linux."
    return text


def switch_sentence(found: result.Result) -> str:
    for cell in found["cells"]:
        if cell["work"] == "switch":
            times = sorted((times[0], name) for name, times in cell["ns"].items())
            shown = [f"{function_title(found, name)} {show_ns(time)}" for time, name in times]
            return f"A switch to another context and back, ns: {', '.join(shown)}."
    return ""


def capture_sentence(found: result.Result) -> str:
    """Whole programs, by task."""
    programs = (found["captures"] or {}).get("programs", [])
    speeds = {one["program"]: one["gb_per_s"] for one in programs if one.get("gb_per_s")}
    if "carry check" not in speeds:
        return ""
    shown = [f"`{name}` {speed:.2g}" for name, speed in speeds.items() if name in PROGRAMS]
    return f"GB/s of an IMIX capture in the page cache: {', '.join(shown)}."


def make_block(found: result.Result, name: str) -> str:
    columns = choose_columns(found)
    machine = found["machine"]
    where = f"{machine['cpu']} ({machine['hypervisor']}), {machine['kernel']}"
    return "\n".join(
        [
            f"<!-- table of {name} -->",
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
            "<!-- end of the table -->",
            "",
        ]
    )


def rewrite(readme: str, chosen: str | None = None, root: Path = ROOT) -> str:
    """The README with its table made anew."""
    block = BLOCK.search(readme)
    if not block:
        raise ReadmeError("the README has no table to replace")
    name = chosen or block[1]
    made = make_block(result.read(root / name), name)
    return readme[: block.start()] + made + readme[block.end() :]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("result", nargs="?", type=Path, help="the result to show")
    parser.add_argument("--check", action="store_true", help="write nothing, and show what differs")
    options = parser.parse_args()
    readme = README.read_text()
    try:
        chosen = str(options.result.resolve().relative_to(ROOT)) if options.result else None
        wanted = rewrite(readme, chosen)
    except (ReadmeError, result.ResultError, ValueError) as error:
        print(f"readme: {error}", file=sys.stderr)
        return 1
    if not options.check:
        README.write_text(wanted)
    elif wanted != readme:
        lines = difflib.unified_diff(
            readme.splitlines(), wanted.splitlines(), "README.md", "result"
        )
        print("\n".join(lines))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
