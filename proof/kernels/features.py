# SPDX-License-Identifier: MIT
"""Checks that a kernel of x86-64 needs no CPU feature that its row in the table does not name.

CPUs raise #UD for an instruction that they lack.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from digest import SOURCES, TABLES
from image import Instruction
from number import Unproven
from processor import Vector
from x86_64 import PREFIX_BYTES, Decoded, Mask, decode

HEADER = SOURCES.parent / "include/carry/features.def"
FEATURE = re.compile(r"CARRY_FEATURE\(x86_64, (\w+), [^\"]*?((?:ON\(\w+\)[ |]*|NOTHING)+), \"")
ROW = re.compile(r"^CARRY_\w+_KERNEL\((?:any|x86_64), (\w+), ([^,]*),", re.MULTILINE)
ON = re.compile(r"ON\((\w+)\)")
EVEX, VEX = (0x62,), (0xC4, 0xC5)
BMI2 = ("bzhi", "shlx", "rorx")
# Features of instructions that not every x86-64 CPU has, by the start of their names.
BY_NAME = {"crc32": "sse42", "pclmul": "pclmulqdq"}
# The names in /proc/cpuinfo of features whose names differ there.
LINUX = {"avxvnni": "avx_vnni", "avx512vnni": "avx512_vnni", "sse42": "sse4_2"}


def built_on() -> dict[str, set[str]]:
    """Returns the features that each feature requires."""
    return {name: set(ON.findall(on)) for name, on in FEATURE.findall(HEADER.read_text())}


def with_all_below(names: Iterable[str]) -> set[str]:
    below, found, waiting = built_on(), set[str](), list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += below[name]
    return found


def of_row(function: str) -> set[str]:
    """Returns the features that the row of a kernel names, and all that they build on; no features
    if there is no row."""
    for table, forms in TABLES.items():
        for name, on in ROW.findall((SOURCES / table).read_text()):
            if function in [f"carry_{form}_{name}" for form in forms]:
                return with_all_below(ON.findall(on))
    return set()


def of_instruction(i: Instruction) -> set[str]:
    """Returns the features that a CPU needs for an instruction, if the prover knows its meaning."""
    d = decode(i)
    first = i.code.lstrip(PREFIX_BYTES)[:1]
    if first and first[0] in EVEX:
        return of_evex(d)
    if any(isinstance(o, Mask) for o in d.operands):
        return {"avx512bw"}
    if first and first[0] in VEX:
        if d.name == "vpdpwssd":
            return {"avxvnni"}
        return {"bmi2"} if d.name in BMI2 else {"avx2"}
    return {feature for start, feature in BY_NAME.items() if d.name.startswith(start)}


def of_evex(d: Decoded) -> set[str]:
    """Returns the features of an instruction with EVEX; vectors below 512 bits need AVX512VL."""
    wide = any(isinstance(o, Vector) and o.width == 64 for o in d.operands)
    kind = {"avx512vnni"} if d.name == "vpdpwssd" else {"avx512bw"}
    return kind if wide else kind | {"avx512vl"}


def check_features(function: str, code: Mapping[int, Instruction]) -> None:
    """Raises Unproven if a kernel needs a feature that its row does not name."""
    named = of_row(function)
    for i in code.values():
        try:
            lacking = of_instruction(i) - named
        except Unproven:
            continue  # its meaning is unknown, so the proof fails if an execution reaches it
        for feature in sorted(lacking):
            raise Unproven(f"needs {feature}, which its row does not name: {i.text}")


def missing(function: str) -> list[str]:
    """Returns the features of a row that this CPU lacks, by their names in Linux."""
    needed = {LINUX.get(name, name) for name in of_row(function)}
    return sorted(needed - of_this_cpu())


def of_this_cpu() -> set[str]:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return set(line.split(":")[1].split())
    return set()
