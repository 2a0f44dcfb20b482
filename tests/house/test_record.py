# SPDX-License-Identifier: MIT
"""The record of steps: a step is skipped only if it passed on the same files."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from carry_tool import SOURCE

sys.path.insert(0, str(SOURCE / "scripts"))
import run_tests
from testing import inputs, record, runner
from testing.builds import python_tests
from testing.inputs import Tree
from testing.record import Row
from testing.runner import Built, Counts, Log, Place, Result, Step, StepError
from testing.table import STEPS


def nothing(log: Log) -> None:
    """Does nothing, so that the step passes."""


SUMS = Step("sums", "", nothing, ("src/", "tests/*.c"), captures=False)
DOCS = Step("docs", "", nothing, ("docs/",), captures=False)
COMMIT = "0123456789abcdef"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for name in (
        "src/sum/sum.c",
        "src/sum/avx2.S",
        "tests/unit/test_sum.c",
        "docs/sum.md",
        "Makefile",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    return tmp_path


def recorded(root: Path, *steps: Step) -> dict[str, Row]:
    tree = Tree(root)
    result = Result(Counts(7, 0, 1), 2.0)
    return {s.name: record.row_of(s, tree.digest(s), result) for s in steps}


def left_out(root: Path, rows: dict[str, Row], *steps: Step) -> dict[str, str]:
    """Returns the steps that need not run, with the reasons; one of them runs to confirm the
    record."""
    choices = record.choose_steps(steps, rows, Tree(root), COMMIT)
    again = [c for c in choices if c.run and "confirms" in c.reason]
    assert len(again) <= 1
    return {c.step.name: c.reason for c in choices if not c.run or c in again}


def test_step_that_passed_on_the_same_files_is_skipped(root: Path) -> None:
    rows = recorded(root, SUMS, DOCS)
    assert left_out(root, rows, SUMS, DOCS).keys() == {"sums", "docs"}


CHANGES: dict[str, Callable[[Path], object]] = {
    "a changed file": lambda root: (root / "src/sum/sum.c").write_text("other"),
    "a new file": lambda root: (root / "src/sum/avx10.S").touch(),
    "a file that is gone": lambda root: (root / "src/sum/avx2.S").unlink(),
    "a file with another name": lambda root: (root / "tests/unit/test_sum.c").rename(
        root / "tests/unit/test_sums.c"
    ),
    "an executable file": lambda root: (root / "src/sum/sum.c").chmod(0o755),
    "the Makefile": lambda root: (root / "Makefile").write_text("other"),
    "a meson file": lambda root: (root / "docs/meson.build").touch(),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_stale_row_is_rejected(root: Path, name: str) -> None:
    rows = recorded(root, SUMS)
    CHANGES[name](root)
    assert left_out(root, rows, SUMS) == {}


def test_change_elsewhere_skips_a_step(root: Path) -> None:
    rows = recorded(root, SUMS, DOCS)
    (root / "docs/sum.md").write_text("other")
    assert left_out(root, rows, SUMS, DOCS).keys() == {"sums"}


def test_other_captures_make_a_row_stale(
    root: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    captures = tmp_path_factory.mktemp("captures")
    monkeypatch.setenv("CARRY_CORPUS", str(captures))
    step = replace(SUMS, captures=True)
    rows = recorded(root, step)
    assert left_out(root, rows, step)
    (captures / "new.pcap").write_bytes(b"")
    inputs.captures.cache_clear()
    assert left_out(root, rows, step) == {}


FORGERIES: dict[str, Callable[[Row], Row]] = {
    "more points": lambda row: replace(row, passed=row.passed + 1),
    "fewer skipped": lambda row: replace(row, skipped=0),
    "another day": lambda row: replace(row, day="2099-01-01"),
    "no seal": lambda row: replace(row, seal=""),
    "nothing passed": lambda row: replace(row, passed=0, seal="").sealed(),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_row_is_rejected(root: Path, name: str) -> None:
    row = FORGERIES[name](recorded(root, SUMS)["sums"])
    (choice,) = record.choose_steps([SUMS], {"sums": row}, Tree(root), COMMIT)
    assert choice.run and choice.reason == "its row in tests/record.txt is not as a run writes it"


def test_present_digest_does_not_validate_an_old_row(root: Path) -> None:
    """A digest written by hand does not match the seal."""
    row = recorded(root, SUMS)["sums"]
    (root / "src/sum/sum.c").write_text("other")
    forged = replace(row, digest=Tree(root).digest(SUMS))
    assert left_out(root, {"sums": forged}, SUMS) == {}


def test_the_row_of_another_step_is_rejected(root: Path) -> None:
    other = replace(SUMS, name="other")
    row = recorded(root, SUMS)["sums"]
    assert left_out(root, {"other": row}, other) == {}
    assert left_out(root, {"other": replace(row, step="other")}, other) == {}
    assert Tree(root).digest(other) != Tree(root).digest(SUMS)


def test_each_commit_repeats_one_step(root: Path) -> None:
    steps = [replace(SUMS, name=f"step{number}") for number in range(10)]
    rows = recorded(root, *steps)
    found = set()
    for commit in range(60):
        choices = record.choose_steps(steps, rows, Tree(root), str(commit))
        (again,) = [choice.step.name for choice in choices if choice.run]
        found.add(again)
    assert len(found) > 5


def test_a_record_reads_back_what_was_written(root: Path) -> None:
    rows = recorded(root, SUMS, DOCS)
    file = root / "record.txt"
    record.write_record(rows | {"gone": replace(rows["docs"], step="gone")}, ["docs", "sums"], file)
    assert record.read_record(file) == rows
    assert file.read_text().splitlines()[-2].startswith("docs ")


def test_a_step_is_recorded_as_it_passes(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later failure, or an interrupt, loses no row. A step that changes its own inputs is not
    recorded."""
    steps = [
        replace(SUMS, aside=True),
        DOCS,
        Step("changes", "", lambda log: (root / "Makefile").write_text("b"), captures=False),
        Step("breaks", "", lambda log: log.run("false"), captures=False),
    ]

    def interrupt(log: Log) -> None:
        rows.update(record.read_record(file))
        raise KeyboardInterrupt

    rows: dict[str, Row] = {}
    file = root / "record.txt"
    steps.append(Step("stops", "", interrupt, captures=False))
    monkeypatch.setattr(runner, "LOGS", root / "logs")
    monkeypatch.setattr(record, "Tree", lambda: Tree(root))
    monkeypatch.setattr(run_tests, "NAMES", [step.name for step in steps])
    monkeypatch.setattr(record.add_row, "__defaults__", (file,))
    monkeypatch.setattr(record.read_record, "__defaults__", (file,))
    with pytest.raises(KeyboardInterrupt):
        run_tests.run_and_print(steps, recorded=True)
    assert rows["docs"] == rows["docs"].sealed()
    assert record.read_record(file).keys() - {"sums"} == {"docs"}


