# SPDX-License-Identifier: MIT
"""Finds instructions of x86-64 with an encoding that assemblers do not produce.

objdump decodes more than CPUs do: it shows VZEROUPPER with a prefix 66, or a store with EVEX.z,
though CPUs raise #UD for them. Therefore the text of objdump is assembled again, and must give the
same bytes.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from elftools.elf.elffile import ELFFile
from image import Instruction

ASSEMBLER = ["as", "--64", "-msyntax=intel", "-mnaked-reg"]
SLOT = 16  # the longest instruction has 15 bytes
FILL = 0xCC
MOVS = "movs BYTE PTR es:[rdi],BYTE PTR ds:[rsi]"  # the assembler would add a prefix
ERROR = re.compile(r"^.*?:(\d+): Error:", re.MULTILINE)
# Instructions whose targets are addresses, or whose operands have no effect.
NOT_COMPARED = re.compile(r"(cs |ds |data16 )*(nop|xchg\s+ax,ax)|j|call|notrack|loop")
WIDE = re.compile(rb"([\x40-\x4f]?)\x81([\xc0-\xff])....", re.DOTALL)  # with a register
SEGMENTS = b"\x2e\x3e"  # prefixes without effect in 64-bit code, used as padding


def unusual(code: Mapping[int, Instruction]) -> set[int]:
    """Returns the addresses of instructions that assemble to other bytes."""
    compared = [i for i in code.values() if not NOT_COMPARED.match(i.text)]
    # Assemblers accept `data16` before all instructions.
    slots = assembled([plain(i) if not i.text.startswith("data16") else "" for i in compared])
    return {
        i.address
        for i, slot in zip(compared, slots, strict=True)
        if slot != shortest(i.code.lstrip(SEGMENTS)).ljust(SLOT, bytes([FILL]))
    }


def shortest(code: bytes) -> bytes:
    """Shortens a constant of four bytes to one byte if it fits: assemblers use the long form to
    pad."""
    found = WIDE.fullmatch(code)
    value = int.from_bytes(code[-4:], "little", signed=True)
    if not found or not -0x80 <= value < 0x80:
        return code
    return found[1] + b"\x83" + found[2] + code[-4:-3]


def plain(i: Instruction) -> str:
    """Returns the text of an instruction without comments, symbols and prefixes that pad."""
    text = re.sub(r"\s*(#.*|<.*>)", "", i.text)
    text = text.replace(MOVS, "movsb")
    return re.sub(r"^([cd]s )+", "", text)


def assembled(texts: list[str]) -> list[bytes]:
    """Returns the bytes of each text, padded to a slot; no bytes for texts that do not assemble."""
    if not texts:
        return []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "code.o"
        errors = assemble(texts, path)
        if errors:
            kept = ["nop" if n in errors else text for n, text in enumerate(texts)]
            assert not assemble(kept, path)
        with path.open("rb") as file:
            content = ELFFile(file).get_section_by_name(".text").data()
    slots = (content[SLOT * n : SLOT * (n + 1)] for n in range(len(texts)))
    return [b"" if n in errors else slot for n, slot in enumerate(slots)]


def assemble(texts: Iterable[str], path: Path) -> set[int]:
    """Returns the indices of the texts with errors."""
    lines = [f".balign {SLOT}, {FILL}; {text}; .balign {SLOT}, {FILL}" for text in texts]
    source = "\n".join([*lines, ""])
    command = [*ASSEMBLER, "-o", str(path), "-"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, input=source)
    errors = {int(n) - 1 for n in ERROR.findall(done.stderr)}
    if done.returncode and not errors:
        done.check_returncode()
    return errors
