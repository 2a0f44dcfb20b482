# SPDX-License-Identifier: MIT
"""The output of `carry bench` for given times and kernels, on any machine. The program carry_chosen
is the tool with such times and kernels."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from carry_tool import BAD, CLEAN, SOURCE
from schemas import conforming

BUILD = Path(os.environ.get("CARRY_BUILD", SOURCE / "build"))
CHOSEN = BUILD / "tests/carry_chosen"

COLUMNS = 80
ALIGNMENTS = [word for align in (*range(7), 4000, 4094, 4095) for word in ("--align", str(align))]

KERNELS = [1, 2, 8, 9, 17, 18, 22]

# All commands whose tables hold times.
COMMANDS = [
    ["sum", "--quick"],
    ["sum", "--quick", "--mode", "beside", "--mode", "beside-imix"],
    ["sum", "--size", "20", "--size", str(1 << 25), "--mode", "latency", "--align", "4095"],
    ["sum", "--size", "1500", *ALIGNMENTS, "--mode", "hot"],
    ["sum", "--quick", "--against", *ALIGNMENTS],
    ["sum", "--quick", "--interleave", "33554432@4095,1@4095", "--interleave", "33554432,1"],
    ["crc", "--quick"],
    ["copy", "--quick"],
    ["copy", "--size", "64", "--size", str(1 << 20)],
    ["patch", "--quick"],
    ["hook", "--quick"],
    ["xstate", "--quick"],
    ["jit", "--quick"],
    ["live", "--quick"],
    ["capture", "--size=1M"],
    ["capture", "--size=1M", "--pipes"],
    ["cost", "--quick"],
]


# Commands that measure nothing on other architectures.
MACHINES = {"patch": ["x86_64", "aarch64"], "hook": ["x86_64", "aarch64"]}
MACHINES |= {"jit": ["x86_64", "aarch64"], "xstate": ["x86_64"], "cost": ["x86_64"]}


def skip_unless_measurable(command: str) -> None:
    """Skips the test if `command` measures nothing on this machine or in this build. The command's
    output does not decide this: a command that measures nothing by mistake has the same output."""
    machine = platform.machine()
    if machine not in MACHINES.get(command, [machine]):
        pytest.skip(f"{command} measures nothing on {machine}: the tool on x86-64 runs it")
    if command == "jit" and not (BUILD / "jit/libcarry-jit.so").is_file():
        pytest.skip("libcarry-jit was not built (Debian package libasmjit-dev)")
    if command == "hook" and "CARRY_SANITIZED" in os.environ:
        pytest.skip("the sanitizer has a strlen() of its own: the step tool runs it")


def bench(*arguments: str, chosen: str, kernels: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs a benchmark with times of the pattern `chosen`, and `kernels` kernels in each table."""
    assert CHOSEN.is_file(), f"{CHOSEN} is missing: build it, or set CARRY_BUILD"
    env = {**os.environ, "CARRY_CPU_MASK": "", "CARRY_CHOSEN": chosen}
    env["CARRY_CHOSEN_KERNELS"] = str(kernels)
    skip_unless_measurable(arguments[0])
    command = "xstate" if arguments[0] == "cost" else "bench"
    done = subprocess.run(
        [CHOSEN, command, *arguments], env=env, capture_output=True, text=True, timeout=600
    )
    return done


