#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the library among its peers: what `make bench` runs.

Writes bench/results/<cpu>-<date>.json, and a report of it beside that: .html.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from measure import build, machine, plan, result, summary
from measure.measure import Lane, Plan, Run, Subject, verify
from measure.peers import BENCH, ROOT, Peer, read_peers
from measure.process import PeerProcess, ProcessError
from measure.report import write_report

FULL = Plan(starts=20, rounds=15, seconds=480)
QUICK = Plan(starts=10, rounds=6, seconds=40)
CAPTURE_BYTES = {False: "200M", True: "16M"}
CAPTURE_SECONDS = 180


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


def library_version() -> str:
    """The version, and what was built if that is known."""
    version = subprocess.run([ROOT / "scripts/version"], capture_output=True, text=True).stdout
    described = subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--dirty"], capture_output=True, text=True
    )
    return " ".join(filter(None, (version.strip(), described.stdout.strip())))


def start_lanes(
    built: build.Built, peers: list[Peer], work: Path, cpu: int | None
) -> tuple[list[Lane], dict[str, str]]:
    """The processes, started, and the peers of those that do not start."""
    lanes, missing = [], {}
    for language, program in built.programs.items():
        lane = Lane(language, PeerProcess(program, work, cpu))
        try:
            lane.process.start()
            lane.functions, lane.notes = lane.process.list()
        except (ProcessError, OSError) as error:
            lane.process.stop()
            names = (peer.name for peer in peers if peer.language == language)
            missing |= dict.fromkeys(names, f"its process: {error}")
            continue
        lanes.append(lane)
    return lanes, missing


def measure_captures(tool: Path, quick: bool) -> dict[str, Any] | None:
    """What `carry bench capture` says; None where it does not run."""
    command = [tool, "bench", "capture", "--json", f"--size={CAPTURE_BYTES[quick]}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=CAPTURE_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return json.loads(done.stdout) if done.returncode == 0 else None


def make_result(options: argparse.Namespace, folder: Path) -> result.Result:
    peers = read_peers()
    version = library_version()
    cells = plan.make_cells(options.quick)
    say("building the library")
    library = build.build_library(ROOT, folder / "libcarry")
    built = build.build_peers(peers, folder, library, say)
    say("asking the oracle")
    work = build.prepare_work(cells, folder)
    lanes, missing = start_lanes(built, peers, work, options.cpu)
    missing = built.missing | missing
    say("verifying")
    subjects, wrong = verify(lanes)
    method = QUICK if options.quick else FULL
    samples = Run(cells, subjects, method, say).take()
    say("captures")
    captures = measure_captures(library / "tools/carry/carry", options.quick)
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
            **{"starts": method.starts, "rounds": method.rounds, "quick": options.quick},
            **{"taken": samples.taken, "discarded": samples.discarded},
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
    """By the oracle; and those who died later."""
    rows = [{"function": name, "limit": v.limit, "text": v.text} for name, v in wrong]
    died = [subject for subject in subjects if subject.broken]
    return rows + [{"function": s.name, "limit": 0, "text": s.broken} for s in died]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer cells and rounds: two minutes")
    parser.add_argument("--cpu", type=int, help="the CPU on which peers run (the last one)")
    parser.add_argument("--report", type=Path, help="only make the report of this result")
    parser.add_argument("--out", type=Path, help="the result (bench/results/<cpu>-<date>.json)")
    parser.add_argument("--build", type=Path, default=ROOT / "build/bench", help="where to build")
    return parser.parse_args()


def main() -> int:
    options = parse()
    if options.report:
        write_report(result.read(options.report), options.report.with_suffix(".html"))
        return 0
    if options.cpu is None:
        options.cpu = max(os.sched_getaffinity(0))
    folder = options.build.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        made = make_result(options, folder)
    except build.BuildError as error:
        print(error, file=sys.stderr)
        return 1
    name = f"{machine.short_name()}-{datetime.date.today().isoformat()}"
    path = options.out or BENCH / "results" / f"{name}{'-quick' if options.quick else ''}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(result.dump(made))
    report = path.with_suffix(".html")
    write_report(made, report)
    lost = [one for one in result.standings(made) if one.loses]
    print(f"{path}\n{report}\n{len(lost)} of {len(made['cells'])} cells lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())
