# SPDX-License-Identifier: MIT
"""`carry bench copy`: its options and the shape of its output, but never the times."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from carry_tool import CLEAN, ERROR, SOURCE, Run
from schemas import conforming

pytestmark = pytest.mark.not_sanitized

BESIDE = ["copy", "try", "sum_copy", "sum_try", "sum+copy", "stream", "readv"]
MOVE = ["memmove", "move"]
PIPE = ["plain", "sum", "copy", "sum+copy", "sum_copy"]
WORKS = ["dd | cat", "dd"]
WAYS = ["read, write", "memcpy", "copy", "sum_copy", "splice"]  # the last is optional
MODES = ["hot", "cold", "mixed64", "beside", "move", "pipe"]

# Options for the shortest run of the tool.
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
    """The mode `beside` times one copy and a mix, minus the time of an empty function."""
    beside = measure(carry, "--quick", "--mode", "beside", "--size", "64")["cells"]
    assert {cell["size"] for cell in beside} == {64, None}
    assert {cell["mode"] for cell in beside} == {"beside"}
    assert [c["above_floor"] for c in beside if c["subject"] == "nothing"] == [0, 0]


def test_tables_are_those_of_the_modes(carry: Run) -> None:
    done = carry("bench", "copy", "--quick", "--size", "64", "--size", str(1 << 20))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    quick = carry("bench", "copy", "--quick", "--mode", "mixed64", "--mode", "pipe").stdout
    lines = [*done.stdout.splitlines(), *quick.splitlines()]
    assert [line.split(":")[0] for line in lines if line.endswith(("; ns", "; MB/s"))] == [
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


def test_throughput_of_dd_and_cat(carry: Run) -> None:
    """Blocks flow in each way; each throughput has its ratio to the throughput of read() and
    write()."""
    rates = measure(carry, "--quick", "--mode", "pipe")["throughput"]
    flows = [rate for rate in rates if rate["work"] != "one thread"]
    ways = [rate["subject"] for rate in flows if rate["work"] == "dd"]
    assert ways in (WAYS, WAYS[:-1])
    assert [(rate["work"], rate["subject"]) for rate in flows] == [
        (work, way) for work in WORKS for way in ways
    ]
    assert [rate["subject"] for rate in rates if rate["work"] == "one thread"] == PIPE
    assert all(0 < rate["q1"] <= rate["mb_per_s"] <= rate["q3"] for rate in rates)
    assert all(rate["block"] == 32768 and rate["of_read_write"] > 0 for rate in rates)
    with_splice = [rate for rate in rates if rate["of_splice"] is not None]
    assert with_splice == (flows if "splice" in ways else [])
    assert measure(carry, *ONE)["throughput"] == []


# Moves blocks as carry bench copy does, with a function that copies one byte too few.
FLOW_MAIN = """
#include <carry/carry.h>
#include <stdio.h>
#include <string.h>
#include "bench/copy_flow.h"

void broken_copy(void *dst, const void *src, size_t size);
void broken_copy(void *dst, const void *src, size_t size) { memcpy(dst, src, size - 1); }
int main(void) {
    static unsigned char block[FLOW_BLOCK];
    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (unsigned char)(i * 7 + i / 256 + 1);
    struct flow *flow = flow_open(block);
    if (!flow)
        return 2;
    const char *wrong = flow_find_wrong(flow);
    puts(wrong ? wrong : "none");
    flow_close(flow);
    return 0;
}
"""


@pytest.mark.parametrize("broken", ["", "carry_copy", "carry_sum_copy"])
def test_changed_blocks_are_detected(broken: str, tmp_path: Path) -> None:
    library = Path(os.environ.get("CARRY_BUILD", SOURCE / "build")) / "src/libcarry.a"
    if not library.is_file():
        pytest.skip(f"{library} was not built")
    source = (SOURCE / "tools/carry/bench/copy_flow.c").read_text()
    if broken:
        call = f"{broken}(dst, src, FLOW_BLOCK"
        assert source.count(call) == 1
        end = ", 0)" if broken == "carry_sum_copy" else ")"
        source = source.replace(call + end, "broken_copy(dst, src, FLOW_BLOCK)")
        declaration = "void broken_copy(void *dst, const void *src, size_t size);\n"
        source = source.replace("static void copy_block", declaration + "static void copy_block")
    (tmp_path / "flow.c").write_text(source)
    (tmp_path / "main.c").write_text(FLOW_MAIN)
    include = [f"-I{SOURCE / 'tools/carry'}", f"-I{SOURCE / 'include'}"]
    sources = [tmp_path / "flow.c", tmp_path / "main.c", library]
    command = ["gcc", "-O1", "-pthread", *include, "-o", tmp_path / "flow", *sources]
    subprocess.run([str(word) for word in command], check=True)
    done = subprocess.run([tmp_path / "flow"], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, broken.removeprefix("carry_") or "none")


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
