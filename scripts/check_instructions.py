#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the instructions of calls under callgrind, and compares them with the counts on record.

Only instructions in libcarry.so count, so that the C library does not matter. The program chooses
kernels by name, so that the CPU does not matter. Compilers differ, so each has a table.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "bench/instructions/counts.txt"
PROGRAM = "bench/instructions/count_instructions"
BUILD_OPTIONS = {"optimization": "2", "b_sanitize": "none", "b_lto": False, "c_args": []}
TOLERANCE_PERCENT = 2
SECONDS = 120
GOOD, GROWN, ERROR = 0, 1, 2

REASON_MAX = 50  # so that a line of the record has at most 100 columns
EXAMPLES = """\
examples:
  check_instructions.py build                    compares all
  check_instructions.py build --only 'sum 64'    cases whose names begin so
  check_instructions.py build --functions --only 'check ipv4-tcp-40 avx2'
                                                 where they are executed
  check_instructions.py build --update --reason 'sum: read tails in two loads'
                                                 records what changed, and why

exit status: 0 as on record, or fewer, or there is nothing to compare with (it says why); 1 more, or
other cases than those on record; 2 error
"""

HEADER = f"""\
# Instructions that a call executes in libcarry.so, as callgrind counts them: docs/bench.md.
# Counts more than {TOLERANCE_PERCENT} % above these fail. Of scripts/check_instructions.py,
# whose --update --reason TEXT writes them; the last column says why a figure is what it is.
"""


class CountError(Exception):
    """Raised if instructions cannot be counted, or the record cannot be read. The message gives the
    reason."""


class UnfitError(Exception):
    """Raised if this build cannot be compared with the record. The message gives the reason."""


@dataclass(frozen=True)
class Case:
    work: str
    on: str  # a size, or the name of a frame
    kernel: str

    def __str__(self) -> str:
        return f"{self.work} {self.on} {self.kernel}"

    @classmethod
    def parse(cls, text: str) -> Case:
        work, on, kernel = text.split()
        return cls(work, on, kernel)

    @property
    def rank(self) -> tuple[str, int, str, str]:
        return self.work, int(self.on) if self.on.isdigit() else 0, self.on, self.kernel


@dataclass(frozen=True)
class Row:
    instructions: int
    reason: str


Rows = dict[Case, Row]
Tables = dict[str, Rows]  # by compiler


# --- The record ---


def parse_row(words: list[str]) -> tuple[Case, Row]:
    if len(words) < 5:
        raise ValueError("not: work, size or frame, kernel, instructions, reason")
    if not words[3].isdecimal() or int(words[3]) == 0:
        raise ValueError(f"not a number of instructions: {words[3]}")
    return Case(*words[:3]), Row(int(words[3]), " ".join(words[4:]))


def parse_tables(text: str) -> Tables:
    tables: Tables = {}
    rows: Rows | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("compiler: "):
            rows = tables.setdefault(line.removeprefix("compiler: "), {})
        elif line and not line.startswith("#"):
            try:
                case, row = parse_row(line.split())
            except ValueError as error:
                raise CountError(f"line {number}: {error}") from None
            if rows is None or case in rows:
                raise CountError(f"line {number}: {case}: no compiler, or a second time")
            rows[case] = row
    return tables


def read_tables(path: Path) -> Tables:
    return parse_tables(path.read_text()) if path.is_file() else {}


def format_rows(rows: Rows) -> Iterator[str]:
    works = max((len(case.work) for case in rows), default=0)
    things = max((len(case.on) for case in rows), default=0)
    for case in sorted(rows, key=lambda case: case.rank):
        row = rows[case]
        names = f"{case.work:<{works}} {case.on:<{things}} {case.kernel:<7}"
        yield f"{names} {row.instructions:6}  {row.reason}\n"


def format_tables(tables: Tables) -> str:
    sections = (
        f"\ncompiler: {compiler}\n{''.join(format_rows(rows))}"
        for compiler, rows in sorted(tables.items())
    )
    return HEADER + "".join(sections)


# --- Counting ---


@dataclass
class Counts:
    compiler: str = ""
    functions: dict[Case, Counter[str]] = field(default_factory=dict)
    missing: set[Case] = field(default_factory=set)  # their kernels cannot run here

    @property
    def totals(self) -> dict[Case, int]:
        return {case: functions.total() for case, functions in self.functions.items()}


