#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the library among its peers; `make bench` runs it.

Writes bench/results/<cpu>-<date>.json, and beside it a report, .html. Without --out, an existing
result is never replaced: the second result of a day is <cpu>-<date>-2.json.
Exit status: 0; 4 if other programs used the machine so much that the interval of a headline is
useless; 1 for errors; 130 if interrupted.

    bench/run.py                            all cells: at most a quarter of an hour
    bench/run.py --quick --cpu 3            a few cells, on CPU 3: two minutes
    bench/run.py --report bench/results/some-cpu-2026-01-02.json
                                            makes the report of a result again
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import measure.needs  # noqa: F401, must be first: reports missing packages
from measure import build, files, machine, plan, result, summary, usual
from measure.claims import claims, noisy
from measure.measure import Lane, Plan, Run, Subject, verify
from measure.peers import BENCH, ROOT, Peer, read_peers
from measure.process import PeerProcess, ProcessError
from measure.progress import Progress
from measure.report import doubts, write_report

FULL = Plan(starts=20, rounds=15, seconds=480)
QUICK = Plan(starts=10, rounds=6, seconds=40)
CAPTURE_BYTES = {False: "200M", True: "16M"}
CAPTURE_SECONDS = 180
TOO_NOISY = 4  # exit status: the machine was too busy for a headline, but there is a result


def start_lanes(
    built: build.Built, peers: list[Peer], work: Path, cpu: int | None
) -> tuple[list[Lane], dict[str, str]]:
    """Starts the processes; returns them, and the peers of the processes that do not start."""
    lanes, missing = [], {}
    for language, program in built.programs.items():
        lane = Lane(language, PeerProcess(program, work, cpu))
        try:
            lane.process.start()
            lane.ask_list()
        except (ProcessError, OSError) as error:
            lane.process.stop()
            names = (peer.name for peer in peers if peer.language == language)
            missing |= dict.fromkeys(names, f"its process: {error}")
            continue
        lanes.append(lane)
    return lanes, missing


def measure_captures(tool: Path, quick: bool) -> dict[str, Any] | None:
    """Returns the result of `carry bench capture`, or None if it fails."""
    command = [tool, "bench", "capture", "--json", f"--size={CAPTURE_BYTES[quick]}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CAPTURE_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return json.loads(done.stdout) if done.returncode == 0 else None


def say_alike(progress: Progress, what: str, reasons: dict[str, str]) -> None:
    """Prints a line for each reason, with all names that have it."""
    for reason in dict.fromkeys(reasons.values()):
        names = [name for name in reasons if reasons[name] == reason]
        progress.say(f"{what}: {', '.join(names)}: {reason}")


def make_result(
    options: argparse.Namespace, folder: Path, progress: Progress, lanes: list[Lane]
) -> result.Result:
    peers = read_peers()
    version = build.carry_version()
    cells = plan.make_cells(options.quick)
    progress.say("building the library (the first time, all that is built takes minutes)")
    library = build.build_library(ROOT, folder / "libcarry", build.LIBRARY, build.TOOL)
    built = build.build_peers(peers, folder, library, progress.say)
    progress.say("asking the oracle")
    work = build.prepare_work(cells, folder)
    started, missing = start_lanes(built, peers, work, options.cpu)
    lanes += started
    missing = built.missing | missing
    say_alike(progress, "missing", missing)
    progress.say(f"verifying, on CPU {options.cpu}")
    subjects, wrong = verify(lanes)
    found = {name: f"on {verdict.limit:,} bytes: {verdict.text}" for name, verdict in wrong}
    say_alike(progress, "wrong", found)
    method = QUICK if options.quick else FULL
    samples = Run(cells, subjects, method, progress.step).take()
    progress.say("captures")
    captures = measure_captures(library / build.TOOL, options.quick)
    return {
        "format": result.FORMAT,
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "libcarry": version,
        "machine": machine.describe(),
        "notes": {
            "libcarry": build.library_notes(library),
            **{lane.name: lane.notes for lane in lanes},
        },
        "method": {
            **{"starts": samples.starts, "rounds": method.rounds, "quick": options.quick},
            **{"taken": int(samples.taken), "discarded": int(samples.discarded)},
            "lowered": int(samples.lowered),
        },
        "peers": [
            {
                **{"name": peer.name, "title": peer.title, "language": peer.language},
                **{"package": peer.package, "licence": peer.licence, "homepage": peer.homepage},
            }
            for peer in peers
        ],
        "functions": summary.describe_functions(subjects, peers),
        "missing": [{"peer": name, "reason": reason} for name, reason in missing.items()],
        "wrong": list_wrong(wrong, subjects),
        "cells": summary.make_cells(cells, subjects, samples),
        "captures": captures,
    }


def list_wrong(wrong: list[tuple[str, Any]], subjects: list[Subject]) -> list[dict[str, Any]]:
    """Returns the functions that are wrong by the oracle, and functions whose process died
    later."""
    rows = [{"function": name, "limit": v.limit, "text": v.text} for name, v in wrong]
    died = [subject for subject in subjects if subject.broken]
    return rows + [{"function": s.name, "limit": 0, "text": s.broken} for s in died]


def parse() -> argparse.Namespace:
    first, _, more = __doc__.partition("\n")
    parser = argparse.ArgumentParser(
        description=first, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer cells and rounds: two minutes")
    parser.add_argument(
        "--report", type=Path, metavar="RESULT", help="only make the report of this result"
    )
    parser.add_argument("--out", type=Path, metavar="RESULT", help="where to write it instead")
    usual.add(parser, "build/bench")
    options = parser.parse_args()
    usual.check(parser, options)
    for path in (options.report, options.out):
        if path and path.suffix != ".json":
            parser.error(f"{path}: the name of a result ends in .json")
    return options


def choose_path(options: argparse.Namespace) -> Path:
    name = f"{machine.short_name()}-{datetime.date.today().isoformat()}"
    suffix = "-quick.json" if options.quick else ".json"
    return options.out or files.free_path(BENCH / "results", name, suffix)


def measure_all(options: argparse.Namespace) -> int:
    path, progress = choose_path(options), Progress()
    files.check_writable(path.parent)
    if path.exists():
        progress.say(f"will replace {path}")
    folder = options.build.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    lanes: list[Lane] = []
    try:
        made = make_result(options, folder, progress, lanes)
    finally:
        for lane in lanes:
            lane.process.stop()
    files.write_whole(path, result.dump(made))
    print(path)
    show_report(made, path)
    ones = result.standings(made)
    print(f"{sum(one.loses for one in ones)} of {len(ones)} cells lost")
    for doubt in doubts(made):
        progress.say(doubt)
    return TOO_NOISY if noisy(claims(made)) else 0


def show_report(made: result.Result, path: Path) -> None:
    report = path.with_suffix(".html")
    write_report(made, report)
    print(report)


def main() -> int:
    options = parse()
    try:
        if options.report:
            show_report(result.read(options.report), options.report)
        else:
            return measure_all(options)
    except KeyboardInterrupt:
        print("\nbench: interrupted, no result written", file=sys.stderr)
        return 130
    except (build.BuildError, result.ResultError, OSError) as error:
        print(f"bench: {files.message(error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
