# SPDX-License-Identifier: MIT
"""The core in the test kernel of ports/baremetal for AArch64; mutants must be caught."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from machines import Result, boot_aarch64

# CPU models: Armv8.0 without PAN, Armv8.2, and all features of QEMU. The sizes are limits, as in
# test_baremetal.py.
MODELS = {"cortex-a72": 512, "neoverse-n1": 512, "max": 2048}
DATA_ABORT = "Bail out! trap 37 "


@pytest.mark.parametrize("model", MODELS)
def test_kernel(kernel_aarch64: Path, model: str) -> None:
    """All tests in the test kernel pass on each CPU model, with two CPUs."""
    result = boot_aarch64(kernel_aarch64, model, f"sizes={MODELS[model]}")
    assert result.status == 0, result.text()
    assert result.points == result.planned > 0, result.text()
    assert not result.failed
    assert ", 2 CPUs:" in result.text()
    for kernel in ("sum neon", "copy neon"):
        assert re.search(f"^ok .* {kernel}: ", result.text(), re.MULTILINE), result.text()


@pytest.mark.parametrize("test", ["patch", "interrupts"])
def test_text_that_runs_while_it_is_written(kernel_aarch64: Path, test: str) -> None:
    """Text is patched while it runs. QEMU emulates both CPUs in one thread, because with several
    threads, writes to text that another thread is translating are lost. Each CPU runs for 100 ms in
    turn, and a commit needs several turns of both.
    """
    options = f"only={test} live flips=4"
    result = boot_aarch64(kernel_aarch64, "max", options, "tcg,thread=single")
    assert result.status == 0 and result.points == result.planned > 0, result.text()


def reached_rows(result: Result) -> list[int]:
    found = re.search(r"^# \d+ rows, reached:([ \d]*)$", result.text(), re.MULTILINE)
    assert found, result.text()
    return [int(word) for word in found[1].split()]


def test_row_off_by_one(kernel_aarch64: Path) -> None:
    """A row of the table of faults that is off by one ends the kernel."""
    rows = reached_rows(boot_aarch64(kernel_aarch64, "max", "only=copy"))
    for row in (rows[0], random.choice(rows), rows[-1]):
        result = boot_aarch64(kernel_aarch64, "max", f"only=copy break=row:{row}")
        assert result.gave_up.startswith(DATA_ABORT), f"row {row}:\n{result.text()}"


@pytest.mark.parametrize("broken", ["frame", "interrupted-frame"])
def test_fault_without_frame(kernel_aarch64: Path, broken: str) -> None:
    """A fault without a frame to return to ends the kernel."""
    result = boot_aarch64(kernel_aarch64, "max", f"only=frames break={broken}")
    assert result.gave_up.startswith(DATA_ABORT), result.text()


def test_write_that_is_lost(kernel_aarch64: Path) -> None:
    result = boot_aarch64(kernel_aarch64, "max", "only=patch break=write")
    assert any("flips of" in line for line in result.failed), result.text()


def test_section_that_does_not_save(kernel_aarch64: Path) -> None:
    result = boot_aarch64(kernel_aarch64, "max", "only=section break=section")
    assert sum("a thread keeps its registers" in line for line in result.failed) == 2, result.text()
