#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reports which branches of src/ and capture/ the tests reach, and compares this with two tables.

usage: check_coverage.py [--record] [--floors] BUILD PROFILES REPORT

BUILD was made by clang-19 with -fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc; its
programs wrote to PROFILES, a folder. REPORT, another folder, gets pages: index.html. `make
coverage` makes all of them. --record writes the floors: what was reached, less a margin. With
--floors only floors decide the exit status: another CPU, or a busy one, may reach branches that the
table calls unreached.

tests/house/coverage/floors.txt says how much each module must reach.
tests/house/coverage/unreached.toml gives the reason for each branch that no test reaches. An
unreached branch without a row is an error, and so is a row whose branch was reached, unless that
depends on the machine. If code is not reached because a branch before it is not, only that branch
has a row."""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import sys
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
TABLES = ROOT / "tests/house/coverage"
TOOLS = ("clang-19", "llvm-cov-19", "llvm-profdata-19")
# The objects that contain all code of the libraries, including the variant for systems without
# threads.
OBJECTS = ("src/libcarry.so", "capture/libcarry-capture.so", "tests/test_capture_threadless")
MEASURES = ("lines", "branches", "MC/DC")
CODE_REGION, EXPANSION_REGION = 0, 1
MCDC_BRANCH = 6
# How much less a machine may reach, in percentage points or in items, whichever is more: results
# depend on its CPU and on the order of threads.
MARGIN = 1.0
MARGIN_ITEMS = 3

ROW = re.compile(
    r"(?P<file>\S+) (?P<function>\S+?)(?:: (?P<text>.+))? is never "
    r"(?P<outcome>called|evaluated|false|true)"
)

Position = tuple[int, int]


class CoverageError(Exception):
    """Raised if coverage cannot be judged. The message gives the reason."""


# --- What was reached ---


@dataclass
class Branch:
    """A condition, or a case of a switch."""

    file: str
    function: str
    start: Position
    text: str
    counts: Counter[str] = field(default_factory=Counter)  # by outcome
    folded: bool = True  # the compiler knows its outcome
    alone: bool | None = None  # shown to decide by itself (MC/DC); None: the only condition

    @property
    def is_measured(self) -> bool:
        return not self.folded or bool(self.counts.total())


@dataclass
class Function:
    file: str
    name: str
    calls: int = 0
    branches: dict[tuple[str, Position], Branch] = field(default_factory=dict)


@dataclass(frozen=True)
class Gap:
    """A function that is not called, or an outcome that a branch never has."""

    file: str
    function: str
    text: str
    outcome: str

    def __str__(self) -> str:
        condition = f": {self.text}" if self.text else ""
        return f"{self.file} {self.function}{condition} is never {self.outcome}"


class Sources:
    """The texts of files, below a folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lines: dict[str, list[str]] = {}

    def name(self, path: str) -> str:
        """Returns the path of a file of src/ or capture/, from the root; "" for other files."""
        if not Path(path).is_relative_to(self.root):
            return ""
        name = str(Path(path).relative_to(self.root))
        return name if name.startswith(("src/", "capture/")) else ""

    def text(self, file: str, start: Position, end: Position) -> str:
        """Returns the text between two positions, with single spaces. Positions count from 1."""
        if file not in self.lines:
            self.lines[file] = (self.root / file).read_text().split("\n")
        lines = self.lines[file][start[0] - 1 : end[0]]
        lines[-1] = lines[-1][: end[1] - 1]
        lines[0] = lines[0][start[1] - 1 :]
        return " ".join(" ".join(lines).split())


def module_of(file: str) -> str:
    names = file.split("/")
    return names[1] if names[0] == "src" else names[0]


def count_around(regions: Iterable[list[int]], file: int, start: Position) -> int:
    """Returns how often the innermost code around a position was executed."""
    around = (
        region
        for region in regions
        if region[5] == file and region[7] in (CODE_REGION, EXPANSION_REGION)
        if (region[0], region[1]) <= start < (region[2], region[3])
    )
    return max(around, key=lambda region: (region[0], region[1]), default=[0] * 5)[4]


