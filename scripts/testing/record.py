# SPDX-License-Identifier: MIT
"""The record of what steps last passed on, tests/record.txt: a step whose inputs have the recorded
digest need not run again.

A run writes a row only for a step that passed and left out nothing. The seal of a row is a digest
of the row: a row that was changed by hand, or copied to another step, is rejected. It shows
mistakes, not malice, so a run that skips steps runs one of them all the same, which the commit
chooses.
"""

import hashlib
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from testing.inputs import Tree
from testing.runner import ROOT, Counts, Step

RECORD = ROOT / "tests/record.txt"
HEAD = """\
# What each step of `make test-all` last passed on; `make test-all RECORD=1` writes it.
# step, digest of its inputs, points passed and skipped, seconds, day, seal of the row
"""
# A step that takes longer is not run again to confirm the record.
CONFIRMED_SECONDS = 300


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
    """Returns the row in a line, which may be anything: the seal of a damaged one is wrong."""
    words = line.split()
    try:
        step, digest, passed, skipped, seconds, day, seal = words
        return Row(step, digest, int(passed), int(skipped), int(seconds), day, seal)
    except ValueError:
        return Row(words[0], "", 0, 0, 0, "")


def read(path: Path = RECORD) -> dict[str, Row]:
    if not path.is_file():
        return {}
    lines = path.read_text().splitlines()
    rows = [read_row(line) for line in lines if line.strip() and not line.startswith("#")]
    return {row.step: row for row in rows}


def write(rows: Mapping[str, Row], order: Iterable[str], path: Path = RECORD) -> None:
    """Writes the rows of steps that exist, in their order."""
    lines = [f"{rows[name]}\n" for name in order if name in rows]
    path.write_text(HEAD + "".join(lines))


def row_of(step: Step, digest: str, counts: Counts, seconds: float) -> Row:
    day = time.strftime("%Y-%m-%d", time.gmtime())
    row = Row(step.name, digest, counts.passed, counts.skipped, round(seconds), day)
    return row.sealed()


def reason_to_run(step: Step, digest: str, row: Row | None) -> str:
    """Returns why a step has to run, and nothing if the record shows that it need not."""
    if row is None:
        return "no run is recorded"
    if row.step != step.name or row != row.sealed() or not row.passed:
        return "its row in tests/record.txt is not as a run writes it"
    if row.digest != digest:
        return f"its inputs are not those of {row.day}, when it last passed"
    return ""


@dataclass(frozen=True)
class Choice:
    step: Step
    run: bool
    reason: str

    def __str__(self) -> str:
        return f"{self.step.name:<12} {'runs' if self.run else 'is skipped'}: {self.reason}"


def choose(steps: Sequence[Step], rows: Mapping[str, Row], tree: Tree, commit: str) -> list[Choice]:
    """Returns for each step whether it has to run, and why."""
    choices = []
    for step in steps:
        digest, row = tree.digest(step), rows.get(step.name)
        reason = reason_to_run(step, digest, row)
        if not reason and row:
            passed = f"{row.passed} points passed on {row.day} with the same inputs ({digest})"
        choices.append(Choice(step, bool(reason), reason or passed))
    return confirm(choices, rows, commit)


def confirm(choices: list[Choice], rows: Mapping[str, Row], commit: str) -> list[Choice]:
    """Has one of the steps run that could be skipped; the commit chooses, not its author."""
    skipped = [c for c in choices if not c.run]
    cheap = [c for c in skipped if rows[c.step.name].seconds <= CONFIRMED_SECONDS]
    if not cheap:
        return choices
    number = int(hashlib.sha256(commit.encode()).hexdigest(), 16)
    again = cheap[number % len(cheap)]
    confirmed = Choice(again.step, True, "this commit confirms its row in tests/record.txt")
    return [confirmed if c is again else c for c in choices]


def present_commit() -> str:
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.strip()
