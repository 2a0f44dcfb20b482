# SPDX-License-Identifier: MIT
"""The core in the test kernel of ports/baremetal, on old and new CPUs; mutants must be caught."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from machines import Result, bochs_version, boot, boot_bochs

# CPU models, each with a limit: all sizes of data up to the limit are tested, and some larger ones.
MODELS = {"qemu64": 512, "Nehalem": 512, "Haswell": 512, "max": 2048}


@pytest.mark.parametrize("model", MODELS)
def test_kernel(kernel: Path, model: str) -> None:
    """All tests in the test kernel pass on each CPU model."""
    result = boot(kernel, model, f"sizes={MODELS[model]}")
    assert result.status == 0, result.text()
    assert result.points == result.planned > 0, result.text()
    assert not result.failed


@pytest.mark.parametrize("masked", ["xsavec", ""])
def test_kernel_with_avx512(kernel: Path, tmp_path: Path, masked: str) -> None:
    """Checksums and copies with AVX-512 pass their tests in ring 0."""
    if not masked and bochs_version() < (3, 0):
        pytest.skip("before 3.0, Bochs keeps AVX at a wrong offset by XSAVEC")
    result = boot_bochs(kernel, tmp_path, "corei7_icelake_u", f"mask={masked} kernels=avx512")
    assert re.search("^ok .* sum avx512: ", result.text(), re.MULTILINE), result.text()
    assert re.search("^ok .* copy avx512: ", result.text(), re.MULTILINE), result.text()
    assert result.points == result.planned > 0, result.text()
    assert not result.failed


def reached_rows(result: Result) -> list[int]:
    found = re.search(r"^# \d+ rows, reached:([ \d]*)$", result.text(), re.MULTILINE)
    assert found, result.text()
    return [int(word) for word in found[1].split()]


def test_row_off_by_one(kernel: Path) -> None:
    """With a wrong row in the table of instructions that may fault, the kernel itself faults."""
    rows = reached_rows(boot(kernel, "max"))
    for row in (rows[0], random.choice(rows), rows[-1]):
        result = boot(kernel, "max", f"only=copy break=row:{row}")
        assert result.gave_up.startswith("Bail out! trap 14 "), f"row {row}:\n{result.text()}"


@pytest.mark.parametrize("broken", ["frame", "interrupted-frame"])
def test_fault_without_frame(kernel: Path, broken: str) -> None:
    """A fault of a thread without a frame ends the kernel. So does a fault of an interrupt, which
    must not use the frame of the interrupted code."""
    result = boot(kernel, "max", f"only=frames break={broken}")
    assert result.gave_up.startswith("Bail out! trap 14 "), result.text()


def test_without_second_synchronisation(kernel: Path) -> None:
    """A patch that does not synchronise all CPUs is caught."""
    result = boot(kernel, "max", "only=patch break=sync")
    assert any("without all CPUs synchronised" in line for line in result.failed), result.text()


def test_stop_that_does_not_look(kernel: Path) -> None:
    """A stop that does not check where the other CPU was interrupted lets it continue inside a new
    instruction."""
    result = boot(kernel, "max", "only=inline break=stop")
    assert result.gave_up.startswith("Bail out! trap ") or result.failed, result.text()


def test_section_that_does_not_save(kernel: Path) -> None:
    result = boot(kernel, "max", "only=section break=section")
    assert sum("a thread keeps its registers" in line for line in result.failed) == 2, result.text()
