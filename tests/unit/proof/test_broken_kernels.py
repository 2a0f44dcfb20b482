# SPDX-License-Identifier: MIT
"""Tests that the mutants of tests/mutants are not proven, and that the reason names the fault. If a
sum is wrong, or memory outside the data is read, an input that takes the refuted execution must
fail on the CPU.
"""

from __future__ import annotations

import ctypes
import platform
import re
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

pytest.importorskip("elftools", reason="python3-pyelftools is not installed")
from claims import SUM, Proof
from engine import Engine, Function
from image import Image
from inputs import call_at, outcome
from number import Unproven

if platform.machine() != "x86_64":
    pytest.skip("the meanings are those of x86-64", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[3]
BROKEN = ROOT / "tests/mutants"
ROW = re.compile(r'^BROKEN_SUM\((any|x86_64), (\w+), "\w*", (\w+), "(.*)"\)$', re.MULTILINE)
ROWS = {name: check for _, name, check, _ in ROW.findall((BROKEN / "mutants.def").read_text())}
# Sizes above 64 KiB, but too small to overflow a sum of 64 bits.
CLAIM = replace(SUM, size_max=1 << 30, compiled=True)

# The reason why each mutant is not proven.
REASONS = {
    "loses_carry": "loses a carry",
    "loses_rare_carry": "depends on what a loop leaves in",
    "forgets_odd_byte": "the byte at 0 is not counted",
    "fails_at_odd_start": "the byte at 1 is counted 1 times",
    "one_byte_too_many": "reads past the end of data, up to end + 1",
    "sign_extends": "loses a carry",
    "ignores_seed": "the result is Summary(inputs=(0,)",
    "cuts_seed": "loses a carry",
    "zero_for_ones": "loses a carry",
    "fails_at_64_kib": "65536 bytes: the byte at 0 is not counted",
    "overflows": "loses a carry",
    "reads_past_end": "reads past the end of data, up to end + 1",
    "reads_whole_words": "reads past the end of data, up to end + ",
    "reads_before": "reads 1 bytes before the start of data",
    "uses_upper_half": "depends on the upper half of sum",
    "trusts_carry_flag": "relies on a carry flag that is not set",
    "trusts_rax": "depends on rax at the call",
    "clobbers_rbx": "clobbers rbx",
    "clobbers_rbp": "clobbers rbp",
    "clobbers_r12": "clobbers r12",
    "clobbers_r15": "clobbers r15",
    "moves_stack": "clobbers rsp",
    "sets_direction": "touches the direction flag",
    "writes_above": "writes past the end of stack",
    "writes_below": "writes 104 bytes before the start of stack",
    "changes_mxcsr": "touches MXCSR",
    "changes_x87": "touches the x87 control word",
    "forgets_emms": "touches x87 registers",
    "dirty_ymm": "leaves the upper halves of vectors dirty",
    "dirty_zmm": "leaves the upper halves of vectors dirty",
}
# Mutants that are not proven because the prover does not support their code.
NOT_FOLLOWED = {
    "ones_for_zeros": "a branch depends on the data",
    "rounds_up": "execution leaves the function",  # to fesetround() of the C library
}


@dataclass(frozen=True)
class Mutants:
    path: Path
    image: Image
    library: ctypes.CDLL

    def refute(self, name: str) -> Unproven | None:
        try:
            function = Function.of(self.image, name, frozenset(CLAIM.returns), called=True)
            Proof(Engine(function, cuts=False), CLAIM).run()
        except Unproven as error:
            return error
        return None

    def outcome(self, name: str, error: Unproven) -> str:
        return outcome(lambda: call_at(address_of(self.library[name])), error)


def address_of(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def mutants(tmp_path_factory: pytest.TempPathFactory) -> Mutants:
    path = tmp_path_factory.mktemp("mutants") / "mutants.so"
    folders = [f"-I{ROOT / folder}" for folder in ("include", "src", "tests")]
    options = ["-O2", "-fno-tree-vectorize", "-D_GNU_SOURCE", "-fPIC", "-shared", "-Wl,-Bsymbolic"]
    sources = [str(BROKEN / name) for name in ("sum.c", "x86_64.S")]
    command = ["gcc", *options, *folders, *sources, "-o", str(path), "-lm"]
    subprocess.run(command, check=True)
    return Mutants(path, Image(path), ctypes.CDLL(str(path)))


def test_the_right_sum_is_proven(mutants: Mutants) -> None:
    assert mutants.refute("broken_not") is None
    everything = Unproven()
    everything.sizes = (0, 1, 2, 3, 8, 17, 4096)
    assert mutants.outcome("broken_not", everything) == "right"


def test_each_mutant_has_a_reason() -> None:
    assert {*REASONS, *NOT_FOLLOWED} == set(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_mutant_is_refuted(mutants: Mutants, name: str) -> None:
    error = mutants.refute(f"broken_{name}")
    assert error is not None
    assert {**REASONS, **NOT_FOLLOWED}[name] in str(error)


@pytest.mark.parametrize("name", [name for name, check in ROWS.items() if check != "abi"])
def test_refutation_fails_on_the_cpu(mutants: Mutants, name: str) -> None:
    error = mutants.refute(f"broken_{name}")
    assert error is not None
    expected = "faults" if "reads" in str(error) else "wrong"
    assert mutants.outcome(f"broken_{name}", error) == expected
