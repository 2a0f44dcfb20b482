# SPDX-License-Identifier: MIT
"""`carry selftest`: the library is correct, and each broken library is found, with the place of its
fault."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from carry_tool import BAD, CLEAN, ERROR, LEVEL, SOURCE, Run, in_terminal
from schemas import conforming

pytestmark = pytest.mark.not_sanitized

# Faults of tests/mutants/library.c, in groups that one run can distinguish. For each fault: the
# wrong function and variant, and the problem.
BROKEN: list[dict[str, tuple[str, str | None, str]]] = [
    {
        "sum": ("sum", "generic", r"(values|carries): folds to"),
        "sum_copy": ("sum_copy", "generic", r"alignments: writes outside the target"),
        "crc32c": ("crc32c", "generic", r"values: folds to"),
        "copy": ("copy", "generic", r"values: copies wrongly"),
        "check": ("packet", "check", r"damage is not found: (TCP|UDP) over IPv[46], \d+ bytes"),
        "fill": ("packet", "fill", r"sums are filled in wrongly"),
        "version": ("library", "version", r"the library is .*, the tool "),
    },
    {
        "sum edges": ("sum", "generic", r"values: reads past the end"),
        "move": ("copy", None, r"overlaps: moves wrongly"),
    },
    {"select": ("copy", None, r"chosen: CARRY_ERROR_PERMISSION")},
]


# The C library of this Python, by its full path.
C_LIBRARY = re.findall(r"/\S*/libc\.\S+", Path("/proc/self/maps").read_text())[0]


# The environment of tests that do not depend on kernels: at level short, it masks all CPU features.
FEW = {"CARRY_CPU_MASK": "all"} if LEVEL == "short" else {}


@functools.cache
def run(carry: Run, *options: str, **variables: str) -> tuple[int, dict[str, Any]]:
    """Returns the status and the report, which is cached: a test must not change it."""
    done = carry("selftest", "--json", *options, env={**os.environ, **variables})
    assert done.stderr == ""
    return done.returncode, conforming("selftest", done.stdout)


def rows_of(report: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(row["function"], row["variant"]): row for row in report["tests"]}


def build() -> Path:
    return Path(os.environ.get("CARRY_BUILD", SOURCE / "build"))


def library() -> Path:
    return (build() / "src/libcarry.so").resolve(strict=True)


def broken_library() -> str:
    library()
    return f"--library={build() / 'tests/libbroken_library.so'}"


def build_id(path: Path | str) -> str:
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, check=True, text=True)
    found = re.search(r"Build ID: (\w+)", notes.stdout)
    assert found
    return found[1]


def kernels(carry: Run) -> set[tuple[str, str]]:
    """Returns the kernels that this CPU can run, according to `carry cpu`."""
    shown = conforming("cpu", carry("cpu", "--json").stdout)
    rows = {
        (name, kernel["name"])
        for name in ("sum", "crc32c", "copy")
        for kernel in shown[name]["kernels"]
        if kernel["available"]
    }
    return rows | {("sum_copy", kernel) for name, kernel in rows if name == "sum"}


def test_the_library_in_the_tool_is_right(carry: Run, tool: str) -> None:
    status, report = run(carry)
    assert (status, report["right"]) == (CLEAN, True)
    rows = rows_of(report)
    ran = {name for name, row in rows.items() if not row["missing"]}
    others = {("library", "version"), ("packet", "check"), ("packet", "fill"), ("patch", "call")}
    jit = {("jit", "sum"), ("jit", "packet")}
    assert ran in (kernels(carry) | others, kernels(carry) | others | jit)
    assert all(rows[name]["right"] and rows[name]["calls"] for name in ran)
    assert not any(rows[name]["calls"] for name in set(rows) - ran)
    assert [file["path"] for file in report["files"]] == [tool]
    assert report["files"][0]["build_id"] == build_id(tool)
    assert carry("--version").stdout.startswith(
        f"carry {report['version']}\nCommit        {report['commit']}\n"
    )


def test_seeds(carry: Run) -> None:
    """The seed in a report gives the same calls again."""
    _, first = run(carry, **FEW)
    _, again = run(carry, f"--seed={first['seed']}", **FEW)
    _, other = run(carry, f"--seed={first['seed'] ^ 1}", **FEW)
    assert again == first
    assert other["tests"] != first["tests"]


def test_masked_kernels_are_not_run(carry: Run) -> None:
    masked = {**os.environ, "CARRY_CPU_MASK": "all"}
    status, report = run(carry, CARRY_CPU_MASK="all")
    assert status == CLEAN
    rows = rows_of(report)
    for name, table in conforming("cpu", carry("cpu", "--json", env=masked).stdout).items():
        if name in ("sum", "crc32c", "copy"):
            assert {
                kernel["name"]: rows[name, kernel["name"]]["missing"] for kernel in table["kernels"]
            } == {kernel["name"]: kernel["missing"] for kernel in table["kernels"]}


def test_a_shared_library(carry: Run, tool: str) -> None:
    """A shared library is tested, and named with its build ID."""
    path = library()
    status, report = run(carry, f"--library={path}")
    assert (status, report["right"]) == (CLEAN, True)
    assert [Path(file["path"]) for file in report["files"]] == [Path(tool), path]
    assert report["files"][1]["build_id"] == build_id(path)
    assert not {"jit", "patch"} & {row["function"] for row in report["tests"]}


@pytest.mark.parametrize("broken", BROKEN, ids=" ".join)
def test_broken_libraries(carry: Run, broken: dict[str, tuple[str, str | None, str]]) -> None:
    """Each broken function is found, and no other."""
    status, report = run(carry, broken_library(), CARRY_BROKEN=f",{','.join(broken)},", **FEW)
    assert (status, report["right"]) == (BAD, False)
    wrong = [row for row in report["tests"] if not row["right"]]
    for function, variant, problem in broken.values():
        found = [
            row
            for row in wrong
            if row["function"] == function and variant in (row["variant"], None)
        ]
        assert found
        assert all(re.match(problem, row["problem"]) for row in found)
        wrong = [row for row in wrong if row not in found]
    assert not wrong


def test_wrong_choice_is_found(carry: Run) -> None:
    """The function that calls the kernels is reported as wrong, although all kernels are right."""
    _, report = run(carry, broken_library(), CARRY_BROKEN=",choice,", **FEW)
    problems = [row["problem"] for row in report["tests"] if row["function"] == "sum"]
    assert all(problem.startswith("chosen: folds to") for problem in problems if problem)
    assert any(problems)


def test_a_library_with_nothing_broken_is_right(carry: Run) -> None:
    assert run(carry, broken_library(), CARRY_BROKEN="", **FEW)[0] == CLEAN


def test_each_file_that_is_tested_is_named(carry: Run) -> None:
    """The report names the tested library, with its build ID."""
    _, report = run(carry, broken_library(), CARRY_BROKEN="", **FEW)
    files = {Path(file["path"]).name: file["build_id"] for file in report["files"]}
    assert files["libbroken_library.so"] == build_id(build() / "tests/libbroken_library.so")


def test_a_library_of_this_folder(tool: str, tmp_path: Path) -> None:
    """A library is found in the current folder by its name."""
    shutil.copy(library(), tmp_path / "here.so")
    command = [tool, "selftest", "--library=here.so", "--seed=7"]
    env = {**os.environ, **FEW}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert "here.so\n  build ID " in done.stdout


def test_the_seed_of_a_later_round(carry: Run) -> None:
    """The report has the seed of the data that showed the fault, not that of the first round."""
    options = [broken_library(), "--seed=7", "--seconds=600"]
    status, report = run(carry, *options, CARRY_BROKEN=",fill late,", **FEW)
    assert (status, report["seed"]) == (BAD, 8)


def test_text(carry: Run) -> None:
    """The text has the seed, rows of kernels, and the outcome, in 80 columns."""
    done = carry("selftest", "--seed=7", env={**os.environ, **FEW})
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert "\nSeed          7\n" in done.stdout
    assert re.search(r"^  sum       generic +[\d,]+ calls  right$", done.stdout, re.MULTILINE)
    assert done.stdout.endswith("\nall right\n")
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_text_of_broken_libraries(carry: Run) -> None:
    """The text shows what is wrong, and the number of wrong functions."""
    done = carry("selftest", broken_library(), env={**os.environ, **FEW, "CARRY_BROKEN": ",fill,"})
    assert (done.returncode, done.stderr) == (BAD, "")
    assert re.search(r"fill +[\d,]+ calls  WRONG\n    sums are filled in wrongly: ", done.stdout)
    assert done.stdout.endswith("\n1 WRONG\n")


# --- Comparison with proven code ---


def proof(carry: Run, *options: str) -> tuple[int, dict[tuple[str, str], dict[str, Any]]]:
    done = carry("selftest", "--proof", "--json", *options)
    if done.returncode == ERROR and "built without" in done.stderr:
        pytest.skip("the tool was built without libmd (Debian package libmd-dev)")
    assert done.stderr == ""
    report = conforming("selftest_proof", done.stdout)
    rows = {(row["function"], row["variant"]): row for row in report["kernels"]}
    assert report["proven"] == all(row["state"] == "proven" for row in rows.values())
    return done.returncode, rows


def states(rows: dict[tuple[str, str], dict[str, Any]]) -> dict[tuple[str, str], str]:
    return {name: row["state"] for name, row in rows.items()}


def file_offset(path: Path, function: str) -> int:
    """Returns the offset of a function's code in a file."""
    symbols = subprocess.run(["nm", path], capture_output=True, check=True, text=True).stdout
    address = int(re.findall(rf"^(\w+) \w {function}$", symbols, re.MULTILINE)[0], 16)
    listed = subprocess.run(["readelf", "-lW", path], capture_output=True, check=True, text=True)
    for row in re.findall(r"^  LOAD +(\w+) (\w+) \w+ (\w+)", listed.stdout, re.MULTILINE):
        offset, start, size = (int(number, 16) for number in row)
        if start <= address < start + size:
            return offset + address - start
    raise AssertionError(f"{function} is not in {path}")


