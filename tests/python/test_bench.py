# SPDX-License-Identifier: MIT
"""`carry bench`: its options and the shape of what it prints; never the times."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from conftest import Run

CLEAN, ERROR = 0, 3
REFERENCES = ["floor", "plain", "load"]
MIXES = ["mixed64", "mixed1500", "imix"]
MODES = ["hot", "latency", *MIXES]

# One cell: as fast as the tool can be.
ONE = ["--quick", "--mode", "hot", "--size", "64", "--align", "0"]


def masked(mask: str) -> dict[str, str]:
    return {**os.environ, "CARRY_CPU_MASK": mask}


def measure(carry: Run, *arguments: str, mask: str = "") -> dict[str, Any]:
    done = carry("bench", "sum", "--json", *arguments, env=masked(mask))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    return json.loads(done.stdout)


def available(carry: Run, mask: str = "") -> list[str]:
    shown = json.loads(carry("cpu", "--json", env=masked(mask)).stdout)
    return [kernel["name"] for kernel in shown["sum"]["kernels"] if kernel["available"]]


def kernels_of(report: dict[str, Any]) -> list[str]:
    """Whose times a report has, in the order of its first cell."""
    return list(dict.fromkeys(cell["kernel"] for cell in report["cells"]))


def places(report: dict[str, Any]) -> list[tuple[str, int | None, int | None]]:
    return list(dict.fromkeys((c["mode"], c["size"], c["align"]) for c in report["cells"]))


def test_bench_alone_lists_the_benchmarks(carry: Run) -> None:
    for arguments in ([], ["--help"], ["-h"]):
        done = carry("bench", *arguments)
        assert (done.returncode, done.stderr) == (CLEAN, "")
        assert "\n  sum " in done.stdout


def test_unknown_benchmark(carry: Run) -> None:
    done = carry("bench", "nosuch")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert "nosuch" in done.stderr and done.stderr.count("\n") == 1


def test_quick_times_every_kernel_in_every_mode(carry: Run) -> None:
    report = measure(carry, "--quick")
    assert kernels_of(report) == REFERENCES + available(carry)
    assert {place[0] for place in places(report)} == set(MODES)
    aligns = {mode: {place[2] for place in places(report) if place[0] == mode} for mode in MODES}
    assert aligns["hot"] > aligns["latency"] == {0}
    assert len(report["cells"]) == len(places(report)) * len(kernels_of(report))
    assert report["wrong"] == []


def test_shape_of_a_report(carry: Run) -> None:
    report = measure(carry, *ONE)
    assert report["bench"] == "sum"
    strings = ["cpu", "arch", "system", "libcarry", "compiler", "flags", "date"]
    assert all(isinstance(report["machine"][key], str) for key in strings)
    assert isinstance(report["machine"]["features"], list)
    assert report["load_bits"] in (128, 256, 512)
    assert {report["focus"], report["base"]} <= set(kernels_of(report))
    for cell in report["cells"]:
        assert 0 < cell["q1"] <= cell["ns"] <= cell["q3"]
        assert cell["bytes_per_ns"] == pytest.approx(cell["mean_size"] / cell["ns"], rel=1e-4)
        assert cell["speedup"] > 0


def test_a_mix_has_no_size_of_its_own(carry: Run) -> None:
    report = measure(carry, "--quick", "--mode", "mixed64", "--mode", "imix")
    assert places(report) == [("mixed64", None, None), ("imix", None, None)]
    means = {cell["mode"]: cell["mean_size"] for cell in report["cells"]}
    assert means["mixed64"] == pytest.approx((1 + 64) / 2, rel=0.02)
    assert means["imix"] == pytest.approx((7 * 40 + 4 * 576 + 1500) / 12, rel=0.02)


def test_options_choose_the_cells(carry: Run) -> None:
    report = measure(
        carry, "--quick", *["--mode", "latency", "--size", "20", "--size", "7", "--align", "3"]
    )
    assert places(report) == [("latency", 20, 3), ("latency", 7, 3)]
    sized = measure(carry, "--quick", "--size", "64", "--align", "0")
    assert [place[0] for place in places(sized)] == ["hot", "latency"]


def test_options_choose_the_kernels(carry: Run) -> None:
    assert kernels_of(measure(carry, *ONE, "--kernel", "generic")) == [*REFERENCES, "generic"]


def test_the_mask_takes_kernels_away(carry: Run) -> None:
    report = measure(carry, *ONE, mask="all")
    assert kernels_of(report) == REFERENCES + available(carry, "all")
    assert report["load_bits"] == 128
    assert report["machine"]["features"] == []


def test_tables_for_people(carry: Run) -> None:
    done = carry("bench", "sum", "--quick", env=masked(""))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert "\033" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    for name in [*available(carry), "plain", "load", *MIXES, "ns a call", "bytes/ns"]:
        assert name in done.stdout
    assert "1500 bytes hot: " in done.stdout
    assert "of the load bound" in done.stdout


def test_against(carry: Run) -> None:
    if available(carry) == ["generic"]:
        pytest.skip("there is one kernel only")
    other = available(carry)[1]
    done = carry("bench", "sum", *ONE, "--kernel", other, "--against=generic", env=masked(""))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert f"generic/{other}" in done.stdout
    assert "Len\\Aln" in done.stdout
    report = measure(carry, *ONE, "--kernel", other, "--against=generic")
    assert (report["focus"], report["base"]) == (other, "generic")
    assert kernels_of(report) == [*REFERENCES, "generic", other]
    spaced = measure(carry, *ONE, "--against", "generic", "--kernel", other)
    assert (spaced["focus"], spaced["base"]) == (other, "generic")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--nosuch"],
        ["file"],
        ["--size"],
        ["--size", "0"],
        ["--size", "-1"],
        ["--size", "20x"],
        ["--size", "99999999999999999999"],
        ["--align", "4096"],
        ["--mode", "nosuch"],
        ["--mode", "imix", "--size", "20"],
        ["--quick", "--full"],
        ["--kernel", "generic", "--against=generic"],
        ["--kernel", "generic", "--kernel", "generic", "--against=generic"],
        ["--kernel", "generic"] * 33,
        ["--size", "1"] * 33,
    ],
    ids=lambda arguments: " ".join(arguments[:6]),
)
def test_wrong_usage(carry: Run, arguments: list[str]) -> None:
    done = carry("bench", "sum", *arguments)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr.startswith("carry bench sum: ") and done.stderr.count("\n") == 1


def test_kernels_that_cannot_be_timed(carry: Run) -> None:
    done = carry("bench", "sum", "--kernel", "nosuch")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert "nosuch" in done.stderr
    gone = set(available(carry)) - set(available(carry, "all"))
    for name in gone:
        done = carry("bench", "sum", "--kernel", name, env=masked("all"))
        assert (done.returncode, done.stdout) == (ERROR, "")
        assert f"kernel {name} needs " in done.stderr


def test_help(carry: Run) -> None:
    done = carry("bench", "sum", "--help")
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert all(f"      {mode} " in done.stdout for mode in MODES)
    assert max(map(len, done.stdout.splitlines())) <= 80
