# SPDX-License-Identifier: MIT
"""Computes cycles of calls from executed instructions, by llvm-mca's models of CPUs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass

from model.path import Call, Instruction

SECONDS = 300
INSTRUCTIONS = 4000  # in all turns of a path: enough to reach its steady state
TURNS_MIN = 4


class ModelError(Exception):
    """Reports that llvm-mca is missing, or why it refused its input."""


@dataclass(frozen=True)
class Cpu:
    """A CPU of which LLVM has a model.

    `llvm` is the first version with this model: older versions use the model of another CPU. If
    `serial`, the model makes all operands of an instruction wait for the operand in memory, and
    makes a register that an instruction clears wait for its previous value. CPUs do neither.
    Therefore loads become separate instructions, and registers are cleared by copying a register
    that never changes.
    """

    name: str
    title: str
    llvm: int
    features: frozenset[str]  # of include/carry/features.def, as far as kernels need them
    serial: bool = False
    arch: str = "x86_64"
    vector_bits: int = 128  # of SVE or NEON; only for AArch64


AVX2 = frozenset({"avx2", "bmi2", "erms"})
AVX512 = AVX2 | {"avx512vl"}
VNNI = AVX512 | {"avx512vnni"}

CPUS = (
    Cpu("cascadelake", "Cascade Lake", 14, VNNI),  # the same model as Skylake-SP
    Cpu("icelake-server", "Ice Lake-SP", 14, VNNI),
    Cpu("sapphirerapids", "Sapphire Rapids", 17, VNNI | {"avxvnni"}, serial=True),
    Cpu("alderlake", "Alder Lake P", 16, AVX2 | {"avxvnni"}, serial=True),
    Cpu("znver2", "Zen 2", 14, AVX2),
    Cpu("znver3", "Zen 3", 14, AVX2),
    Cpu("znver4", "Zen 4", 16, VNNI),
)

# Without PMULL for the Cortex-A72, since the Raspberry Pi 4 lacks it.
CRC32 = frozenset({"neon", "crc32"})
NEON = CRC32 | {"pmull"}
SVE = NEON | {"sve"}
SVE2 = SVE | {"sve2"}

ARM_CPUS = (
    Cpu("cortex-a72", "Cortex-A72", 17, CRC32, arch="aarch64"),  # the same model as Cortex-A57
    Cpu("neoverse-n1", "Neoverse N1", 17, NEON, arch="aarch64"),
    Cpu("neoverse-v1", "Neoverse V1", 17, SVE, arch="aarch64", vector_bits=256),
    Cpu("neoverse-n2", "Neoverse N2", 17, SVE2, arch="aarch64"),
    Cpu("neoverse-v2", "Neoverse V2", 17, SVE2, arch="aarch64"),
    Cpu("apple-m1", "Apple M1", 17, NEON, arch="aarch64"),  # the same model as Cyclone
)


def find_programs() -> dict[int, str]:
    """Returns the programs on the PATH, by version."""
    names = ["llvm-mca", *(f"llvm-mca-{version}" for version in range(14, 40))]
    found = {}
    for program in filter(None, map(shutil.which, names)):
        said = subprocess.run([program, "--version"], capture_output=True, text=True).stdout
        if version := re.search(r"LLVM version (\d+)", said):
            found[int(version[1])] = program
    return found


# --- Input ---

SUM = ["leaq 4096(%r15), %rdi", "movl ${size}, %esi", "xorl %edx, %edx"]
COPY = ["movl $8192, %edi", "leaq 4096(%r15), %rsi", "movl ${size}, %edx"]
ARM_SUM = ["add x0, x19, #1, lsl #12", "mov x1, #{size}", "mov w2, #0"]
ARM_COPY = ["mov x0, #8192", "add x1, x19, #1, lsl #12", "mov x2, #{size}"]
START = {
    "x86_64": {
        "sum": SUM,
        "crc32c": SUM,
        "sum_copy": [*COPY, "xorl %ecx, %ecx"],
        "copy": COPY,
    },
    "aarch64": {
        "sum": ARM_SUM,
        "crc32c": ARM_SUM,
        "sum_copy": [*ARM_COPY, "mov w3, #0"],
        "copy": ARM_COPY,
    },
}
# Makes the address of the next call wait for this sum.
WAIT = {
    "x86_64": ["andq %r14, %rax", "movq %rax, %r15"],
    "aarch64": ["and x0, x0, x20", "mov x19, x0"],
}
COMMENT = {"x86_64": "#", "aarch64": "//"}


# An instruction with a source in memory and one in a register.
LOADS = re.compile(
    r"((?:\{vex\} )?(?:v\w+|add|adc|and|or|xor|sub|sbb|imul)\w*) +([^,%$]*\([^)]*\)), *(.*)"
)
CLEARED = re.compile(r"(xor|vpxord?|vpcmpeq\w) +(%\w+),(%\w+)(?:,(%\w+))?")


def split(text: str, spare: int) -> list[str]:
    """Splits an instruction into a load and an operation; the vector register `spare` is free."""
    found = LOADS.fullmatch(text)
    if not found:
        return [text]
    operation, memory, others = found.groups()
    width = re.search(r"%([xyz])mm", others)
    if not width:
        free = "%r13" if re.fullmatch(r"%r(..|8|9|1\d)", others) else "%r13d"
        return [f"mov {memory}, {free}", f"{operation} {free}, {others}"]
    if "," not in others:  # the load's value is its only source
        return [text]
    free = f"%{width[1]}mm{spare}"
    load = "vmovdqu64" if width[1] == "z" else "vmovdqu"
    return [f"{load} {memory}, {free}", f"{operation} {free}, {others}"]


def clear(text: str, spare: int) -> str:
    """Returns an instruction that does not wait for the old value of a register that it clears."""
    found = CLEARED.fullmatch(text)
    if not found or len({*filter(None, found.groups()[1:])}) > 1:
        return text
    operation, register = found[1], found[2]
    if not found[4]:
        return f"mov $0, {register}"
    free = f"{register[:4]}{spare}"
    return f"{operation} {free}, {free}, {register}"


def spare_vector(path: Iterable[Instruction]) -> int:
    used = {int(n) for one in path for n in re.findall(r"%[xyz]mm(\d+)", one.text)}
    return next(n for n in range(16) if n not in used)


@dataclass(frozen=True)
class Region:
    """The instructions of one call, and of setting its arguments."""

    call: Call
    waits: bool
    path: tuple[Instruction, ...]

    @property
    def turns(self) -> int:
        return max(TURNS_MIN, INSTRUCTIONS // len(self.path))

    def assembly(self, cpu: Cpu) -> str:
        """Returns the assembly. A NOP replaces `endbr64`: models of Zen treat it as a system
        call."""
        start = START[cpu.arch][self.call.work]
        start = [line.replace("{size}", str(self.call.size)) for line in start]
        code = [one.text for one in self.path if not one.text.startswith("ret")]
        code = ["nop" if text == "endbr64" else text for text in code]
        if cpu.serial:
            spare = spare_vector(self.path)
            code = [part for text in code for part in split(clear(text, spare), spare)]
        return "\n".join([*start, *code, *(WAIT[cpu.arch] if self.waits else [])])


def total_cycles(program: str, cpu: Cpu, regions: list[Region], turns: int) -> list[int]:
    mark = f"{COMMENT[cpu.arch]} LLVM-MCA"
    texts = (
        f"{mark}-BEGIN {at}\n{one.assembly(cpu)}\n{mark}-END\n" for at, one in enumerate(regions)
    )
    command = [program, f"-mtriple={cpu.arch}-linux-gnu", f"-mcpu={cpu.name}"]
    command += ["-mattr=+aes"] if "pmull" in cpu.features else []  # LLVM does not imply it
    command += [f"-iterations={turns}", "-json", "-"]
    done = subprocess.run(
        command, input="".join(texts), capture_output=True, text=True, timeout=SECONDS
    )
    if done.returncode or "error:" in done.stderr:  # older versions print errors, and continue
        raise ModelError(done.stderr)
    found = json.loads(done.stdout[done.stdout.index("{") :])
    return [one["SummaryView"]["TotalCycles"] for one in found["CodeRegions"]]


def cycles(program: str, cpu: Cpu, regions: Iterable[Region]) -> dict[Region, float]:
    """Returns the cycles that each further turn of a region adds after many turns."""
    by_turns: dict[int, list[Region]] = {}
    for region in regions:
        by_turns.setdefault(region.turns, []).append(region)
    result = {}
    for turns, some in by_turns.items():
        first, second = (total_cycles(program, cpu, some, n) for n in (turns, 2 * turns))
        result |= {one: (b - a) / turns for one, a, b in zip(some, first, second, strict=True)}
    return result
