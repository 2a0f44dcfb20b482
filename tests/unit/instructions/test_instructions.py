# SPDX-License-Identifier: MIT
"""Tests which counts scripts/check_instructions.py accepts, refuses and records, and that it counts
the executed code."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from check_instructions import (
    BUILD_OPTIONS,
    Case,
    CountError,
    Counts,
    Row,
    UnfitError,
    check_build,
    compare,
    format_tables,
    obstacle,
    parse_callgrind,
    parse_tables,
    updated_rows,
)

SOURCE = Path(__file__).resolve().parent.parent.parent.parent
BUILD = Path(os.environ.get("CARRY_BUILD", SOURCE / "build")).resolve()
SCRIPT = SOURCE / "scripts/check_instructions.py"

SMALL, LARGE = Case("sum", "8", "adc"), Case("sum", "1500", "adc")
ROWS = {SMALL: Row(20, "first"), LARGE: Row(1000, "first")}


# --- Tables ---


def totals(small: int, large: int) -> dict[Case, int]:
    return {SMALL: small, LARGE: large}


@pytest.mark.parametrize(
    ("small", "large", "more", "fewer"),
    [
        (20, 1000, [], []),
        (20, 1020, [], []),
        (20, 1021, [LARGE], []),
        (21, 1000, [SMALL], []),
        (20, 980, [], []),
        (20, 979, [], [LARGE]),
        (19, 1500, [LARGE], [SMALL]),
    ],
)
def test_growth_beyond_the_tolerance_fails(
    small: int, large: int, more: list[Case], fewer: list[Case]
) -> None:
    result = compare(ROWS, totals(small, large), set())
    assert (result.more, result.fewer) == (more, fewer)
    assert result.failed == bool(more)


def test_cases_and_rows_must_be_the_same() -> None:
    new = Case("copy", "0", "avx2")
    result = compare(ROWS, {SMALL: 20, new: 9}, set())
    assert (result.unknown, result.gone, result.failed) == ([new], [LARGE], True)


def test_kernels_that_cannot_run_are_not_gone() -> None:
    result = compare(ROWS, {SMALL: 20}, {LARGE})
    assert (result.gone, result.failed) == ([], False)


def test_update_gives_the_reason_where_figures_change() -> None:
    old = ROWS | {Case("sum", "8", "avx2"): Row(30, "first"), Case("gone", "8", "adc"): Row(1, "x")}
    counts = Counts(missing={Case("sum", "8", "avx2")})
    counts.functions = parse_callgrind(part("sum 8 adc", 20) + part("sum 1500 adc", 990))
    assert updated_rows(old, counts, "why") == {
        SMALL: Row(20, "first"),
        LARGE: Row(990, "why"),
        Case("sum", "8", "avx2"): Row(30, "first"),
    }


def test_tables_are_read_as_they_are_written() -> None:
    tables = {"gcc 1.2.3": ROWS, "clang 4.5.6": {SMALL: Row(7, "another, with blanks")}}
    text = format_tables(tables)
    assert parse_tables(text) == tables
    assert text.index("sum 8 ") < text.index("sum 1500 ")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("sum 8 adc 20", "line 2: not: work, size or frame, kernel, instructions, reason"),
        ("sum 8 adc many first", "line 2: not a number of instructions: many"),
        ("sum 8 adc 0 first", "line 2: not a number of instructions: 0"),
        ("sum 8 adc 20 first\nsum 8 adc 21 first", "line 3: sum 8 adc: no compiler, or a second"),
    ],
)
def test_doctored_tables_are_refused(line: str, complaint: str) -> None:
    with pytest.raises(CountError, match=complaint):
        parse_tables(f"compiler: gcc 1.2.3\n{line}\n")


def part(name: str, instructions: int) -> list[str]:
    """Returns callgrind's output for the library, its callees, and the program."""
    return [
        "part: 1",
        f"desc: Trigger: Client Request: {name}",
        "ob=/elsewhere/libc.so.6",
        "fn=memcpy",
        "7 1000",
        "ob=/build/src/libcarry.so.0.1.0",
        "fn=carry_sum_call",
        f"12 {instructions - 1}",
        "cob=/elsewhere/libc.so.6",
        "cfn=memcpy",
        "calls=1 7",
        "12 1000",
        "fn=carry_sum_adc",
        "14 1",
        "ob=/build/program",
        "fn=main",
        "7 1000",
    ]