@pytest.mark.parametrize("chosen", ["widest", "narrowest", "apart"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_tables_of_any_times_fit(command: list[str], chosen: str) -> None:
    done = bench(*command, chosen=chosen)
    assert done.returncode in (CLEAN, BAD) and done.stderr == ""
    assert max(map(len, done.stdout.splitlines())) <= COLUMNS


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("name", ["sum", "crc", "copy"])
def test_tables_of_many_kernels_fit(name: str, kernels: int) -> None:
    done = bench(name, "--quick", chosen="widest", kernels=kernels)
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert max(map(len, done.stdout.splitlines())) <= COLUMNS


@pytest.mark.parametrize("name", ["sum", "copy"])
def test_each_of_many_kernels_has_a_column(name: str) -> None:
    done = bench(name, "--quick", "--size", "64", "--mode", "hot", chosen="widest", kernels=22)
    title, _, table = done.stdout.partition("\nhot: ")
    assert title.count("made_up_kernel21") == 1  # the chosen kernel
    assert all(f"made_up_kernel{kernel:02}" in table for kernel in range(22))


@pytest.mark.parametrize("kernels", KERNELS)
def test_parts_of_a_table_lead_with_the_plain_loop_and_end_with_loads(kernels: int) -> None:
    size = ("--size", "64", "--align", "0", "--mode", "hot")
    done = bench("sum", "--quick", *size, chosen="widest", kernels=kernels)
    table = done.stdout.partition("\nhot: ")[2].partition("\nspread")[0]
    rows = [line.split() for line in table.splitlines() if line.startswith("       64 ")]
    parts = len(rows)
    assert table.count(" plain") == parts and table.count("of load") == 1
    # A row: the size, the plain loop, kernels, and finally the loads and their share.
    assert sum(len(row) - 2 for row in rows) == kernels + 2
    assert parts == -(-(kernels + 1) // 9)


@pytest.mark.parametrize("kernels", KERNELS)
def test_column_titles_are_right_aligned(kernels: int) -> None:
    done = bench("sum", "--quick", "--mode", "hot", chosen="widest", kernels=kernels)
    table = done.stdout.partition("\nhot: ")[2].partition("bytes/ns")[0]
    names = list(re.finditer(r"made_up_kernel\d\d", table))
    ends = {match.end() - table.rindex("\n", 0, match.start()) - 1 for match in names}
    assert len(names) == kernels
    assert ends <= {9 + 6 * place for place in range(1, 11)}


# --- Noise ---

# Benchmarks that get times of a pattern, by the schema of their JSON.
TIMED = {
    "bench_kernels": ["sum", "--quick"],
    "bench_copy": ["copy", "--quick"],
    "bench_patch": ["patch", "--quick"],
    "bench_hook": ["hook", "--quick"],
    "bench_xstate": ["xstate", "--quick"],
    "bench_jit": ["jit", "--quick"],
    "bench_live": ["live", "--quick"],
}
TOO_NOISY = "This machine is too noisy: repeat it when nothing else runs."
timed = pytest.mark.parametrize("schema", TIMED)


def bench_json(schema: str, *arguments: str, chosen: str) -> dict[str, Any]:
    done = bench(*arguments, "--json", chosen=chosen)
    assert done.returncode in (CLEAN, BAD) and done.stderr == ""
    return conforming(schema, done.stdout)


def bench_text(*arguments: str, chosen: str) -> str:
    done = bench(*arguments, chosen=chosen)
    return " ".join(done.stdout.split())


def numbers(node: object) -> Iterator[float]:
    """Yields all numbers in a JSON object."""
    if isinstance(node, (int, float)):
        yield node
    for each in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from numbers(each)


@timed
def test_noise_is_reported(schema: str) -> None:
    text = bench_text(*TIMED[schema], chosen="noisy")
    assert text.endswith(TOO_NOISY)
    times = re.search(r"(\d+) of (\d+) times are uncertain by more than 10 %", text)
    assert times and times[1] == times[2]
    noise = bench_json(schema, *TIMED[schema], chosen="noisy")["noise"]
    assert (noise["uncertain"], noise["too_noisy"]) == (int(times[1]), True)
    assert noise["times"] == noise["uncertain"] > 0 and noise["widest"] > 0.1


@timed
def test_a_quiet_machine_is_not_mentioned(schema: str) -> None:
    text = bench_text(*TIMED[schema], chosen="quiet")
    assert "uncertain" not in text and "too noisy" not in text and " noisy " not in text
    noise = bench_json(schema, *TIMED[schema], chosen="quiet")["noise"]
    assert noise["times"] > 0 and noise["widest"] < 0.1
    assert (noise["uncertain"], noise["ended_early"], noise["too_noisy"]) == (0, False, False)


@pytest.mark.parametrize("chosen", ["noisy", "backwards", "apart"])
@timed
def test_nothing_impossible_is_printed(schema: str, chosen: str) -> None:
    text = bench_text(*TIMED[schema], chosen=chosen)
    assert not re.search(r"(?<![\w.-])-\d|\bnan\b|\binf", text.partition("Medians")[2] or text)
    assert min(numbers(bench_json(schema, *TIMED[schema], chosen=chosen))) >= 0


def test_programs_without_cpu_time_have_no_ratio() -> None:
    done = bench("capture", "--size=1M", "--pipes", chosen="narrowest")
    assert done.returncode == CLEAN
    assert not re.search("nan|inf", done.stdout)
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("    carry fix")]
    assert len(rows) == 3 and all(row[-3] == "-" for row in rows)


def test_delays_that_noise_hides_have_no_figure() -> None:
    text = bench_text(*TIMED["bench_patch"], chosen="backwards")
    delays = text.partition(" delays: ")[2].partition(" targets ")[0]
    assert delays.count(" noisy") == 4 * 2 * 6
    report = bench_json("bench_patch", *TIMED["bench_patch"], chosen="backwards")
    assert all(delay["available"] for delay in report["delays"])
    assert not any({"longest", "total"} & delay.keys() for delay in report["delays"])
    assert report["noise"]["uncertain"] == 2 * len(report["delays"])


def test_applications_whose_intervals_overlap_have_no_difference() -> None:
    """If the intervals of two forms are equal, no difference is reported, even if their noisy times
    differ by a factor of 8,000 within a round."""
    for chosen in ("quiet", "noisy"):
        text = bench_text(*TIMED["bench_patch"], chosen=chosen)
        assert text.count("no difference from pointers and flags that can be measured") == 2
        assert text.count("no difference from compiled in that can be measured") == 2


def test_applications_are_compared_by_their_times() -> None:
    """A pass takes 4 ms with the form that is compiled in, 500 ns with pointers, and 250 ns with
    the patched form."""
    text = bench_text(*TIMED["bench_patch"], chosen="backwards")
    assert "packet loop 62500 (62500-62500) 3.91 (3.91-3.91) 7.81 (7.81-7.81)" in text
    assert text.count("50.0% less than pointers and flags; 100% less than compiled in") == 2
    rows = bench_json("bench_patch", *TIMED["bench_patch"], chosen="backwards")["applications"]
    assert [row["ns"] for row in rows] == [62500, 3.90625, 7.8125, 4e6, 250, 500]
    assert [row["to_pointers"] for row in rows] == [8000, 0.5, 1, 8000, 0.5, 1]
    assert [row["to_compiled_in"] for row in rows][:3] == pytest.approx([1, 6.25e-5, 1.25e-4])


def test_sections_and_initial_states_have_the_measured_times() -> None:
    report = bench_json("xstate_cost", "cost", "--quick", chosen="backwards")
    assert report["initial"]["FNINIT"] == 4e6
    assert list(report["initial"].values())[1:] in ([], [500, 250])
    for row in report["sections"]:
        ns = {"again": 4e6, "x87": 500, "whole": 250, "nested": pytest.approx(500 / 3, rel=1e-4)}
        assert row["ns"] == ns


def test_throughputs_and_ratios_follow_from_the_times() -> None:
    report = bench_json("bench_copy", "copy", "--quick", "--mode", "pipe", chosen="backwards")
    rates = [rate for rate in report["throughput"] if rate["work"] == "dd | cat"]
    times = [4e6, *(500 / place for place in range(1, len(rates)))]
    for rate, ns in zip(rates, times, strict=True):
        assert rate["mb_per_s"] == pytest.approx(32768 / ns * 1000, rel=1e-4)
        assert rate["of_read_write"] == pytest.approx(times[0] / ns, rel=1e-4)
        if rate["of_splice"] is not None:
            assert rate["of_splice"] == pytest.approx(times[-1] / ns, rel=1e-4)
    text = bench_text("copy", "--quick", "--mode", "pipe", chosen="quiet")
    # For 500 to 504 ns, the quartiles are 501 and 503, which differ from the median by 0.2 %.
    assert "dd | cat read, write 65275 +- 0% 1.00x" in text
    assert text.count(" +- 0% 1.00x") == 2 * len(rates) + 5


def test_rates_by_bytes_and_packets_follow_from_the_times() -> None:
    """The times are 4 ms, 500 ns, 250 ns and 166.67 ns. Each row of rates has nanoseconds per byte,
    and then millions of packets per second."""
    done = bench("jit", "--quick", chosen="backwards")
    rows = [line.split() for line in done.stdout.splitlines() if re.match(r" +(20|1,500) ", line)]
    assert [" ".join(row) for row in rows[: len(rows) // 2]] == [
        "20 4000k 500 250 167 2.00x 3.00x",
        "1,500 4000k 500 250 167 2.00x 3.00x",
        "20 200k 25.0 12.5 8.33 0.0003 2.00 4.00 6.00",
        "1,500 2667 0.3333 0.1667 0.1111 0.0003 2.00 4.00 6.00",
    ]
    report = bench_json("bench_jit", "jit", "--quick", chosen="backwards")
    millions = [0.00025, 2, 4, 6] * 14
    assert [one["million_a_second"] for one in report["sums"]] == pytest.approx(millions, rel=1e-4)
    assert {one["million_a_second"] for one in report["packets"]} == {0.00025, 2}


@pytest.mark.parametrize("options", [[], ["--quick"]])
def test_sizes_begin_with_one_byte(options: list[str]) -> None:
    cells = bench_json("bench_kernels", "sum", *options, "--mode", "hot", chosen="quiet")["cells"]
    assert min(cell["size"] for cell in cells) == 1


def test_a_pair_of_calls_counts_as_two() -> None:
    """A sample of alternate calls, 502 ns, counts as two calls."""
    pair = ["--interleave", "20@1,1500@3"]
    cells = bench_json("bench_kernels", "sum", "--quick", *pair, chosen="quiet")["cells"]
    assert {cell["ns"] for cell in cells} == {251}
    assert [cell["bytes_per_ns"] for cell in cells] == pytest.approx([760 / 251] * len(cells), 1e-4)
