# SPDX-License-Identifier: MIT
"""Runs the prover on kernels whose proofs are short, and tests its error messages."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("elftools", reason="python3-pyelftools is not installed")
import digest
import prove as prover
from image import Image
from mutants import Mutant
from number import Unproven
from refute import mutated

SOURCE = Path(__file__).resolve().parents[3]
PROVE = SOURCE / "proof/kernels/prove.py"
BUILD = Path(os.environ["CARRY_BUILD"])

# Kernels whose proof takes only seconds; `make proof` proves all kernels.
QUICK = ["carry_sum_generic", "carry_sum_copy_generic", "carry_sum_adc", "carry_sum_copy_try_adc"]
QUICK += ["carry_copy_generic", "carry_copy_try_rep", "carry_copy_avx2", "carry_copy_try_avx512"]

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="code of x86-64")


def prove(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, PROVE, *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=900)


@pytest.mark.parametrize("function", QUICK)
def test_is_proven(function: str) -> None:
    done = prove(BUILD, function)
    assert done.stdout.startswith(f"{function}: proven, "), done.stdout + done.stderr
    assert done.returncode == 0


@pytest.fixture
def lines() -> Image:
    return Image(BUILD / "src/libcarry.so")


def test_copy_past_the_caches_is_proven(lines: Image) -> None:
    """This copy is proven here, because it is in no table of kernels and not in proven.def."""
    prover.proof_of(lines, "carry_copy_lines").run()


def test_copy_past_the_caches_without_fence(lines: Image, tmp_path: Path) -> None:
    (fence,) = [i for i in lines.instructions("carry_copy_lines").values() if i.text == "sfence"]
    nothing = Mutant("dropped", fence.address, b"\x0f\x1f\x00", "sfence", "nop")
    with pytest.raises(Unproven, match="leaves stores past the caches without SFENCE"):
        prover.proof_of(mutated(lines, nothing, tmp_path / "mutant.so"), "carry_copy_lines").run()


def test_library_that_was_linked_before_its_object() -> None:
    code = next(code for code in digest.kernels(BUILD) if code.name == "carry_copy_generic")
    newer = replace(code, content=bytes(1) + code.content[1:])
    result = prover.prove((BUILD / "src/libcarry.so", newer))
    assert result.error is not None and "has other code than its object" in result.error


def test_table_that_is_not_recorded_whole() -> None:
    code = next(code for code in digest.kernels(BUILD) if code.name == "carry_sum_adc")
    shorter = [replace(f, to=f.to[:-1]) if isinstance(f.to, bytes) else f for f in code.fields]
    result = prover.prove((BUILD / "src/libcarry.so", replace(code, fields=tuple(shorter))))
    assert result.error is not None and "that are in none of its tables" in result.error


def test_unknown_function() -> None:
    done = prove(BUILD, "carry_sum_sse")
    assert done.returncode == 2
    assert done.stderr == f"prove.py: carry_sum_sse: no kernel of {BUILD}\n"


def test_build_without_kernels(tmp_path: Path) -> None:
    done = prove(tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"prove.py: {tmp_path}: no objects of kernels\n"


def test_help() -> None:
    """--help shows the usage."""
    done = prove("--help")
    assert done.returncode == 0
    assert "usage: prove.py [--changed] [--record] [-j JOBS] BUILD [FUNCTION...]" in done.stdout
