# SPDX-License-Identifier: MIT
"""A kernel with one changed operand is not proven: another register, address, number or target.

CARRY_TEST_LEVEL determines how many instructions are tried: all of them at `long`. Each run tries
the same ones.
"""

from __future__ import annotations

import os
import platform
import random
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("elftools", reason="python3-pyelftools is not installed")
from claims import SUM, Proof
from elftools.elf.elffile import ELFFile
from engine import Edge, Engine, Function
from image import Image, Instruction
from machine import State
from number import Unproven
from x86_64 import PARTS, PREFIXES, decode

if platform.machine() != "x86_64":
    pytest.skip("the meanings are those of x86-64", allow_module_level=True)

KERNEL = "carry_sum_adc"
LIBRARY = Path(os.environ["CARRY_BUILD"]) / "src/libcarry.so"
COUNT = {"short": 6, "medium": 16, "long": 1 << 20}[os.environ.get("CARRY_TEST_LEVEL", "medium")]
STEPS = 10  # limit for a proof: this many times the steps of the proof of the kernel

# Mutants that are equivalent to the kernel: the instruction before the changed one, and the text
# (for jumps, only the name) before and after the change. An ADC of 0 has no effect there, because
# the carry is 0.
EQUIVALENT = {("jne", "adc rdx,0x0", "adc rdi,0x0"), ("test", "je", "je")}


@dataclass(frozen=True)
class Mutant:
    at: Instruction
    text: str
    code: bytes

    def __str__(self) -> str:
        return f"{plain(self.at)} -> {self.text}"


class Limited(Engine):
    """Gives up if a proof needs too many steps."""

    limit = 1 << 60

    def step(self, state: State) -> State | Edge | None:
        if self.steps > self.limit:
            raise Unproven("takes too long")
        return super().step(state)


def plain(i: Instruction) -> str:
    """Returns the instruction's text without prefixes, comments and names."""
    words = re.sub(r"\s*(#.*|<.*>)", "", i.text).split()
    while words[0] in PREFIXES:
        words = words[1:]
    return " ".join(words)


def others(operand: str, chosen: random.Random) -> list[str]:
    """Returns operands that can replace an operand."""
    if operand in PARTS and operand != "cl":  # shift counts must be in cl
        _, width, first = PARTS[operand]
        like = [n for n, (i, w, f) in PARTS.items() if (w, f) == (width, first) and i != 4]
        near = [n for n in like if (n in like[:7]) == (operand in like[:7]) and n != operand]
        return chosen.sample(near, len(near))
    if found := re.fullmatch(r"(.*\[.*?)([+-]0x[0-9a-f]+)?\]", operand):
        offset = int(found[2] or "0", 16)
        return [f"{found[1]}{offset + step:+#x}]" for step in chosen.sample((8, -8, 1, -1), 4)]
    if re.fullmatch(r"0x[0-9a-f]+|\d+", operand):
        value = int(operand, 16)
        return [f"{value ^ bit:#x}" for bit in chosen.sample((1, 2, 4), 3)]
    return []


def texts(i: Instruction) -> list[str]:
    """Returns texts with another operand; the first that assembles to the same size is used."""
    chosen = random.Random(i.text)
    name, _, rest = plain(i).partition(" ")
    operands = rest.split(",") if rest else []
    found = []
    for at in chosen.sample(range(len(operands)), len(operands)):
        for other in others(operands[at], chosen):
            found.append(f"{name} {','.join([*operands[:at], other, *operands[at + 1 :]])}")
    return found


def assembled(folder: Path, lines: list[str]) -> list[bytes]:
    source = folder / "mutants.S"
    source.write_text(
        ".intel_syntax noprefix\n.text\n.type mutants, @function\nmutants:\n"
        + "\n".join(lines)
        + '\n.size mutants, . - mutants\n.section .note.GNU-stack, "", @progbits\n'
    )
    library = folder / "mutants.so"
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", str(library), str(source)], check=True)
    return [i.code for i in Image(library).instructions("mutants").values()]


def to_next(i: Instruction, code: dict[int, Instruction]) -> Mutant:
    """Returns a jump to the instruction after its target."""
    target = int(plain(i).split()[1], 16)
    size = 1 if len(i.code) == 2 else 4
    moved = int.from_bytes(i.code[-size:], "little") + len(code[target].code)
    text = f"{plain(i).split()[0]} {target + len(code[target].code):x}"
    return Mutant(i, text, i.code[:-size] + moved.to_bytes(size, "little"))


def mutants(folder: Path, code: dict[int, Instruction]) -> list[Mutant]:
    found = [to_next(i, code) for i in code.values() if decode(i).name.startswith("j")]
    rest = [i for i in code.values() if not decode(i).name.startswith(("j", "ret", "nop", "end"))]
    lines = [(i, text) for i in rest for text in texts(i)]
    codes = assembled(folder, [text for _, text in lines])
    done = set()
    for (i, text), new in zip(lines, codes, strict=True):
        prefixes = len(i.code) - len(i.code.lstrip(b"\x2e\x66"))
        whole = i.code[:prefixes] + new if prefixes and len(new) < len(i.code) else new
        if i not in done and len(whole) == len(i.code) and whole != i.code:
            done.add(i)
            found.append(Mutant(i, text, whole))
    assert not [plain(i) for i in rest if i not in done and decode(i).operands]
    return sorted(found, key=lambda m: m.at.address)


def mutated(folder: Path, mutant: Mutant) -> Image:
    """Returns the library with the mutant's bytes."""
    content = bytearray(LIBRARY.read_bytes())
    with LIBRARY.open("rb") as file:
        (at,) = ELFFile(file).address_offsets(mutant.at.address, len(mutant.code))
    assert content[at : at + len(mutant.code)] == mutant.at.code
    content[at : at + len(mutant.code)] = mutant.code
    path = folder / "mutant.so"
    path.write_bytes(content)
    return Image(path)


def refutation(image: Image, limit: int = 1 << 60) -> tuple[Unproven | None, int]:
    """Returns why the kernel is not proven, and the number of steps."""
    engine = Limited(Function.of(image, KERNEL, frozenset(SUM.returns)))
    engine.limit = limit
    try:
        Proof(engine, SUM).run()
    except Unproven as error:
        return error, engine.steps
    return None, engine.steps


def test_operand_of_each_instruction_counts(tmp_path: Path) -> None:
    image = Image(LIBRARY)
    error, steps = refutation(image)
    assert error is None
    found = mutants(tmp_path, image.instructions(KERNEL))
    chosen = random.Random(KERNEL).sample(found, min(COUNT, len(found)))
    missed = []
    for mutant in sorted(chosen, key=lambda m: m.at.address):
        error, _ = refutation(mutated(tmp_path, mutant), STEPS * steps)
        print(f"{mutant}: {error}")
        if error is None and not is_equivalent(mutant, image):
            missed.append(str(mutant))
    assert not missed


def is_equivalent(mutant: Mutant, image: Image) -> bool:
    before = [i for i in image.instructions(KERNEL).values() if i.after == mutant.at.address]
    texts = [plain(mutant.at), mutant.text]
    if texts[0].startswith("j"):  # the targets of jumps differ from build to build
        texts = [text.split()[0] for text in texts]
    return bool(before) and (decode(before[0]).name, *texts) in EQUIVALENT
