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
from pathlib import Path
from typing import Any

from measure import result
from measure.claims import against
from measure.peers import ROOT
from measure.plan import MIX_TITLES
from measure.text import show_bytes, show_ns

README = ROOT / "README.md"
BLOCK = re.compile(r"<!-- table of (\S+) -->\n.*?<!-- end of the table -->\n", re.DOTALL)

# Columns, for those that the result has; of what is not named here the report tells.
COLUMNS = {
    "carry": "libcarry",
    "dpdk/gcc-native": "DPDK, gcc native",
    "dpdk/clang-native": "DPDK, clang native",
    "linux": "Linux",
    "linux-generic": "Linux, generic C",
    "load@c": "loads alone",
    "floor@c": "empty call",
}
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


def table_row(found: result.Result, mode: str, size: int, columns: list[str]) -> str:
    """The fastest but for bounds is bold."""
    cell = find_cell(found, mode, size)
    best = result.winners(found, cell)
    shown = []
    for name in columns:
        text = show_ns(cell["ns"][name][0]) if name in cell["ns"] else "-"
        shown.append(f"**{text}**" if name in best else text)
    return "| " + " | ".join([row_title(mode, size), *shown]) + " |"


def compilers(found: result.Result) -> str:
    notes = found["notes"].get("c", {})
    names = [text for key, text in notes.items() if key.startswith("compiler-")]
    return ", ".join(names)


def fill(text: str) -> list[str]:
    return textwrap.wrap(text, 100, break_long_words=False, break_on_hyphens=False)


def standing_sentence(found: result.Result) -> str:
    """What all cells say together."""
    ones = result.standings(found)
    lost = sum(one.loses for one in ones)
    best, linux = (against(found, "hot", 1500, peer) for peer in (None, "linux"))
    text = f"Slower than the fastest peer by more than 5 % are {lost} of {len(ones)} cells."
    if best and linux:
        text += f" At 1,500 bytes the library is {best:.1f} times as fast as the fastest peer and"
        text += f" {linux:.1f} times as fast as Linux."
    return text


def capture_sentence(found: result.Result) -> str:
    """Whole programs, by task."""
    programs = (found["captures"] or {}).get("programs", [])
    speeds = {one["program"]: one["gb_per_s"] for one in programs if one.get("gb_per_s")}
    if "carry check" not in speeds:
        return ""
    shown = [f"`{name}` {speed:.2g}" for name, speed in speeds.items() if name in PROGRAMS]
    return f"GB/s of an IMIX capture in the page cache: {', '.join(shown)}."


def make_block(found: result.Result, name: str) -> str:
    columns = [column for column in COLUMNS if column in found["functions"]]
    machine = found["machine"]
    where = f"{machine['cpu']} ({machine['hypervisor']}), {machine['kernel']}"
    return "\n".join(
        [
            f"<!-- table of {name} -->",
            *fill(f"Measured on {where}, {found['date']}; {compilers(found)}."),
            "",
            "| bytes | " + " | ".join(COLUMNS[column] for column in columns) + " |",
            "|---|" + "---|" * len(columns),
            *(table_row(found, mode, size, columns) for mode, size in ROWS),
            "",
            *fill(standing_sentence(found)),
            *fill(capture_sentence(found)),
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