def read_branches(function: Function, record: dict[str, Any], sources: Sources) -> None:
    """Adds the branches of a record. A function in a header has a record for each file that uses
    the header."""
    for line, column, end_line, end_column, true, false, file, _, _ in record["branches"]:
        name = sources.name(record["filenames"][file])
        start = (line, column)
        if not name:
            continue
        if (name, start) not in function.branches:
            text = sources.text(name, start, (end_line, end_column))
            function.branches[name, start] = Branch(name, function.name, start, text)
        branch = function.branches[name, start]
        branch.counts += Counter(true=true, false=false)
        if true or false or not count_around(record["regions"], file, start):
            branch.folded = False


def read_decisions(function: Function, record: dict[str, Any], sources: Sources) -> None:
    for line, column, end_line, end_column, file, _, shown in record["mcdc_records"]:
        name = sources.name(record["filenames"][file])
        conditions = sorted(
            (branch[0], branch[1])
            for branch in record["branches"]
            if branch[6] == file and branch[8] == MCDC_BRANCH
            if (line, column) <= (branch[0], branch[1]) < (end_line, end_column)
        )
        if name and len(conditions) == len(shown):
            for start, is_shown in zip(conditions, shown, strict=True):
                branch = function.branches[name, start]
                branch.alone = branch.alone or is_shown


def read_functions(export: dict[str, Any], sources: Sources) -> list[Function]:
    functions: dict[tuple[str, str], Function] = {}
    for record in export["functions"]:
        file = sources.name(record["filenames"][0])
        name = re.split("[:;]", record["name"])[-1]
        if file:
            function = functions.setdefault((file, name), Function(file, name))
            function.calls += record["count"]
            read_branches(function, record, sources)
            read_decisions(function, record, sources)
    return list(functions.values())


def number_texts(branches: Iterable[Branch]) -> None:
    """Numbers the conditions of a function that have the same text."""
    alike = defaultdict(list)
    for branch in sorted(branches, key=lambda branch: (branch.file, branch.start)):
        alike[branch.file, branch.text].append(branch)
    for same in alike.values():
        for number, branch in enumerate(same, 1):
            branch.text += f" [{number}]" if len(same) > 1 else ""


def measured_branches(functions: Iterable[Function]) -> Iterator[Branch]:
    for function in functions:
        yield from (branch for branch in function.branches.values() if branch.is_measured)


def find_gaps(functions: Iterable[Function]) -> Iterator[Gap]:
    """Yields functions that are not called, and outcomes that evaluated branches never have. Yields
    branches that are not evaluated only if their function has no such outcome: it would be the
    reason."""
    for function in functions:
        if not function.calls:
            yield Gap(function.file, function.name, "", "called")
            continue
        branches = list(measured_branches([function]))
        gaps = [
            Gap(branch.file, branch.function, branch.text, outcome)
            for branch in branches
            if branch.counts.total()
            for outcome in ("true", "false")
            if not branch.counts[outcome]
        ]
        yield from gaps or (
            Gap(branch.file, branch.function, branch.text, "evaluated")
            for branch in branches
            if not branch.counts.total()
        )


# --- The tables ---


@dataclass
class Row:
    pattern: re.Pattern[str]
    text: str
    outcome: str
    depends: bool  # on the machine or the order of threads: the gap may be reached

    def matches(self, gap: Gap) -> bool:
        return self.outcome == gap.outcome and bool(self.pattern.fullmatch(str(gap)))


def parse_row(text: str, depends: bool) -> Row:
    """Parses a row: a gap in the form that this program prints; "..." matches anything."""
    words = ROW.fullmatch(text)
    if not words:
        raise CoverageError(f"not FILE FUNCTION: CONDITION is never OUTCOME: {text}")
    pattern = re.escape(text).replace(re.escape("..."), ".*")
    return Row(re.compile(pattern), text, words["outcome"], depends)


