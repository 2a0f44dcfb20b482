# SPDX-License-Identifier: MIT
"""Tests encodings near the encodings of instructions: if the prover gives one a meaning, the CPU
must execute it with this meaning.

CARRY_TEST_LEVEL determines how many encodings are tried: all of them at `long`. Each run tries the
same encodings.
"""

from __future__ import annotations

import os
import platform
import random
from pathlib import Path

import pytest

pytest.importorskip("elftools", reason="python3-pyelftools is not installed")
from encoding import unusual
from encodings_near import decoded, faults, near
from image import Image
from meanings import Cpu, Instruction, Unproven, digest
from test_meanings import all_programs, form, of_kernels

COUNT = {"short": 100, "medium": 400, "long": 1 << 20}[os.environ.get("CARRY_TEST_LEVEL", "medium")]
LIBRARY = Path(os.environ["CARRY_BUILD"]) / "src/libcarry.so"
TRIALS = 3
# Encodings that objdump decodes, but no assembler emits. The CPU raises #UD, or the result is
# undefined.
REFUSED = {
    "66 c5 f8 77": "VZEROUPPER with a prefix",
    "c5 f9 77": "VZEROUPPER with another VEX.pp",
    "66 0f ae f8": "SFENCE with a prefix",
    "66 0f c9": "BSWAP of 16 bits",
    "62 f1 7f c9 7f 07": "a store with EVEX.z",
    "62 f1 7f 40 6f 06": "EVEX.V' of an operand that there is not",
}
USUAL = {
    "c5 f8 77": "VZEROUPPER",
    "2e 2e c5 f8 77": "the same with prefixes that pad",
    "48 81 c6 80 ff ff ff": "a wide constant",
    "f3 a4": "REP MOVSB",
    "66 66 2e 0f 1f 84 00 00 00 00 00": "a NOP",
}

if platform.machine() != "x86_64":
    pytest.skip("the meanings are those of x86-64", allow_module_level=True)


@pytest.fixture(scope="module")
def cpu(tmp_path_factory: pytest.TempPathFactory) -> Cpu:
    texts = [text for program in all_programs() for text in program]
    return Cpu(tmp_path_factory.mktemp("meanings"), texts)


def one_of_each_form(cpu: Cpu) -> list[Instruction]:
    found: dict[tuple[object, ...], Instruction] = {}
    for i in [*of_kernels(), *cpu.more]:
        try:
            found.setdefault(form(i), i)
        except Unproven:
            continue
    return list(found.values())


def test_nearby_encodings_mean_what_the_cpu_does(cpu: Cpu, tmp_path: Path) -> None:
    found = near(tmp_path, one_of_each_form(cpu))
    assert len(found) > 1000
    chosen = random.Random(1).sample(found, min(COUNT, len(found)))
    wrong = faults(cpu, chosen, TRIALS)
    assert not wrong, "\n".join(map(str, wrong))


@pytest.mark.parametrize("code", REFUSED)
def test_encoding_is_refused(code: str, tmp_path: Path) -> None:
    (i,) = decoded(tmp_path, [bytes.fromhex(code)])
    assert i.code == bytes.fromhex(code)
    assert unusual({i.address: i}) == {i.address}


@pytest.mark.parametrize("code", USUAL)
def test_encoding_is_usual(code: str, tmp_path: Path) -> None:
    (i,) = decoded(tmp_path, [bytes.fromhex(code)])
    assert i.code == bytes.fromhex(code)
    assert not unusual({i.address: i})


def test_all_instructions_of_kernels_are_usual() -> None:
    image = Image(LIBRARY)
    for name in digest.functions("x86_64"):
        if name in image.functions:
            assert not unusual(image.instructions(name)), name