def test_kernels_are_compared_with_proven_code(carry: Run) -> None:
    """All kernels are compared, also those that this CPU cannot run, in the tool and in the
    library."""
    status, rows = proof(carry)
    listed = {
        (name, kernel["name"])
        for name, table in conforming("cpu", carry("cpu", "--json").stdout).items()
        if name in ("sum", "crc32c", "copy")
        for kernel in table["kernels"]
    }
    forms = {"sum": ("sum_copy", "sum_copy_try"), "copy": ("copy_try", "copy_move"), "crc32c": ()}
    assert set(rows) == listed | {(form, name) for of, name in listed for form in forms[of]}
    assert status == (BAD if "different" in states(rows).values() else CLEAN)
    assert proof(carry, f"--library={library()}") == (status, rows)


def test_stripped_code_is_compared(carry: Run, tmp_path: Path) -> None:
    """The code of a stripped library is found, and has the same result."""
    stripped = tmp_path / "stripped.so"
    subprocess.run(["strip", "-o", stripped, library()], check=True)
    assert proof(carry, f"--library={stripped}") == proof(carry)


def proven(carry: Run) -> list[tuple[str, str]]:
    _, rows = proof(carry)
    names = [name for name, row in rows.items() if row["state"] == "proven"]
    if not names:
        pytest.skip("nothing was proven of what this compiler makes")
    return names