def parse_rows(text: str) -> list[Row]:
    rows = []
    for reason in tomllib.loads(text)["reason"]:
        if not reason["why"].strip():
            raise CoverageError(f"no reason: {reason['rows'].strip()}")
        depends = reason.get("depends", False)
        lines = filter(None, map(str.strip, reason["rows"].splitlines()))
        rows += [parse_row(line, depends) for line in lines]
    return rows


def parse_floors(text: str) -> dict[str, list[float]]:
    lines = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return {words[0]: [float(word) for word in words[1:]] for words in lines}


def all_outcomes(functions: Iterable[Function]) -> Iterator[Gap]:
    """Yields all outcomes that could be gaps."""
    for function in functions:
        yield Gap(function.file, function.name, "", "called")
        for branch in measured_branches([function]):
            for outcome in ("true", "false", "evaluated"):
                yield Gap(branch.file, branch.function, branch.text, outcome)


def reached(functions: Iterable[Function]) -> Iterator[Gap]:
    for function in functions:
        if function.calls:
            yield Gap(function.file, function.name, "", "called")
        for branch in measured_branches([function]):
            if branch.counts.total():
                yield Gap(branch.file, branch.function, branch.text, "evaluated")
            for outcome in ("true", "false"):
                if branch.counts[outcome]:
                    yield Gap(branch.file, branch.function, branch.text, outcome)


def check_rows(rows: Iterable[Row], functions: list[Function]) -> Iterator[str]:
    """Yields complaints about gaps without a row, and about rows without a gap."""
    rows = list(rows)
    gaps, there = list(find_gaps(functions)), list(reached(functions))
    known = list(all_outcomes(functions))
    for gap in gaps:
        if not any(row.matches(gap) for row in rows):
            yield f"no reason: {gap}"
    for row in rows:
        if row.depends:
            if not any(row.matches(gap) for gap in known):
                yield f"there is no such branch: {row.text}"
        elif found := next(filter(row.matches, there), None):
            yield f"was reached: {found} (row: {row.text})"
        elif not any(row.matches(gap) for gap in gaps):
            yield f"says nothing: {row.text}"


# --- Sums ---


@dataclass
class Sum:
    reached: int = 0
    total: int = 0

    def add(self, reached: int, total: int) -> None:
        self.reached += reached
        self.total += total

    @property
    def percent(self) -> float:
        return 100 * self.reached / self.total if self.total else 100.0

    def __str__(self) -> str:
        return f"{self.reached:>5} of {self.total:>4} {self.percent:6.1f} %"


Sums = dict[str, dict[str, Sum]]  # by module and measure


def may_vary(branch: Branch, function: Function, rows: Iterable[Row]) -> bool:
    """Checks whether a branch depends on the machine; the sums leave out such branches."""
    gaps = [Gap(branch.file, branch.function, branch.text, way) for way in ("true", "false")]
    gaps.append(Gap(function.file, function.name, "", "called"))
    return any(row.matches(gap) for row in rows if row.depends for gap in gaps)


def sum_up(
    export: dict[str, Any], functions: Iterable[Function], rows: Iterable[Row], sources: Sources
) -> Sums:
    sums: Sums = defaultdict(lambda: {measure: Sum() for measure in MEASURES})
    for file in export["files"]:
        if name := sources.name(file["filename"]):
            lines = file["summary"]["lines"]
            sums[module_of(name)]["lines"].add(lines["covered"], lines["count"])
    for function in functions:
        for branch in measured_branches([function]):
            if may_vary(branch, function, rows):
                continue
            own = sums[module_of(branch.file)]
            own["branches"].add(sum(branch.counts[way] > 0 for way in ("true", "false")), 2)
            if branch.alone is not None:
                own["MC/DC"].add(branch.alone, 1)
    return dict(sorted(sums.items()))


