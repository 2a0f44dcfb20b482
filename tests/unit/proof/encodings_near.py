# SPDX-License-Identifier: MIT
"""Encodings near the encodings of instructions: with a changed bit, with an additional prefix, or
without the first byte.

A kernel with a wrong byte may contain such an encoding. The CPU may refuse what objdump
decodes, or execute something else.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import random
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from encoding import unusual
from meanings import MEANINGS, Cpu, Image, Instruction, Trial, Unproven, decode, needs

PREFIXES = (0x66, 0xF2, 0xF3, 0xF0, 0x2E, 0x36, 0x3E, 0x26, 0x64, 0x65, 0x67, *range(0x40, 0x50))
SLOT = 32  # bytes for an encoding and NOPs, so that objdump is synchronised at the next encoding
NOP = b"\x90"
LONGEST = 15
SKIPPED = ("push", "pop")  # trials of these need a valid stack


def changes(code: bytes) -> Iterator[bytes]:
    """Generates the encodings near `code`."""
    for bit in range(8 * len(code)):
        changed = bytearray(code)
        changed[bit // 8] ^= 1 << bit % 8
        yield bytes(changed)
    for prefix in PREFIXES:
        yield bytes([prefix]) + code
    yield code[1:]


def decoded(folder: Path, codes: list[bytes]) -> list[Instruction]:
    """Returns the first instruction that objdump decodes from each code."""
    slots = (code[:LONGEST].ljust(SLOT, NOP) for code in codes)
    lines = "\n".join(f".byte {','.join(map(str, slot))}" for slot in slots)
    source, library = folder / "near.S", folder / "near.so"
    source.write_text(
        f".text\n.balign {SLOT}\n.type near, @function\nnear:\n{lines}\n.size near, . - near\n"
        '.section .note.GNU-stack, "", @progbits\n'
    )
    subprocess.run(["gcc", "-shared", "-nostdlib", "-o", library, source], check=True)
    image = Image(library)
    found = image.instructions("near")
    start, _ = image.functions["near"]
    return [found[start + SLOT * n] for n in range(len(codes))]


def near(folder: Path, instructions: list[Instruction]) -> list[Instruction]:
    """Returns the encodings near `instructions` that the prover accepts, except push and pop."""
    known = {i.code for i in instructions}
    codes = sorted({c for i in instructions for c in changes(i.code) if c} - known)
    all_near = {i.address: i for i in decoded(folder, codes)}
    refused = unusual(all_near)
    found = {}
    for at, i in all_near.items():
        with contextlib.suppress(Unproven):
            d = decode(i)
            if d.name in MEANINGS and d.name not in SKIPPED and at not in refused:
                found[i.code] = i
    return list(found.values())


@dataclass(frozen=True)
class Fault:
    """An instruction with a meaning that differs from the CPU's behaviour."""

    instruction: Instruction
    what: str

    def __str__(self) -> str:
        return f"{self.instruction.code.hex(' ')} ({self.instruction.text}): {self.what}"


def compare(cpu: Cpu, i: Instruction, trials: int) -> str:
    """Returns how the CPU differs from the meaning of one instruction, or an empty text."""
    for n in range(trials):
        try:
            trial = Trial(cpu, [i], random.Random(f"{i.code.hex()} {n}"))
            trial.execute()
            trial.judge(*cpu.run(trial))
        except Unproven:
            continue
        except AssertionError as error:
            return str(error) or "an assertion"
        except (IndexError, KeyError, TypeError, AttributeError) as error:
            return f"{type(error).__name__}: {error}"
    return ""


def faults(cpu: Cpu, instructions: list[Instruction], trials: int) -> list[Fault]:
    """Compares instructions in child processes. If an instruction ends a process, the next process
    continues with the instruction after it."""
    found: list[Fault] = []
    at = mmap.mmap(-1, 8)
    text = mmap.mmap(-1, 1 << 22)
    todo = [i for i in instructions if not needs(i) - cpu.features]
    start = 0
    while start < len(todo):
        at[:8] = start.to_bytes(8, "little")
        child = os.fork()
        if child == 0:
            for name in ("SIGILL", "SIGSEGV", "SIGBUS", "SIGTRAP", "SIGFPE"):
                signal.signal(getattr(signal, name), signal.SIG_DFL)
            signal.alarm(600)
            text.seek(0)
            for n in range(start, len(todo)):
                at[:8] = n.to_bytes(8, "little")
                if what := compare(cpu, todo[n], trials):
                    text.write(f"{n}\t{what[:300]}\n".replace("\n", " ").strip().encode() + b"\n")
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        written = text[: text.find(b"\0")].decode().splitlines()
        for line in written:
            n, _, what = line.partition("\t")
            found.append(Fault(todo[int(n)], what))
        text[: len(text)] = bytes(len(text))
        if not os.WIFSIGNALED(status):
            break
        reached = int.from_bytes(at[:8], "little")
        name = signal.Signals(os.WTERMSIG(status)).name
        found.append(Fault(todo[reached], f"the CPU raises {name}"))
        start = reached + 1
    return found
