#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures two revisions of the library in turns: what `make bench-compare BASE=rev` runs.

Prints how many times as fast this tree is as the other revision. Exit status: 0; 1 where a cell is
slower by more than a twentieth; 2 for errors.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from measure import build, plan
from measure.measure import Lane, Run, Subject, verify
from measure.peers import ROOT, read_peers
from measure.plan import Cell
from measure.process import PeerProcess, ProcessError
from measure.stats import Estimate, speedup
from measure.text import show_bytes
from run import FULL, QUICK, say

SLOWER = 0.95
NOTABLE = 0.005


class Change(NamedTuple):
    cell: Cell
    function: str
    speed: Estimate  # of this tree in that of the other

    @property
    def is_notable(self) -> bool:
        certain = not self.speed.low <= 1 <= self.speed.high
        return certain and abs(self.speed.median - 1) >= NOTABLE

    @property
    def is_loss(self) -> bool:
        return self.speed.median < SLOWER and self.speed.high < 1


def take_out(revision: str, folder: Path) -> Path:
    """The revision's files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    archive = subprocess.run(
        ["git", "-C", ROOT, "archive", "--format=tar", revision], capture_output=True
    )
    if archive.returncode:
        raise build.BuildError(archive.stderr.decode().strip())
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
    return folder


def make_lane(name: str, source: Path, folder: Path, work: Path, cpu: int) -> Lane:
    """The process of a revision's own functions."""
    say(f"building {name}")
    library = build.build_library(source, folder / "libcarry")
    ours = [peer.name for peer in read_peers() if peer.ours]
    program, missing = build.build_language("c", ours, folder / "c", library, folder, source)
    if not program or missing:
        reasons = "; ".join(dict.fromkeys(missing.values()))
        raise build.BuildError(f"{name} cannot be measured: {reasons}")
    lane = Lane(name, PeerProcess(program, work, cpu))
    lane.process.start()
    lane.functions, lane.notes = lane.process.list()
    lane.functions = [function for function in lane.functions if function.is_peer]
    return lane


def changes(cells: list[Cell], subjects: list[Subject], run: Run) -> list[Change]:
    samples = run.take()
    place = {(s.function.name, s.lane.name): index for index, s in enumerate(subjects)}
    found = []
    for number, cell in enumerate(cells):
        for (name, lane), here in place.items():
            base = place.get((name, "base"))
            if lane != "here" or base is None:
                continue
            speed = speedup(samples.ns[number, here], samples.ns[number, base])
            if speed:
                found.append(Change(cell, name, speed))
    return found


def show(change: Change) -> str:
    cell = change.cell
    size = show_bytes(cell.size) if cell.size else ""
    places = f"{cell.offset} to {cell.to}" if cell.size else ""
    median, low, high = change.speed
    mark = "  slower" if change.is_loss else ""
    head = f"{change.function:<22} {cell.mode:<10} {size:>8} {places:>8}"
    return f"{head} {median:6.3f}x  {low:.3f} to {high:.3f}{mark}"


def summary(found: list[Change]) -> list[str]:
    """Of each function and mode, the geometric mean."""
    groups: dict[tuple[str, str], list[float]] = {}
    for change in found:
        key = (change.function, change.cell.mode)
        groups.setdefault(key, []).append(math.log(change.speed.median))
    return [
        f"{function:<22} {mode:<10} {len(logs):>4} cells {math.exp(sum(logs) / len(logs)):6.3f}x"
        for (function, mode), logs in groups.items()
    ]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("base", help="the other revision, as git names it")
    parser.add_argument("--quick", action="store_true", help="fewer cells and rounds")
    parser.add_argument("--all", action="store_true", help="also cells that have not changed")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)))
    parser.add_argument("--json", type=Path, help="also write every cell there")
    parser.add_argument("--build", type=Path, default=ROOT / "build/bench/compare")
    return parser.parse_args()


def main() -> int:
    options = parse()
    folder = options.build.resolve()
    cells = plan.make_cells(options.quick)
    try:
        base = take_out(options.base, folder / "base-source")
        work = build.prepare_work(cells, folder)
        lanes = [
            make_lane("here", ROOT, folder / "here", work, options.cpu),
            make_lane("base", base, folder / "base", work, options.cpu),
        ]
    except (build.BuildError, ProcessError, OSError) as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2
    subjects, wrong = verify(lanes)
    for name, verdict in wrong:
        print(f"wrong: {name} on {verdict.limit} bytes: {verdict.text}")
    found = changes(cells, subjects, Run(cells, subjects, QUICK if options.quick else FULL, say))
    shown = [change for change in found if options.all or change.is_notable]
    print(f"This tree's speed in that of {options.base}, and its 95 % interval\n")
    print("\n".join(show(change) for change in sorted(shown, key=lambda c: c.speed.median)))
    print("\nGeometric means\n")
    print("\n".join(summary(found)))
    if options.json:
        rows = [{**vars(c.cell), "function": c.function, "speed": c.speed} for c in found]
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 1 if wrong or any(change.is_loss for change in found) else 0


if __name__ == "__main__":
    sys.exit(main())