def spoiled(path: Path, *offsets: int) -> str:
    """Returns the option for a copy of the library with a flipped bit at each of these offsets."""
    content = bytearray(library().read_bytes())
    for offset in offsets:
        content[offset] ^= 1
    path.write_bytes(content)
    return f"--library={path}"


@pytest.mark.parametrize("end", ["first", "last"])
def test_a_changed_byte_is_found(carry: Run, tmp_path: Path, end: str) -> None:
    """The changed kernel is reported by its name, and no other."""
    _, rows = proof(carry)
    for name in proven(carry)[::7]:
        start = file_offset(library(), "carry_" + "_".join(name))
        byte = start if end == "first" else start + rows[name]["bytes"] - 1
        status, found = proof(carry, spoiled(tmp_path / "changed.so", byte))
        assert status == BAD
        assert states(found) == {**states(rows), name: "different"}


TABLE = bytes(8 * [0xFF] + 8 * [0])  # the masks that lie after the code of sums


def test_a_changed_table_is_found(carry: Run, tmp_path: Path) -> None:
    """Data that code reads is compared, too. The test changes every table with this content."""
    _, rows = proof(carry)
    content = library().read_bytes()
    places = [found.start() for found in re.finditer(re.escape(TABLE), content)]
    status, found = proof(carry, spoiled(tmp_path / "changed.so", *places))
    changed = {name for name, row in found.items() if row != rows[name]}
    if ("sum", "adc") not in proven(carry):
        pytest.skip("nothing was proven of a kernel that has a table")
    assert status == BAD and ("sum", "adc") in changed
    assert all(found[name]["state"] == "different" for name in changed)
    assert not {("copy", "generic"), ("copy", "rep")} & changed