@pytest.mark.parametrize("line", ["sums", "sums a b c d e f", "sums 1 2 3", "sums " + "x " * 90])
def test_a_damaged_line_is_a_row_that_is_rejected(root: Path, line: str) -> None:
    file = root / "record.txt"
    file.write_text(record.HEAD + line + "\n")
    assert left_out(root, record.read_record(file), SUMS) == {}


@pytest.mark.parametrize(
    ("reason", "whole"),
    [
        ("qemu-system-x86_64 is not installed (package qemu-system-x86)", False),
        ("apt-get download linux-image: no network", False),
        ("collection skipped", False),
        ("it takes minutes: make proof runs it (CARRY_TEST_LEVEL=long)", True),
        ("it needs an engine: tests/unit/audit/test_command.py runs it", True),
        ("it needs interfaces: test_live.py runs it", True),
        ("qemu-x86_64 cannot run AddressSanitizer; steps gcc and clang run this", True),
        ("this CPU has no AVX-512", True),
    ],
)
def test_step_with_skipped_tests_needs_an_accepted_reason(reason: str, whole: bool) -> None:
    assert record.is_whole(Result(Counts(7, 0, 1), 2.0, left_out=(reason,))) == whole


def test_a_step_that_failed_is_not_recorded() -> None:
    assert not record.is_whole(Result(Counts(7, 1, 0), 2.0, failures=["test_x"]))


