#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds jumps and returns in x86-64 objects that cross, or end at, a boundary of 32 bytes.

usage: check_jumps.py OBJECT_OR_ARCHIVE...

Intel's CPUs from Skylake to Comet Lake decode such a jump again at each execution (Intel,
"Mitigations for Jump Conditional Code Erratum", 2019). A comparison that fuses with the jump after
it counts as part of that jump. Exit status: 1 if there is such a jump, or no jump at all; else 0.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import NamedTuple

LINE_BYTES = 32
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
INSTRUCTION = re.compile(
    r"^\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*\t(?:(?:cs|ds|bnd|notrack) )*(\S+)\s*(.*)$"
)
FUSES = re.compile(r"(cmp|test|and|add|sub|inc|dec)[bwlq]?$")


class Instruction(NamedTuple):
    function: str
    start: int
    end: int
    name: str
    operands: str


def instructions(path: str) -> Iterator[Instruction]:
    listing = ["objdump", "-d", "--wide", "--insn-width=16", path]
    lines = subprocess.run(listing, check=True, stdout=subprocess.PIPE, text=True).stdout
    function = "?"
    for line in lines.splitlines():
        if match := FUNCTION.match(line):
            function = match[1]
        elif match := INSTRUCTION.match(line):
            start = int(match[1], 16)
            yield Instruction(function, start, start + len(match[2].split()), match[3], match[4])


def fuses(first: Instruction, jump: Instruction) -> bool:
    """Checks whether two instructions fuse. A comparison of memory with an immediate value does
    not (Intel, optimization manual, "macro-fusion")."""
    is_conditional = jump.name.startswith("j") and not jump.name.startswith("jmp")
    number_and_memory = first.operands.startswith("$") and "(" in first.operands
    same = first.function == jump.function and first.end == jump.start
    return same and is_conditional and bool(FUSES.match(first.name)) and not number_and_memory


def touches(start: int, end: int) -> bool:
    return start // LINE_BYTES != (end - 1) // LINE_BYTES or end % LINE_BYTES == 0


def found(path: str) -> Iterator[str]:
    before = Instruction("", 0, 0, "", "")
    for here in instructions(path):
        if here.name.startswith(("j", "ret")):
            start = before.start if fuses(before, here) else here.start
            if touches(start, here.end):
                yield f"{path}: {here.function}: {here.name} at {here.start:#x}"
        before = here


def main() -> int:
    count = 0
    problems = []
    for path in sys.argv[1:]:
        problems += found(path)
        count += sum(1 for here in instructions(path) if here.name.startswith(("j", "ret")))
    if not count:
        problems.append("no jump was found at all")
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{count} jumps and returns: {len(problems)} touch the end of {LINE_BYTES} bytes")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
