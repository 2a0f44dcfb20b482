# SPDX-License-Identifier: MIT
"""`carry bench copy`: its options and the shape of what it prints; never the times."""

from __future__ import annotations

import os
from typing import Any

import pytest
from conftest import CLEAN, ERROR, Run
from schemas import conforming

pytestmark = pytest.mark.not_sanitized

BESIDE = ["copy", "try", "sum_copy", "sum_try", "sum+copy", "stream", "readv"]
MOVE = ["memmove", "move"]
PIPE = ["plain", "sum", "copy", "sum+copy", "sum_copy"]
MODES = ["hot", "cold", "mixed64", "beside", "move", "pipe"]

# As fast as the tool can be.
ONE = ["--quick", "--mode", "hot", "--size", "64"]


def masked(mask: str) -> dict[str, str]:
    return {**os.environ, "CARRY_CPU_MASK": mask}


def measure(carry: Run, *arguments: str, mask: str = "") -> dict[str, Any]:
    done = carry("bench", "copy", "--json", *arguments, env=masked(mask))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    return conforming("bench_copy", done.stdout)


def available(carry: Run, mask: str = "") -> list[str]:
    shown = conforming("cpu", carry("cpu", "--json", env=masked(mask)).stdout)
    return [kernel["name"] for kernel in shown["copy"]["kernels"] if kernel["available"]]


def subjects(report: dict[str, Any], mode: str) -> list[str]:
    return list(dict.fromkeys(c["subject"] for c in report["cells"] if c["mode"] == mode))


def test_quick_times_everything_in_every_mode(carry: Run) -> None:
    report = measure(carry, "--quick")
    assert list(dict.fromkeys(cell["mode"] for cell in report["cells"])) == MODES
    for mode in MODES[:3]:
        assert subjects(report, mode) == ["memcpy", *available(carry), *BESIDE]
    assert subjects(report, "beside") == ["nothing", *subjects(report, "hot")]
    assert subjects(report, "move") == MOVE
    assert subjects(report, "pipe") == PIPE
    assert all(0 < c["q1"] <= c["ns"] <= c["q3"] for c in report["cells"])


@pytest.mark.parametrize("mask", ["", "all"])
def test_the_chosen_kernel_is_judged(carry: Run, mask: str) -> None:
    report = measure(carry, *ONE, mask=mask)
    shown = conforming("cpu", carry("cpu", "--json", env=masked(mask)).stdout)
    assert report["focus"] == shown["copy"]["chosen"]
    assert subjects(report, "hot") == ["memcpy", *available(carry, mask), *BESIDE]


def test_alignments(carry: Run) -> None:
    """Each size is timed at four alignments."""
    report = measure(carry, *ONE)
    assert len({(cell["source"], cell["target"]) for cell in report["cells"]}) == 4
    assert {cell["size"] for cell in report["cells"]} == {64}


def test_moves_overlap(carry: Run) -> None:
    cells = measure(carry, "--quick", "--mode", "move", "--size", "1500")["cells"]
    starts = {(cell["source"], cell["target"]) for cell in cells}
    assert starts == {(target, source) for source, target in starts} and len(starts) == 4
    assert all(0 < abs(source - target) < 1500 for source, target in starts)


def test_copies_beside_other_work(carry: Run) -> None:
    """Mode beside times one copy and a mix, above the time of nothing."""
    beside = measure(carry, "--quick", "--mode", "beside", "--size", "64")["cells"]
    assert {cell["size"] for cell in beside} == {64, None}
    assert {cell["mode"] for cell in beside} == {"beside"}
    assert [c["above_floor"] for c in beside if c["subject"] == "nothing"] == [0, 0]


def test_tables_are_those_of_the_modes(carry: Run) -> None:
    done = carry("bench", "copy", "--quick", "--size", "64", "--size", str(1 << 20))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    quick = carry("bench", "copy", "--quick", "--mode", "mixed64", "--mode", "pipe").stdout
    lines = [*done.stdout.splitlines(), *quick.splitlines()]
    assert [line.split(":")[0] for line in lines if line.endswith("; ns")] == [
        "hot", "cold", "beside", "mixed64", "pipe"]  # fmt: skip
    tables = done.stdout.split("is slower than the faster")[0]
    assert tables.count("\n   1 MiB  ") == 8


def test_table_of_moves(carry: Run) -> None:
    """The table of moves has a column for each distance."""
    done = carry("bench", "copy", "--quick", "--mode", "move", "--size", "300")
    assert (done.returncode, done.stderr) == (CLEAN, "")
    title, _, header, row = done.stdout.split("\n\n")[-1].splitlines()
    assert title.startswith("move: ")
    assert " ".join(header.split()) == "bytes 13 to 0 0 to 13 1000 to 0 0 to 1000"
    assert row.split()[0] == "300" and row.count("x") == 4


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help(carry: Run, option: str) -> None:
    """The help names the modes, in 80 columns."""
    done = carry("bench", "copy", option)
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert all(f" {mode} " in done.stdout for mode in MODES)
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--size", "0"], "1 to 1073741824, not '0'"),
        (["--size", "x"], "not 'x'"),
        (["--size"], "--size"),
        (["--size", "1"] * 33, "at most 32 times"),
        (["--mode", "warm"], "no mode 'warm'"),
        (["--nosuch"], "nosuch"),
        (["64"], "unexpected argument '64'"),
    ],
)
def test_wrong_usage_is_refused_in_one_line(carry: Run, arguments: list[str], message: str) -> None:
    done = carry("bench", "copy", *arguments)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert message in done.stderr and done.stderr.count("\n") == 1
