# SPDX-License-Identifier: MIT
"""Runs trials of AVX-512 instructions on machines that lack AVX-512: Bochs emulates the CPU and
boots the test kernel of ports/baremetal, which executes the trials (x86_64/trials.c)."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from pathlib import Path

from image import Instruction
from machines import boot_bochs, make
from meanings import ARENAS, ROOM, Machine, Place, Trial

MODEL = "corei7_icelake_u"
FEATURES = {"avx2", "bmi2", "sse4_2", "pclmulqdq", "avx512f", "avx512bw", "avx512vl"}
FEATURES |= {"avx512_vnni"}
CODE = 32 << 20  # in the 64 MiB of memory; the kernel uses the first few MiB
ARENA_SHIFT = 16  # as in trials.c


class Bochs(Machine):
    def __init__(self, more: list[Instruction]) -> None:
        arenas = {name: Place(CODE + (i + 1 << 20)) for i, name in enumerate(ARENAS)}
        super().__init__(more, FEATURES, CODE, arenas)

    def run_all(
        self, trials: Sequence[Trial], folder: Path
    ) -> list[tuple[bytes, dict[str, bytes]]]:
        """Returns the registers and memory after each trial."""
        blob = folder / "trials.bin"
        places = [self.arenas[name].base for name in ARENAS]
        head = struct.pack("<IIQ3Q", len(trials), ROOM, self.start, *places)
        blob.write_bytes(head + b"".join(map(packed, trials)))
        kernel = folder / "kernel.elf"
        make(folder, f"TRIALS={blob}")
        result = boot_bochs(kernel, folder, MODEL, "trials", f"TRIALS={blob}")
        lines = [line for line in result.lines if line.startswith("trial ")]
        assert len(lines) == len(trials), result.text()[-2000:]
        return [changed(*pair) for pair in zip(trials, lines, strict=True)]


def packed(trial: Trial) -> bytes:
    """Returns a struct trial of trials.h, followed by its code and its patterns."""
    code = b"".join(i.code for i in trial.program)
    patterns = [trial.patterns[name] for name in ARENAS]
    head = struct.pack("<4I", len(code), *map(len, patterns))
    found = head + trial.block() + code + b"".join(patterns)
    return found + bytes(-len(found) % 8)


def changed(trial: Trial, line: str) -> tuple[bytes, dict[str, bytes]]:
    """Returns the state after a trial, from the words that the kernel reports as changed."""
    parts = [bytearray(trial.block()), *(bytearray(trial.memory[name]) for name in ARENAS)]
    for at, word in re.findall(r" ([0-9a-f]+)=([0-9a-f]+)", line):
        part, place = divmod(int(at, 16), 1 << ARENA_SHIFT)
        parts[part][place : place + 8] = int(word, 16).to_bytes(8, "little")
    block, *memory = map(bytes, parts)
    return block, dict(zip(ARENAS, memory, strict=True))
