#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs tests as named steps: `make test` runs the first of them. `make test-all` runs all, except
steps whose tests are all part of another step.

Builds are below build-test/; the output of a step goes to build/test-logs/STEP.log.
"""

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from testing import changed, record
from testing.builds import DOWNLOADS
from testing.inputs import Tree, check_inputs
from testing.runner import ROOT, Place, Step, StepError, end_with, keep_nothing, run_steps, total
from testing.table import STEPS

NAMES = [step.name for step in STEPS]


def minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} minutes"


def what_else(rows: Mapping[str, record.Row]) -> str:
    """Returns a text on the steps that `make test-all` adds to `make test`, with the tests and
    seconds that are on record."""
    others = [step.name for step in STEPS if step.place in (Place.MORE, Place.REST)]
    known = [row for name in others if (row := rows.get(name)) and row == row.sealed()]
    text = f"make test-all adds {len(others)} steps"
    if known:
        passed, seconds = sum(r.passed for r in known), sum(r.seconds for r in known)
        text += f": {passed} tests, {minutes(seconds)} when they were recorded"
    return text


def run_and_print(steps: Sequence[Step], recorded: bool = False) -> int:
    """Runs steps and prints the total; returns the exit status."""
    keep = record.recorder(steps, NAMES) if recorded else keep_nothing
    results, seconds = run_steps(steps, check_inputs, keep)
    line = f"{total(results.values())} in {minutes(seconds)}"
    if all(step.is_first for step in steps):
        line += f"; {what_else(record.read_record())}"
    print(line, flush=True)
    return 1 if any(result.failures is not None for result in results.values()) else 0


def install_packages(packages: str) -> None:
    """Installs the Debian packages of a set, if any is missing. Exits if that fails."""
    if subprocess.run([ROOT / "scripts/packages", packages]).returncode:
        sys.exit(1)


def run_affected() -> int:
    """Runs the steps of `make test-all` whose inputs differ from the inputs on record. Returns the
    exit status."""
    rest = [step for step in STEPS if step.place in (Place.MORE, Place.REST)]
    try:
        choices = record.choose_steps(rest, record.read_record(), Tree(), record.present_commit())
    except StepError as error:
        choices = [record.Choice(step, True, str(error)) for step in rest]
    for choice in choices:
        print(choice)
    steps = [choice.step for choice in choices if choice.run]
    if not steps:
        print("No step is affected.")
        return 0
    sys.stdout.flush()
    install_packages("test")
    return run_and_print(steps)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("steps", nargs="*", metavar="STEP", help="its name; `list` prints all")
    parser.add_argument("--first", action="store_true", help="those of `make test`")
    parser.add_argument("--affected", action="store_true", help="those that the record lacks")
    parser.add_argument("--changed", metavar="BASE", help="what differs from a commit")
    parser.add_argument("--install", metavar="SET", help="Debian packages that it installs before")
    parser.add_argument("--record", action="store_true", help="keep what passes in the record")
    parsed = parser.parse_args()
    unknown = set(parsed.steps) - {*NAMES, "list"}
    if parsed.record and (parsed.first or parsed.affected or parsed.changed):
        parser.error("--record is for make test-all")
    if (parsed.affected or parsed.changed) and parsed.steps:
        parser.error("the steps follow from the files")
    narrowing = record.narrowing() if parsed.record or parsed.affected else []
    if narrowing:
        parser.error(f"tests would do less than usual: unset {' '.join(narrowing)}")
    if unknown:
        parser.error(f"unknown steps: {' '.join(sorted(unknown))}; try list")
    others = [step.name for step in STEPS if step.name in parsed.steps and not step.is_first]
    if parsed.first and others:
        parser.error(f"of make test-all, not of make test: {' '.join(others)}")
    return parsed


def prepare() -> None:
    corpus = Path(os.environ.setdefault("CARRY_CORPUS", str(ROOT.parent / "shared/captures")))
    if not corpus.is_dir():
        print(f"No captures in {corpus} (CARRY_CORPUS): the tests that read them are skipped.")
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # some steps copy folders of scripts
    # Builds in several folders share objects, but clones do not: names of files differ.
    os.environ.setdefault("CCACHE_DIR", str(DOWNLOADS / "ccache"))
    os.environ.setdefault("CCACHE_NOHASHDIR", "1")
    os.environ.setdefault("CARRY_DOWNLOADS", str(DOWNLOADS))
    os.environ.setdefault("PIP_CACHE_DIR", str(DOWNLOADS / "pip"))


def main() -> int:
    args = arguments()
    if "list" in args.steps:
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # ends silently when its reader ends
        for step in STEPS:
            print(f"{step.name:<12} {step.what}{' (make test)' if step.is_first else ''}")
        return 0
    if args.install:
        install_packages(args.install)
    prepare()
    if args.affected:
        return run_affected()
    if args.changed:
        return changed.test_changes(args.changed)
    if args.first:
        os.environ.setdefault("CARRY_TEST_LEVEL", "short")
    usual = [s for s in STEPS if (s.is_first if args.first else s.place is not Place.FIRST)]
    return run_and_print([s for s in STEPS if s.name in args.steps] or usual, args.record)


if __name__ == "__main__":
    end_with(main)
