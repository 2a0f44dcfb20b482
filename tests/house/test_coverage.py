# SPDX-License-Identifier: MIT
"""The checker of coverage finds missing and superfluous rows; programs are counted however they
end."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from carry_tool import SOURCE

sys.path.insert(0, str(SOURCE / "scripts"))
import check_coverage as checker

TABLES = SOURCE / "tests/house/coverage"


def function(name: str, calls: int, **branches: tuple[int, int]) -> checker.Function:
    """Returns a function; each branch is named by its text, with its counts of true and false."""
    made = checker.Function("src/sum/a.c", name, calls)
    for line, (text, (true, false)) in enumerate(branches.items()):
        counts = Counter(true=true, false=false)
        branch = checker.Branch("src/sum/a.c", name, (line, 1), text, counts, folded=False)
        made.branches["src/sum/a.c", (line, 1)] = branch
    return made


def rows(*lines: str, depends: bool = False) -> list[checker.Row]:
    return [checker.parse_row(line, depends) for line in lines]


REACHED = function("f", 1, some=(1, 1), all=(2, 3))
HALF = function("f", 1, some=(1, 0), all=(2, 3))
NEVER = function("f", 0, some=(0, 0))


def test_all_is_reached() -> None:
    assert list(checker.check_rows([], [REACHED])) == []


@pytest.mark.parametrize(
    ("functions", "row"),
    [
        ([HALF], "src/sum/a.c f: some is never false"),
        ([HALF], "src/sum/...c f: s...e is never false"),
        ([NEVER], "src/sum/a.c f is never called"),
        # Code after a branch needs a row of its own only if no other row explains it.
        ([function("f", 1, some=(1, 0), behind=(0, 0))], "src/sum/a.c f: some is never false"),
        ([function("f", 1, behind=(0, 0))], "src/sum/a.c f: behind is never evaluated"),
    ],
)
def test_a_gap_has_one_row(functions: list[checker.Function], row: str) -> None:
    assert list(checker.check_rows(rows(row), functions)) == []
    (lacking,) = checker.check_rows([], functions)
    assert lacking.startswith("no reason: src/sum/a.c f")


@pytest.mark.parametrize(
    ("row", "error"),
    [
        ("src/sum/a.c f: some is never true", "was reached: src/sum/a.c f: some is never true"),
        ("src/sum/a.c f is never called", "was reached: src/sum/a.c f is never called"),
        ("src/sum/a.c f: other is never true", "says nothing: src/sum/a.c f: other"),
        ("src/sum/a.c f: ... is never true", "was reached: src/sum/a.c f: some"),
    ],
)
def test_rows_that_are_wrong(row: str, error: str) -> None:
    (found,) = checker.check_rows(rows(row), [REACHED])
    assert found.startswith(error)


def test_branches_that_depend_on_the_machine() -> None:
    """A branch whose row `depends` on the machine may be reached or not, but must exist. It counts
    in no sum."""
    (row,) = rows("src/sum/a.c f: some is never false", depends=True)
    for there in (HALF, REACHED):
        assert list(checker.check_rows([row], [there])) == []
    (error,) = checker.check_rows([row], [function("g", 1)])
    assert error == "there is no such branch: src/sum/a.c f: some is never false"
    sources = checker.Sources(SOURCE)
    sums = checker.sum_up({"files": []}, [HALF], [row], sources)
    assert str(sums["sum"]["branches"]).split() == ["2", "of", "2", "100.0", "%"]


def test_conditions_of_one_text() -> None:
    """Branches with the same text are numbered in the order of their lines."""
    branches = [checker.Branch("src/a.c", "f", (line, 1), "error") for line in (3, 1, 2)]
    checker.number_texts(branches)
    assert [branch.text for branch in branches] == ["error [3]", "error [1]", "error [2]"]


def test_floors() -> None:
    """A module below its floor is an error; recorded floors leave room for noise."""
    sums = {"sum": {name: checker.Sum(9, 10) for name in checker.MEASURES}}
    assert list(checker.check_floors({"sum": [90.0, 89.9, 0.0]}, sums)) == []
    (error,) = checker.check_floors({"sum": [90.0, 90.1, 90.0]}, sums)
    assert error == "sum: 90.0 % of branches, which were 90.1 %"
    (error,) = checker.check_floors({}, sums)
    assert error == "sum: no such module, or it has no floor"
    assert checker.parse_floors(checker.floors_text(sums)) == {"sum": [60.0, 60.0, 60.0]}
    sums = {"sum": {name: checker.Sum(900, 1000) for name in checker.MEASURES}}
    assert checker.parse_floors(checker.floors_text(sums)) == {"sum": [89.0, 89.0, 89.0]}


def test_tables_name_existing_code() -> None:
    """Functions and conditions of rows exist in their files, except for macros and templates."""
    for row in checker.parse_rows((TABLES / "unreached.toml").read_text()):
        file, name = row.text.split(" ")[:2]
        text = " ".join((SOURCE / file).read_text().split())
        assert name.strip(":") == "..." or re.search(rf"\b{name.strip(':')}\b", text), row.text
        match = checker.ROW.fullmatch(row.text)
        condition = re.sub(r" \[\d+\]$", "", match["text"] or "") if match else ""
        assert all(piece in text for piece in condition.split("...")), row.text
    modules = {path.name for path in (SOURCE / "src").iterdir() if path.is_dir()} | {"capture"}
    assert checker.parse_floors((TABLES / "floors.txt").read_text()).keys() == modules


PROGRAM = """
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static int both(int a, int b) {
    return a && b;
}

int main(void) {
    static const int wanted[][2] = {{0, 1}, {1, 0}, {1, 1}};
    for (int i = 0; i < 3; i++) {
        if (!fork()) {
            both(wanted[i][0], wanted[i][1]);
            if (i)
                _exit(0);
            kill(getpid(), SIGKILL);
        }
        wait(NULL);
    }
    return 0;
}
"""


def test_children_count(tmp_path: Path) -> None:
    """Processes that are killed, or end by _exit(), count like their parent."""
    if lacking := [tool for tool in checker.TOOLS if not shutil.which(tool)]:
        pytest.skip(f"{', '.join(lacking)} not installed")
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.c").write_text(PROGRAM)
    profiles = tmp_path / "profiles"
    keeps = ["-O2", "-D_GNU_SOURCE", f'-DPROFILES="{profiles}"', TABLES / "shared.c"]
    subprocess.run(["clang-19", *keeps, "-c", "-o", tmp_path / "shared.o"], check=True)
    counts = ["-fprofile-instr-generate", "-fcoverage-mapping", "-fcoverage-mcdc"]
    script = f"-Wl,-T,{TABLES / 'shared.ld'}"
    files = [tmp_path / "src/a.c", tmp_path / "shared.o", script]
    program = tmp_path / "a"
    subprocess.run(["clang-19", "-O2", *counts, "-o", program, *files], check=True)
    subprocess.run([program], check=True)
    merged = tmp_path / "all.profdata"
    subprocess.run(["llvm-profdata-19", "merge", "-o", merged, *profiles.iterdir()], check=True)
    command = ["llvm-cov-19", "export", program, f"-instr-profile={merged}"]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = checker.read_functions(json.loads(text)["data"][0], checker.Sources(tmp_path))
    (measured,) = (function for function in found if function.name == "both")
    branches = {branch.text: branch for branch in measured.branches.values()}
    assert measured.calls == 3
    assert branches["a"].counts == {"true": 2, "false": 1} and branches["a"].alone
    assert branches["b"].counts == {"true": 1, "false": 1} and branches["b"].alone
