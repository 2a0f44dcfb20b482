# SPDX-License-Identifier: MIT
"""Reads and writes tests/record.txt, the record of the inputs with which each step last passed: a
step whose inputs have the recorded digest need not run again.

A run writes a row only for a step that passed, and that skipped nothing because something was not
installed. The seal of a row is a digest of the row: a row that was changed by hand, or copied to
another step, is rejected. It detects mistakes, not malice, so a run that skips steps runs one of
them nevertheless.
"""

import hashlib
import os
import re
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from testing.builds import BUILDS, locked
from testing.inputs import Tree, git
from testing.runner import ROOT, Keep, Result, Step

RECORD = ROOT / "tests/record.txt"
# Reasons why a recorded step may skip a test: it runs in another step or at another level, or the
# CPU decides. A test that is skipped for another reason needs something that is not installed.
ACCEPTED = re.compile(
    "[Ss]anitizer|not instrumented|it takes minutes|left out at CARRY_TEST_LEVEL|"
    r": (tests/[a-z/]+/)?test_[a-z_]+\.py (runs|sends)|"
    "no kernel was built with this tool|unknown name|beside the tool or where it is installed|"
    "root may read everything|hides its bound|suricata|older than CPython|CPU|Bochs keeps AVX"
)
# Variables that reduce what a run tests.
NARROWING = ("CARRY_TEST_", "CARRY_CPU_MASK", "CARRY_COVERAGE", "PYTEST_ADDOPTS")
HEAD = """\
# What each step of `make test-all` last passed on; `make test-all RECORD=1` writes it.
# step, digest of its inputs, points passed and skipped, seconds, day, seal of the row
"""


@dataclass(frozen=True)
class Row:
    step: str
    digest: str
    passed: int
    skipped: int
    seconds: int
    day: str
    seal: str = ""

    def sealed(self) -> "Row":
        fields = (self.step, self.digest, self.passed, self.skipped, self.seconds, self.day)
        text = " ".join(map(str, fields))
        seal = hashlib.sha256(f"libcarry record {text}".encode()).hexdigest()[:16]
        return Row(*fields, seal)

    def __str__(self) -> str:
        numbers = f"{self.passed:>6} {self.skipped:>5} {self.seconds:>5}"
        return f"{self.step:<12} {self.digest} {numbers} {self.day} {self.seal}"


def read_row(line: str) -> Row:
    """Returns the row in a line. The seal of a damaged row is wrong."""
    words = line.split()
    try:
        step, digest, passed, skipped, seconds, day, seal = words
        return Row(step, digest, int(passed), int(skipped), int(seconds), day, seal)
    except ValueError:
        return Row(words[0], "", 0, 0, 0, "")


def read_record(path: Path = RECORD) -> dict[str, Row]:
    if not path.is_file():
        return {}
    lines = path.read_text(errors="replace").splitlines()
    rows = [read_row(line) for line in lines if line.strip() and not line.startswith("#")]
    return {row.step: row for row in rows}


def narrowing() -> list[str]:
    """Returns the variables of the environment that reduce what a run tests."""
    return [name for name in os.environ if name.startswith(NARROWING)]


def is_whole(result: Result) -> bool:
    """Checks whether a step passed and left nothing out because something was missing."""
    return result.failures is None and all(map(ACCEPTED.search, result.left_out))


def write_record(rows: Mapping[str, Row], order: Iterable[str], path: Path = RECORD) -> None:
    """Writes the rows of steps that exist, in their order."""
    lines = [f"{rows[name]}\n" for name in order if name in rows]
    BUILDS.mkdir(exist_ok=True)
    new = BUILDS / "record.new"  # outside the inputs of other steps
    new.write_text(HEAD + "".join(lines))
    shutil.move(new, path)


def add_row(row: Row, order: Iterable[str], path: Path = RECORD) -> None:
    """Writes the row of a step that has passed. Keeps all other rows, some of which other processes
    may have added."""
    with locked(BUILDS / "record.lock"):
        write_record(read_record(path) | {row.step: row}, order, path)


def recorder(steps: Sequence[Step], order: Sequence[str]) -> Keep:
    """Returns a function that records a step if the step passed completely, and its inputs have not
    changed since this call."""
    before = Tree()
    digests = {step.name: before.digest(step) for step in steps}

    def keep(step: Step, result: Result) -> None:
        digest = digests[step.name]
        if is_whole(result) and Tree().digest(step) == digest:
            add_row(row_of(step, digest, result), order)

    return keep


def row_of(step: Step, digest: str, result: Result) -> Row:
    day = time.strftime("%Y-%m-%d", time.gmtime())
    passed, skipped = result.counts.passed, result.counts.skipped
    return Row(step.name, digest, passed, skipped, round(result.seconds), day).sealed()


@dataclass(frozen=True)
class Choice:
    step: Step
    run: bool
    reason: str

    def __str__(self) -> str:
        return f"{self.step.name:<12} {'runs' if self.run else 'is skipped'}: {self.reason}"


def choice(step: Step, digest: str, row: Row | None) -> Choice:
    """Returns whether a step has to run, and why."""
    if row is None:
        return Choice(step, True, "no run is recorded")
    if row != row.sealed() or not row.passed:
        return Choice(step, True, "its row in tests/record.txt is not as a run writes it")
    if row.digest != digest:
        return Choice(step, True, f"its inputs are not those of {row.day}, when it last passed")
    passed = f"{row.passed} points passed on {row.day} with the same inputs ({digest})"
    return Choice(step, False, passed)


def choose_steps(
    steps: Sequence[Step], rows: Mapping[str, Row], tree: Tree, commit: str
) -> list[Choice]:
    """Returns for each step whether it has to run, and why."""
    choices = [choice(step, tree.digest(step), rows.get(step.name)) for step in steps]
    return confirm_one(choices, commit)


def confirm_one(choices: list[Choice], commit: str) -> list[Choice]:
    """Returns the choices, in which one of the skipped steps runs; a hash of the commit selects
    this step."""
    skipped = [choice for choice in choices if not choice.run]
    if not skipped:
        return choices
    number = int(hashlib.sha256(commit.encode()).hexdigest(), 16)
    again = skipped[number % len(skipped)]
    confirmed = Choice(again.step, True, "this commit confirms its row in tests/record.txt")
    return [confirmed if c is again else c for c in choices]


def present_commit() -> str:
    return git("rev-parse", "HEAD").strip()
