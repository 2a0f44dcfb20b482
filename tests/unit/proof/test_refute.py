# SPDX-License-Identifier: MIT
"""Tests refute.py: it runs mutants of kernels on the CPU, tries to prove the wrong ones, and
reports each that the prover accepts. Only a few wrong mutants are tried here; `make refute` tries
thousands.
"""

from __future__ import annotations

import os
import platform
import random
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

pytest.importorskip("elftools", reason="python3-pyelftools is not installed")
import digest
import features
import mutants
import prove
import refute
from image import Image
from mutants import Mutant
from number import Unproven

if platform.machine() != "x86_64":
    pytest.skip("mutants are made of kernels of x86-64", allow_module_level=True)

BUILD = Path(os.environ["CARRY_BUILD"])
LIBRARY = BUILD / "src/libcarry.so"
REFUTE = Path(__file__).resolve().parents[3] / "proof/kernels/refute.py"
KINDS = {"dropped", "exchanged", "replaced", "an operand", "operands", "a width", "widths"}
KINDS |= {"a mnemonic", "a condition", "without VEX", "with VEX", "a target", "a prefix", "a bit"}


@pytest.fixture(scope="module")
def image() -> Image:
    return Image(LIBRARY)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return refute.runner(tmp_path_factory.mktemp("refute"))


def every(image: Image, name: str) -> list[Mutant]:
    return mutants.every(image.instructions(name), random.Random(1))


def runnable(image: Image) -> Iterable[str]:
    for name in digest.functions("x86_64"):
        if name in image.functions and not features.missing(name):
            yield name


def test_kernels_as_they_are_are_right(image: Image, program: Path) -> None:
    for name in runnable(image):
        first = next(iter(image.instructions(name).values()))
        same = Mutant("nothing", first.address, first.code, "", "")
        (verdict,) = refute.judged(program, image, name, [same])
        assert not verdict.reason, f"{name}: {verdict.reason}"
        assert verdict.calls > 10000


def test_same_seed_makes_the_same_mutants_of_all_kinds(image: Image) -> None:
    names = ("carry_sum_adc", "carry_sum_avx2", "carry_sum_generic", "carry_crc32c_pclmul")
    found = {name: every(image, name) for name in names}
    assert found == {name: every(image, name) for name in names}
    assert {m.kind for some in found.values() for m in some} == KINDS
    for name, some in found.items():
        assert len(some) > 1000
        code = image.instructions(name)
        first, last = min(code), max(code)
        assert all(first <= m.at and m.at + len(m.code) <= code[last].after for m in some)


def test_pxor_in_place_of_vpxor(image: Image, program: Path, tmp_path: Path) -> None:
    """PXOR in place of VPXOR keeps the caller's upper half in a vector of partial sums."""
    name = "carry_sum_avx2"
    if features.missing(name):
        pytest.skip("this CPU lacks AVX2")
    found = [m for m in every(image, name) if m.after.startswith("pxor xmm")]
    wrong = [v for v in refute.judged(program, image, name, found) if v.reason == "the sum"]
    assert len(wrong) >= 8
    for verdict in wrong[:2]:
        other = refute.mutated(image, verdict.mutant, tmp_path / "mutant.so")
        with pytest.raises(Unproven, match="loses a carry"):
            prove.proof_of(other, name).run()


# Changes of kernels, and parts of the expected reasons, separated by |.
WRONG = [
    ("carry_sum_adc", "ret", "nothing", "Segmentation|Illegal|Trace|sum|keep|stack"),
    ("carry_sum_avx2", "vzeroupper", "nothing", "upper halves of vectors"),
    ("carry_copy_avx2", "vzeroupper", "nothing", "upper halves of vectors"),
    ("carry_copy_move_rep", "rep movsb", "nothing", "what is copied"),
    ("carry_copy_try_rep", "xor eax,eax", "nothing", "bytes are left"),
    ("carry_crc32c_generic", "not eax", "nothing", "the CRC"),
]


@pytest.mark.parametrize(("name", "before", "after", "reason"), WRONG)
def test_cpu_says_why(
    image: Image, program: Path, name: str, before: str, after: str, reason: str
) -> None:
    if features.missing(name):
        pytest.skip("this CPU cannot run it")
    changed = before, after
    found = [m for m in every(image, name) if (" ".join(m.before.split()), m.after) == changed]
    reasons = [v.reason for v in refute.judged(program, image, name, found)]
    assert any(part in said for said in reasons for part in reason.split("|")), reasons


def test_prover_that_accepts_all_is_found_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(refute, "is_proven", lambda *_: True)
    options = ["--sample", "20", "--try", "3", str(BUILD), "carry_sum_adc"]
    monkeypatch.setattr(sys, "argv", ["refute.py", *options])
    assert refute.main() == 1
    output = capsys.readouterr().out
    assert output.count("proven; wrong on the CPU after") == 3
    assert output.endswith("3 wrong kernels tried, 3 of them accepted\n")


def test_some_wrong_kernels_are_refused() -> None:
    command = [sys.executable, REFUTE, "--sample", "30", "--try", "4", BUILD]
    command += ["carry_sum_adc", "carry_copy_generic", "carry_copy_move_rep"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("12 wrong kernels tried, 0 of them accepted\n"), done.stdout


def test_refuted_build_without_kernels(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, REFUTE, tmp_path], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == f"refute.py: {tmp_path}: no objects of kernels\n"


def test_help() -> None:
    """--help shows the usage."""
    done = subprocess.run([sys.executable, REFUTE, "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "usage: refute.py [--sample N] [--try N] [--seed N]" in done.stdout
