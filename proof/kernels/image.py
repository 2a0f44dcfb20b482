# SPDX-License-Identifier: MIT
"""Reads the code of a function from a linked file, decoded by objdump."""

from __future__ import annotations

import functools
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection
from number import Unproven

OBJDUMP = {"EM_X86_64": "objdump", "EM_AARCH64": "aarch64-linux-gnu-objdump"}
LINE = re.compile(r"^\s*([0-9a-f]+):\t([0-9a-f ]+?)\s*(?:\t(.*))?$")


@dataclass(frozen=True)
class Instruction:
    """One instruction, with the text that objdump prints: in Intel's syntax on x86-64."""

    address: int
    code: bytes
    text: str

    @property
    def after(self) -> int:
        return self.address + len(self.code)


class Image:
    """A linked file: its functions and its constants."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.read: set[tuple[int, int]] = set()  # addresses and sizes of read constants
        with path.open("rb") as file:
            elf: Any = ELFFile(file)
            if not elf.little_endian:
                raise Unproven(f"{path.name} is big-endian, and the meanings are not")
            self.machine: str = elf["e_machine"]
            self.constants: list[tuple[int, bytes]] = [
                (s["sh_addr"], s.data())
                for s in elf.iter_sections()
                if s["sh_flags"] & 2 and not s["sh_flags"] & 1 and s["sh_type"] == "SHT_PROGBITS"
            ]
            self.functions = {
                symbol.name: (symbol["st_value"], symbol["st_size"])
                for table in elf.iter_sections()
                if isinstance(table, SymbolTableSection)
                for symbol in table.iter_symbols()
                if symbol["st_info"]["type"] == "STT_FUNC" and symbol["st_value"]
            }

    def constant(self, address: int, size: int) -> bytes | None:
        """Returns the bytes at an address, or None unless they are constant."""
        for start, content in self.constants:
            if start <= address and address + size <= start + len(content):
                self.read.add((address, size))
                return content[address - start : address - start + size]
        return None

    def function_at(self, address: int) -> str | None:
        return self.names.get(address)

    @functools.cached_property
    def names(self) -> dict[int, str]:
        return {start: name for name, (start, _) in self.functions.items()}

    def instructions(self, name: str) -> dict[int, Instruction]:
        """Returns the instructions of a function, by address."""
        start, size = self.functions[name]
        command = [OBJDUMP[self.machine], "-d", "-w", "-M", "intel"]
        if self.machine != "EM_X86_64":
            command = command[:3]
        command += [f"--start-address={start}", f"--stop-address={start + size}", str(self.path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found = (LINE.match(line) for line in done.stdout.splitlines())
        return {
            int(m[1], 16): Instruction(int(m[1], 16), self.bytes_of(m[2]), (m[3] or "").strip())
            for m in found
            if m
        }

    def bytes_of(self, digits: str) -> bytes:
        """Converts the digits of objdump to bytes. It shows x86 code as bytes, and Arm code as
        words, whose bytes are reversed."""
        if self.machine == "EM_X86_64":
            return bytes.fromhex(digits)
        return bytes.fromhex(digits)[::-1]
