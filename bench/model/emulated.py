# SPDX-License-Identifier: MIT
"""Records which instructions a call executes on AArch64: QEMU runs the program of call.c, and logs
the instructions.

Each block of translated code contains one instruction, so the log of executed blocks is the path.
No plugin is needed; Debian's QEMU has none.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from model.path import Call, Instruction, PathError, read_listing, run

HERE = Path(__file__).resolve().parent
CROSS = "aarch64-linux-gnu-"
QEMU = "qemu-aarch64"
SECONDS = 300
COMMENT = re.compile(r"\s*(//|<).*")
# The address after the name, or after the last operand, of a branch or ADR.
TARGET = re.compile(r"^((?:bl?|b\.\w+)(?=\s)|(?:cbn?z|tbn?z|adrp?)\s.*,)\s*[0-9a-f]+$")
BEGIN = "next_call"  # the function of call.c that is executed before each call
TRACE = re.compile(r"^Trace \d+: \w+ \[\w+/(\w+)/", re.MULTILINE)


def clean_instruction(text: str) -> str:
    """Returns an instruction without comments, and with a name for its target."""
    return TARGET.sub(r"\1 somewhere", COMMENT.sub("", text)).replace("\t", " ")


def build(out: Path, functions: Iterable[str], objects: Iterable[Path]) -> Path:
    """Builds a program at fixed addresses that contains these functions."""
    program = out / "call"
    flags = ["-std=gnu11", "-O2", "-static", "-no-pie", "-Wall", "-Wextra"]
    wanted = [f"-Wl,-u,{name}" for name in functions]
    run(f"{CROSS}gcc", *flags, "-o", program, HERE / "call.c", *wanted, *objects)
    return program


class Emulator:
    """Calls functions of a program on a CPU with vectors of a given length."""

    def __init__(self, program: Path, vector_bits: int) -> None:
        self.program = program
        self.listing = read_listing(program, CROSS, clean_instruction)
        size = vector_bits // 8
        vectors = f"max,sve-max-vq={size // 16},sve-default-vector-length={size}"
        self.command = [QEMU, "-cpu", vectors, "-singlestep", "-d", "exec,nochain"]

    def paths(self, calls: list[Call], inside: Iterable[str]) -> list[list[Instruction]]:
        """Returns the instructions of the functions `inside` that each call executes."""
        parts = [self.listing.code_of(name) for name in (BEGIN, *inside)]
        ranges = [f"0x{min(part):x}..0x{max(part):x}" for part in parts]
        code = {at: one for part in parts for at, one in part.items()}
        begin = self.listing.symbols[BEGIN]
        paths: list[list[Instruction]] = []
        for at in self.trace(calls, ",".join(ranges)):
            if at == begin:
                paths.append([])
            else:
                paths[-1].append(code[at])
        if len(paths) != len(calls):
            raise PathError(f"{QEMU} made {len(paths)} calls of {len(calls)}")
        return paths

    def trace(self, calls: list[Call], ranges: str) -> Iterable[int]:
        """Yields the executed addresses within these ranges."""
        symbols, lines = self.listing.symbols, []
        for call in calls:
            words = [symbols[call.function], *call.arguments(symbols)]
            lines.append(" ".join(f"{word:x}" for word in words) + "\n")
        command = [*self.command, "-dfilter", ranges, str(self.program)]
        try:
            done = subprocess.run(
                command, input="".join(lines), capture_output=True, text=True, timeout=SECONDS
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PathError(str(error)) from error
        if done.returncode:
            raise PathError(f"{QEMU}: {done.stderr.strip()[-200:]}")
        return (int(found, 16) for found in TRACE.findall(done.stderr))