def test_a_jump_to_another_function_is_found(carry: Run, tmp_path: Path) -> None:
    """A jump to another function is found, although only the distance of the jump differs."""
    name = ("copy_move", "avx2")
    if name not in proven(carry):
        pytest.skip("nothing was proven of a kernel that jumps to another")
    _, rows = proof(carry)
    content = library().read_bytes()
    places = {kernel: file_offset(library(), f"carry_copy_{kernel}") for kernel in ("avx2", "rep")}
    start = file_offset(library(), "carry_copy_move_avx2")
    for place in range(start, start + rows[name]["bytes"] - 5):
        distance = int.from_bytes(content[place + 1 : place + 5], "little", signed=True)
        if content[place] == 0xE9 and place + 5 + distance == places["avx2"]:
            break
    else:
        raise AssertionError("no jump")
    other = (places["rep"] - place - 5).to_bytes(4, "little", signed=True)
    changed = tmp_path / "changed.so"
    changed.write_bytes(content[: place + 1] + other + content[place + 5 :])
    status, found = proof(carry, f"--library={changed}")
    assert (status, states(found)) == (BAD, {**states(rows), name: "different"})


def test_text_of_proven_code(carry: Run, tmp_path: Path) -> None:
    name = proven(carry)[0]
    start = file_offset(library(), "carry_" + "_".join(name))
    good = carry("selftest", "--proof").stdout
    row = rf"^  {name[0]} +{name[1]} +[\d,]+ bytes  proven  \w.*$"
    assert re.search(row, good, re.MULTILINE)
    counts = re.compile(
        r"^\d+ proven where nothing faults, \d+ unproven, \d+ different$", re.MULTILINE
    )
    assert good.endswith("\nall proven, where nothing faults\n") or counts.search(good)
    assert max(map(len, good.splitlines())) <= 80
    bad = carry("selftest", "--proof", spoiled(tmp_path / "changed.so", start))
    assert bad.returncode == BAD
    assert re.search(rf"^  {name[0]} +{name[1]} +\? bytes  different$", bad.stdout, re.MULTILINE)
    assert counts.search(bad.stdout)


def test_progress(tool: str) -> None:
    """A terminal shows progress while all kernels are checked, which takes seconds."""
    assert " % " in in_terminal([tool, "selftest"])


def test_selftest_repeats_for_a_time(carry: Run) -> None:
    """Rows are repeated until the time is over. A slow machine may finish only the first run."""
    _, report = run(carry, "--seed=7", f"--seconds={1 if LEVEL == 'short' else 3}")
    assert (report["seed"], report["right"]) == (7, True)
    assert rows_of(report)["library", "version"]["calls"] >= 1


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/nonesuch.so", "cannot open shared object file"),
        ("libc.so.6", "cannot open shared object file"),  # looked up only in the current folder
        (C_LIBRARY, "undefined symbol: carry_"),
    ],
)
def test_other_files_are_refused(carry: Run, path: str, reason: str) -> None:
    done = carry("selftest", f"--library={path}")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr.startswith(f"carry: {path}: ") and reason in done.stderr
    assert done.stderr.count("\n") == 1


def test_lack_of_memory_is_reported(tool: str) -> None:
    """The message states the lack of memory, and reports no wrong kernel."""
    command = ["sh", "-c", 'ulimit -v 40000; exec "$0" selftest', tool]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == "carry: no memory for guard pages\n"