def test_a_run_that_tests_less_is_not_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(record.narrowing()):
        monkeypatch.delenv(name)
    assert record.narrowing() == []
    monkeypatch.setenv("PYTEST_ADDOPTS", "-k nothing")
    assert record.narrowing() == ["PYTEST_ADDOPTS"]


def test_rows_that_are_not_text_are_rejected(root: Path) -> None:
    (root / "record.txt").write_bytes(b"sums \xff\xfe\n")
    assert left_out(root, record.read_record(root / "record.txt"), SUMS) == {}


def test_an_unpacked_archive_has_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All steps run in an unpacked archive: only Git knows which files belong to the project."""
    with pytest.raises(StepError, match="is no clone"):
        Tree(tmp_path).digest(SUMS)
    ran: list[Step] = []
    monkeypatch.setattr(inputs, "ROOT", tmp_path)
    monkeypatch.setattr(run_tests, "Tree", lambda: Tree(tmp_path))
    monkeypatch.setattr(run_tests, "run_and_print", lambda steps: ran.extend(steps))
    monkeypatch.setattr(run_tests, "install_packages", lambda packages: None)
    run_tests.run_affected()
    assert len(ran) == len([s for s in STEPS if s.place in (Place.MORE, Place.REST)])
    assert capsys.readouterr().out.count("is no clone") == len(ran)


def test_without_a_record_all_steps_run(root: Path) -> None:
    (choice,) = record.choose_steps([SUMS], record.read_record(root / "none"), Tree(root), COMMIT)
    assert str(choice) == "sums         runs: no run is recorded"


# --- The table ---


def test_each_name_of_the_table_matches_a_file() -> None:
    """Each name of the table stands for a file: a name without a file, such as the name of a
    renamed folder, would have no effect."""
    files = Tree().files
    names = {name for step in STEPS for name in inputs.own_names(step)}
    assert [n for n in names if not any(inputs.is_named(file, [n]) for file in files)] == []


def test_a_runner_or_build_file_is_an_input_of_each_step() -> None:
    for step in STEPS:
        names = inputs.own_names(step)
        for file in ("Makefile", "src/meson.build", "scripts/testing/table.py", ".ci/run"):
            assert inputs.is_named(file, names), (step.name, file)


def test_files_that_a_compiler_read_must_be_declared(tmp_path: Path) -> None:
    """Files that a compiler reads must be declared: here a build compiles one file, which includes
    a header of this project."""
    folder = tmp_path / "build"
    own = tmp_path / "own"
    own.mkdir()
    (own / "meson.build").write_text(
        "project('own', 'c')\n"
        f"executable('own', 'own.c', include_directories: '{SOURCE / 'include'}')\n"
    )
    (own / "own.c").write_text("#include <carry/sum.h>\nint main(void) { return 0; }\n")
    subprocess.run(["meson", "setup", folder, own], check=True, capture_output=True)
    subprocess.run(["ninja", "-C", folder], check=True, capture_output=True)
    log = Log(tmp_path / "log")
    log.builds.append(Built(folder))
    assert "include/carry/sum.h" in inputs.undeclared(DOCS, log)
    declared = replace(DOCS, inputs=("include/",))
    assert inputs.undeclared(declared, log) == []


def test_files_that_a_test_read_must_be_declared(tmp_path: Path) -> None:
    """All files that the test opens, imports or passes to a command, in any folder, must be
    declared."""
    log = Log(tmp_path / "log")
    python_tests(log, tmp_path, tests="house", only=["test_layers.py"], at_once=0)
    found = inputs.undeclared(replace(DOCS, inputs=()), log)
    assert {"tests/house/test_layers.py", "scripts/check_layers.py"} <= set(found)
    assert not any(name.startswith("build") for name in found)