def parse_callgrind(lines: Iterable[str]) -> dict[Case, Counter[str]]:
    """Returns for each case how many instructions each function of libcarry.so executed. A client
    request ends each case."""
    parts: dict[Case, Counter[str]] = {}
    counter: Counter[str] = Counter()
    function = ""
    in_library = in_call = False
    for line in lines:
        key, _, value = line.rstrip("\n").partition("=")
        if line.startswith("part:"):
            counter, in_library = Counter(), False
        elif line.startswith("desc: Trigger: Client Request: "):
            parts[Case.parse(line.removeprefix("desc: Trigger: Client Request: "))] = counter
        elif key == "ob":
            in_library = Path(value).name.startswith("libcarry.so")
        elif key == "fn":
            function = value
        elif key == "calls":
            in_call = True
        elif line[:1].isdigit():
            if in_library and not in_call:
                counter[function] += int(line.split()[1])
            in_call = False
    return parts


def parse_output(text: str) -> Counts:
    """Returns the compiler and the missing cases, from the output of the program."""
    counts = Counts()
    for line in text.splitlines():
        key, _, value = line.partition(": ")
        if key == "compiler":
            counts.compiler = value
        elif key == "missing":
            counts.missing.add(Case.parse(value))
    return counts


def check_build(build: Path) -> None:
    """Fails unless the build can be counted, and has the options of the recorded builds."""
    if not shutil.which("valgrind"):
        raise UnfitError("valgrind is not installed")
    options = json.loads((build / "meson-info/intro-buildoptions.json").read_text())
    values = {option["name"]: option["value"] for option in options}
    for name, wanted in BUILD_OPTIONS.items():
        if values[name] != wanted:
            raise UnfitError(f"{build} was built with {name}={values[name]}, not {wanted}")
    if not (build / PROGRAM).is_file():
        raise UnfitError(f"no {build / PROGRAM}: it needs valgrind/callgrind.h, or to be built")


def run_program(build: Path, *wrapper: str) -> Counts:
    environment = {k: v for k, v in os.environ.items() if k != "CARRY_CPU_MASK"}
    command = [*wrapper, str(build / PROGRAM)]
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, timeout=SECONDS, check=True, text=True
    )
    return parse_output(done.stdout)


def obstacle(build: Path, table: Path = TABLE) -> str:
    """Returns why this build cannot be compared with the record, or ""."""
    try:
        check_build(build)
    except UnfitError as error:
        return str(error)
    compiler, known = run_program(build).compiler, sorted(read_tables(table))
    if compiler in known:
        return ""
    return f"no counts of {compiler} are on record, but of {', '.join(known) or 'none'}"


def count(build: Path) -> Counts:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        wrapper = ["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={out}"]
        wrapper += ["--combine-dumps=yes", "--compress-strings=no", "--compress-pos=no"]
        counts = run_program(build, *wrapper)
        counts.functions = parse_callgrind(out.read_text().splitlines())
    if not counts.functions or not all(counts.totals.values()):
        raise CountError("callgrind counted nothing in libcarry.so")
    return counts


# --- Comparison ---


@dataclass
class Comparison:
    more: list[Case] = field(default_factory=list)
    fewer: list[Case] = field(default_factory=list)
    unknown: list[Case] = field(default_factory=list)  # not on record
    gone: list[Case] = field(default_factory=list)  # on record, but no longer a case

    @property
    def failed(self) -> bool:
        return bool(self.more or self.unknown or self.gone)


def compare(rows: Rows, totals: Mapping[Case, int], missing: set[Case]) -> Comparison:
    result = Comparison()
    for case in sorted(rows.keys() | totals.keys(), key=lambda case: case.rank):
        if case not in rows:
            result.unknown.append(case)
        elif case in totals:
            growth = (totals[case] - rows[case].instructions) * 100
            limit = TOLERANCE_PERCENT * rows[case].instructions
            if growth > limit:
                result.more.append(case)
            elif growth < -limit:
                result.fewer.append(case)
        elif case not in missing:
            result.gone.append(case)
    return result


