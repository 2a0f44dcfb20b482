#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures two revisions of the library alternately; `make bench-compare BASE=rev` runs it.

Prints the speed of this tree, including uncommitted changes, as a multiple of the other revision's.
Exit status: 0; 1 if a cell is slower by more than a twentieth, or a function is wrong; 2 for
errors; 130 if interrupted.

    bench/compare.py main                   changes since main
    bench/compare.py --quick HEAD           changes of this tree: a minute
    bench/compare.py --all --json all.json HEAD~3
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import measure.needs  # noqa: F401, it says what the others would not find
import numpy as np
from measure import build, files, plan, usual
from measure.measure import Lane, Run, Subject, verify
from measure.peers import ROOT, read_peers
from measure.plan import Cell
from measure.process import PeerProcess, ProcessError
from measure.progress import Progress
from measure.result import is_level
from measure.stats import Estimate, speedup
from measure.text import show_bytes
from run import FULL, QUICK

SLOWER = 0.95
NOTABLE = 0.005


class Change(NamedTuple):
    cell: Cell
    function: str
    speed: Estimate  # speed of this tree, as a multiple of the other revision's
    is_level: bool = False  # both revisions take less than a clock cycle, and about equally long

    @property
    def is_notable(self) -> bool:
        certain = not self.is_level and not self.speed.low <= 1 <= self.speed.high
        return certain and abs(self.speed.median - 1) >= NOTABLE

    @property
    def is_loss(self) -> bool:
        return not self.is_level and self.speed.median < SLOWER and self.speed.high < 1


def git(*arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True)
    if done.returncode:
        lines = done.stderr.decode().strip().splitlines() or ["git failed without a message"]
        raise build.BuildError(lines[0])
    return done.stdout


def commit_of(revision: str) -> str:
    try:
        return git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}").decode().strip()
    except build.BuildError as error:
        raise build.BuildError(f"git knows no revision {revision}") from error


def extract_commit(commit: str, folder: Path) -> Path:
    """Extracts a commit; returns the folder of its files. Removes builds of another commit: they
    may be newer than these files."""
    mark, source = folder / "commit", folder / "source"
    if not mark.is_file() or mark.read_text() != commit:
        shutil.rmtree(folder, ignore_errors=True)
        source.mkdir(parents=True)
        archive = git("archive", "--format=tar", commit)
        subprocess.run(["tar", "-x", "-C", source], input=archive, check=True)
        mark.write_text(commit)
    return source


def make_lane(name: str, source: Path, folder: Path, work: Path, cpu: int) -> Lane:
    """Builds the library's functions of a revision, starts a process with them, and returns its
    lane."""
    library = build.build_library(source, folder / "libcarry", build.LIBRARY)
    ours = [peer.name for peer in read_peers() if peer.ours]
    program, missing = build.build_language("c", ours, folder / "c", library, folder, source)
    if not program or missing:
        reasons = "; ".join(dict.fromkeys(missing.values()))
        raise build.BuildError(f"{name} cannot be measured: {reasons}")
    lane = Lane(name, PeerProcess(program, work, cpu))
    lane.process.start()
    lane.ask_list()
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
            times = samples.ns[number, here], samples.ns[number, base]
            speed = speedup(*times)
            if speed:
                level = is_level(*(float(np.nanmedian(one)) for one in times))
                found.append(Change(cell, name, speed, level))
    return found


HEAD = f"{'function':<22} {'mode':<10} {'bytes':>8} {'from, to':>8}   speed  95 % interval"
MEANS_HEAD = f"{'function':<22} {'mode':<10} {'cells':>8}  geometric mean"


def show(change: Change) -> str:
    cell = change.cell
    size = show_bytes(cell.size) if cell.size else ""
    places = f"{cell.offset}, {cell.to}" if cell.size else ""
    median, low, high = change.speed
    mark = "  slower" if change.is_loss else ""
    if mark and cell.mode == "large":
        mark += ", or got other pages"
    head = f"{change.function:<22} {cell.mode:<10} {size:>8} {places:>8}"
    return f"{head} {median:6.3f}x  {low:.3f} to {high:.3f}{mark}"


def summary(found: list[Change]) -> list[str]:
    """Returns a line for each function and mode, with the geometric mean."""
    groups: dict[tuple[str, str], list[float]] = {}
    for change in found:
        key = (change.function, change.cell.mode)
        groups.setdefault(key, []).append(math.log(change.speed.median))
    return [
        f"{function:<22} {mode:<10} {len(logs):>8} {math.exp(sum(logs) / len(logs)):6.3f}x"
        for (function, mode), logs in groups.items()
    ]


def report(found: list[Change], everything: bool) -> list[str]:
    """Returns lines with the changes, the slowest first."""
    shown = [change for change in found if everything or change.is_notable]
    lines = [show(change) for change in sorted(shown, key=lambda change: change.speed.median)]
    if not lines:
        return [f"None of {len(found)} cells has changed by more than its interval."]
    return [HEAD, *lines, "", MEANS_HEAD, *summary(found)]


def parse() -> argparse.Namespace:
    first, _, more = __doc__.partition("\n")
    parser = argparse.ArgumentParser(
        description=first, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("base", help="the other revision, as git names it")
    parser.add_argument("--quick", action="store_true", help="fewer cells and rounds")
    parser.add_argument("--all", action="store_true", help="also cells that have not changed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every cell there")
    usual.add(parser, "build/bench/compare")
    options = parser.parse_args()
    usual.check(parser, options)
    return options


def compare(options: argparse.Namespace, progress: Progress, lanes: list[Lane]) -> int:
    folder = options.build.resolve()
    if options.json:
        files.check_writable(options.json.parent)
    commit = commit_of(options.base)
    cells = plan.make_cells(options.quick)
    base = extract_commit(commit, folder / "base")
    work = build.prepare_work(cells, folder)
    names = {"here": build.carry_version(), "base": f"{options.base}, {commit[:12]}"}
    for name, source in (("here", ROOT), ("base", base)):
        progress.say(f"building {name}: {names[name]}")
        lanes.append(make_lane(name, source, folder / name, work, options.cpu))
    subjects, wrong = verify(lanes)
    method = QUICK if options.quick else FULL
    found = changes(cells, subjects, Run(cells, subjects, method, progress.step))
    progress.say("done")
    for name, verdict in wrong:
        print(f"wrong: {name} on {verdict.limit} bytes: {verdict.text}")
    print(f"{names['here']}: how many times as fast as {names['base']}\n")
    print("\n".join(report(found, options.all)))
    if options.json:
        rows = [{**vars(c.cell), "function": c.function, "speed": c.speed} for c in found]
        files.write_whole(options.json, json.dumps(rows, indent=1) + "\n")
    slower = sum(change.is_loss for change in found)
    print(f"\n{slower} of {len(found)} cells are slower by more than 5 %")
    return 1 if wrong or slower else 0


def main() -> int:
    options = parse()
    lanes: list[Lane] = []
    try:
        return compare(options, Progress(), lanes)
    except KeyboardInterrupt:
        print("\nbench: interrupted", file=sys.stderr)
        return 130
    except (build.BuildError, ProcessError, OSError, subprocess.CalledProcessError) as error:
        print(f"bench: {files.message(error)}", file=sys.stderr)
        return 2
    finally:
        for lane in lanes:
            lane.process.stop()


if __name__ == "__main__":
    sys.exit(main())