def test_only_the_library_counts() -> None:
    lines = [*part("sum 8 adc", 20), "part: 2", "desc: Trigger: Program termination", "9 9"]
    counted = parse_callgrind(lines)
    assert counted == {SMALL: {"carry_sum_call": 19, "carry_sum_adc": 1}}


# --- Live ---


def check(*arguments: str | Path, **env: str) -> tuple[int, str]:
    done = subprocess.run(
        [SCRIPT, BUILD, *arguments],
        env=os.environ | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the path of a table with the counts of this build."""
    try:
        check_build(BUILD)
    except UnfitError as error:
        pytest.skip(str(error))
    path = tmp_path_factory.mktemp("table") / "counts.txt"
    status, output = check("--table", path, "--update", "--reason", "first")
    assert status == 0, output
    return path


def test_counts_repeat_exactly(table: Path, tmp_path: Path) -> None:
    again = tmp_path / "counts.txt"
    other = {"CARRY_CPU_MASK": "avx2", "LARGER_ENVIRONMENT": "x" * 999}
    check("--table", again, "--update", "--reason", "first", **other)
    assert again.read_text() == table.read_text()


@pytest.mark.usefixtures("table")
def test_other_compilers_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "counts.txt"
    path.write_text("compiler: gcc 1.2.3\n")
    status, output = check("--table", path)
    assert (status, output.startswith("skipped: no counts of ")) == (0, True)
    assert output.endswith(" are on record, but of gcc 1.2.3\n")
    assert "on record, but of none" in obstacle(BUILD, tmp_path / "absent.txt")


def test_a_doctored_figure_fails(table: Path, tmp_path: Path) -> None:
    tables = parse_tables(table.read_text())
    ((compiler, rows),) = tables.items()
    before = rows[SMALL].instructions
    rows[SMALL] = Row(before - 1, "doctored")
    doctored = tmp_path / "counts.txt"
    doctored.write_text(format_tables(tables))

    status, output = check("--table", doctored)
    assert status == 1
    assert output.splitlines()[0] == "More instructions than on record:"
    assert output.splitlines()[2].split()[:5] == ["sum", "8", "adc", str(before - 1), str(before)]
    assert check("--table", doctored, "--only", "copy")[0] == 0

    assert check("--table", doctored, "--update")[0] == 2
    assert check("--table", doctored, "--update", "--reason", " ")[0] == 2
    assert check("--table", doctored, "--update", "--reason", "x" * 51)[0] == 2
    assert check("--table", doctored, "--update", "--reason", "undone")[0] == 0
    assert parse_tables(doctored.read_text())[compiler][SMALL] == Row(before, "undone")
    assert check("--table", doctored)[0] == 0


def test_other_builds_are_skipped(tmp_path: Path) -> None:
    options = tmp_path / "meson-info/intro-buildoptions.json"
    options.parent.mkdir()
    values = BUILD_OPTIONS | {"optimization": "3"}
    options.write_text(json.dumps([{"name": k, "value": v} for k, v in values.items()]))
    assert obstacle(tmp_path) in (
        f"{tmp_path} was built with optimization=3, not 2",
        "valgrind is not installed",
    )


def make_mutant(folder: Path) -> Path:
    """Builds the library with tests/mutants/burst.c in place of src/sum/sum.c."""
    objects = [p for p in sorted((BUILD / "src").glob("*.p/*.o")) if p.name != "sum_sum.c.o"]
    mutant = folder / "libcarry.so.0"
    flags = ["-O2", "-fPIC", "-fvisibility=hidden", "-Iinclude", "-Isrc"]
    link = ["-shared", f"-Wl,-soname,{mutant.name}", "-pthread", "-ldl", "-o", mutant]
    link += [f"-Wl,--version-script={BUILD / 'src/exports.map'}"]
    command = ["gcc", *flags, "tests/mutants/burst.c", *objects, *link]
    subprocess.run(command, cwd=SOURCE, check=True)
    return mutant


def test_a_loop_too_many_is_noticed(table: Path, tmp_path: Path) -> None:
    status, output = check("--table", table, LD_PRELOAD=str(make_mutant(tmp_path)))
    grown = {case for case in parse_tables(table.read_text()).popitem()[1] if case.work == "burst"}
    assert status == 1
    assert {Case.parse(" ".join(line.split()[:3])) for line in grown_lines(output)} == grown


def grown_lines(output: str) -> list[str]:
    """Returns the rows below the title and the column names."""
    lines = output.splitlines()
    assert lines[0] == "More instructions than on record:"
    return [line for line in lines[2:] if line.endswith("%")]