def updated_rows(rows: Rows, counts: Counts, reason: str) -> Rows:
    """Returns the rows with new counts; rows of kernels that cannot run here keep their counts."""
    new = {case: row for case, row in rows.items() if case in counts.missing}
    for case, total in counts.totals.items():
        old = rows.get(case)
        new[case] = old if old and old.instructions == total else Row(total, reason)
    return new


def diff_lines(cases: list[Case], rows: Rows, totals: Mapping[Case, int]) -> Iterator[str]:
    for case in cases:
        before = rows[case].instructions if case in rows else None
        after = totals.get(case)
        change = f"{(after - before) * 100 / before:+.1f} %" if before and after else ""
        shown = [f"{'-' if number is None else number:>9}" for number in (before, after)]
        yield f"{case!s:<36}{''.join(shown)}{change:>10}"


def report(comparison: Comparison, rows: Rows, totals: Mapping[Case, int]) -> None:
    for title, cases in (
        ("More instructions than on record", comparison.more),
        ("Not on record", comparison.unknown),
        ("On record, but no case any more", comparison.gone),
        ("Fewer instructions than on record", comparison.fewer),
    ):
        if cases:
            print(f"{title}:\n{'':36}{'on record':>9}{'now':>9}{'change':>10}")
            print("\n".join(diff_lines(cases, rows, totals)))


# --- The program ---


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build", metavar="BUILD")
    parser.add_argument("--table", type=Path, default=TABLE, help="the record")
    parser.add_argument("--only", default="", metavar="PREFIX", help="of the names of cases")
    parser.add_argument("--functions", action="store_true", help="show what each executes")
    parser.add_argument("--update", action="store_true", help="record what was counted")
    parser.add_argument("--reason", default="", help=f"why it changed, in {REASON_MAX} characters")
    arguments = parser.parse_args()
    arguments.reason = " ".join(arguments.reason.split())
    if arguments.update != bool(arguments.reason):
        parser.error("--update and --reason TEXT go together")
    if len(arguments.reason) > REASON_MAX:
        parser.error(f"the reason has {len(arguments.reason)} characters, more than {REASON_MAX}")
    if arguments.update and arguments.only:
        parser.error("--update records all cases, not --only some")
    return arguments


def show_functions(counts: Counts) -> None:
    for case, functions in counts.functions.items():
        print(f"{case}: {functions.total()}")
        for name, instructions in functions.most_common():
            print(f"{instructions:9}  {name}")


def keep_only(counts: Counts, rows: Rows, prefix: str) -> Rows:
    """Removes the cases whose names do not begin with `prefix` from `counts`; returns the rows
    whose names begin with it."""
    counts.functions = {k: v for k, v in counts.functions.items() if str(k).startswith(prefix)}
    return {case: row for case, row in rows.items() if str(case).startswith(prefix)}


def run_check(arguments: argparse.Namespace) -> int:
    recording = arguments.update or arguments.functions
    if recording:
        check_build(arguments.build)
    elif reason := obstacle(arguments.build, arguments.table):
        print(f"skipped: {reason}")
        return GOOD
    tables = read_tables(arguments.table)
    counts = count(arguments.build)
    rows = keep_only(counts, tables.get(counts.compiler, {}), arguments.only)
    if arguments.functions:
        show_functions(counts)
        return GOOD
    comparison = compare(rows, counts.totals, counts.missing)
    report(comparison, rows, counts.totals)
    if counts.missing:
        print(f"skipped: {len(counts.missing)} cases, whose kernels cannot run here")
    print(f"{len(counts.functions)} cases, {counts.compiler}")
    if arguments.update:
        tables[counts.compiler] = updated_rows(rows, counts, arguments.reason)
        arguments.table.write_text(format_tables(tables))
        return GOOD
    if comparison.failed or comparison.fewer:
        print("To record them: scripts/check_instructions.py BUILD --update --reason 'why'")
    return GROWN if comparison.failed else GOOD


def main() -> int:
    arguments = parse_arguments()
    try:
        return run_check(arguments)
    except (CountError, UnfitError, OSError, subprocess.SubprocessError) as error:
        print(f"check_instructions.py: {error}", file=sys.stderr)
        return ERROR


if __name__ == "__main__":
    sys.exit(main())