def check_floors(floors: dict[str, list[float]], sums: Sums) -> Iterator[str]:
    for module in sorted(floors.keys() ^ sums.keys()):
        yield f"{module}: no such module, or it has no floor"
    for module in sorted(floors.keys() & sums.keys()):
        for measure, floor in zip(MEASURES, floors[module], strict=True):
            percent = sums[module][measure].percent
            if percent < floor:
                yield f"{module}: {percent:.1f} % of {measure}, which were {floor} %"


def table(sums: Sums) -> str:
    lines = [f"{'module':<8}" + "".join(f"{measure:>23}" for measure in MEASURES)]
    for module, own in sums.items():
        lines.append(f"{module:<8}" + "".join(f"{own[measure]!s:>23}" for measure in MEASURES))
    return "\n".join(lines)


def floor_of(value: Sum) -> float:
    items = Sum(value.reached - MARGIN_ITEMS, value.total).percent
    return max(0.0, math.floor(10 * min(value.percent - MARGIN, items)) / 10)


FLOORS_HEAD = f"""\
# Percent that the step coverage reaches at least, of each module: lines, branches, MC/DC.
# By check_coverage.py --record: {MARGIN:.0f} %, or {MARGIN_ITEMS} of them, less than was reached.
"""


def floors_text(sums: Sums) -> str:
    lines = (
        f"{module:<8}" + "".join(f"{floor_of(own[measure]):>6}" for measure in MEASURES)
        for module, own in sums.items()
    )
    return FLOORS_HEAD + "\n".join(lines) + "\n"


# --- The tools ---


def run_tool(*command: str | Path) -> str:
    try:
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    except subprocess.CalledProcessError as error:
        raise CoverageError(f"{command[0]}: exit status {error.returncode}") from None


def objects(build: Path) -> list[str | Path]:
    first, *others = (build / name for name in OBJECTS)
    return [first, *(word for other in others for word in ("-object", other))]


def read_export(build: Path, profiles: Path) -> dict[str, Any]:
    """Returns what the tests executed, in the form of `llvm-cov export`."""
    found = sorted(profiles.glob("*.profraw"))
    if not found:
        raise CoverageError(f"no test left anything in {profiles}")
    merged = profiles / "all.profdata"
    run_tool("llvm-profdata-19", "merge", "-o", merged, *found)
    text = run_tool("llvm-cov-19", "export", *objects(build), f"-instr-profile={merged}")
    export: dict[str, Any] = json.loads(text)["data"][0]
    return export


def write_pages(build: Path, profiles: Path, report: Path) -> None:
    run_tool(
        *("llvm-cov-19", "show", *objects(build), f"-instr-profile={profiles / 'all.profdata'}"),
        *("-format=html", f"-output-dir={report}", "-show-branches=count", "-show-mcdc"),
        *("-project-title=libcarry", ROOT / "src", ROOT / "capture"),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true", help="write what was reached as the floor")
    parser.add_argument("--floors", action="store_true", help="let only floors fail")
    parser.add_argument("build", type=Path)
    parser.add_argument("profiles", type=Path)
    parser.add_argument("report", type=Path)
    arguments = parser.parse_args()
    sources = Sources(ROOT)
    export = read_export(arguments.build, arguments.profiles)
    functions = read_functions(export, sources)
    for function in functions:
        number_texts(function.branches.values())
    rows = parse_rows((TABLES / "unreached.toml").read_text())
    sums = sum_up(export, functions, rows, sources)
    if arguments.record:
        (TABLES / "floors.txt").write_text(floors_text(sums))
    write_pages(arguments.build, arguments.profiles, arguments.report)
    print(table(sums))
    print(f"pages: {arguments.report / 'index.html'}")
    too_low = list(check_floors(parse_floors((TABLES / "floors.txt").read_text()), sums))
    differences = list(check_rows(rows, functions))
    for line in too_low + differences:
        print(line)
    return 1 if too_low or (differences and not arguments.floors) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (CoverageError, OSError) as error:
        sys.exit(f"check_coverage.py: {error}")
