# SPDX-License-Identifier: MIT
"""Records which instructions a call of a given size executes: step.c executes it step by step.

Vector instructions are skipped, so the CPU need not have them. They process only data, and the path
of a call depends only on its size and addresses.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS = 60

VECTOR = re.compile(r"%[xyz]mm\d|%k[0-7]|^(\{\w+\} )?vzero")
LINE = re.compile(r"^ *([0-9a-f]+):\t((?:(?:[0-9a-f]{2}){1,4} )+) *\t?(.*)$")
PADDING = re.compile(r"^(?:(?:cs|ds|es|ss|data16) )+")  # prefixes that only lengthen
LABEL = re.compile(r"^([0-9a-f]+) <(\S+)>:$")


class PathError(Exception):
    """Reports why a call could not be executed, or that it left the known functions."""


@dataclass(frozen=True)
class Instruction:
    text: str
    size: int

    @property
    def is_vector(self) -> bool:
        return bool(VECTOR.search(self.text))


@dataclass
class Listing:
    """The output of objdump for a program."""

    symbols: dict[str, int] = field(default_factory=dict)
    functions: dict[int, dict[int, Instruction]] = field(default_factory=dict)

    def code_of(self, name: str) -> dict[int, Instruction]:
        try:
            return self.functions[self.symbols[name]]
        except KeyError:
            raise PathError(f"no function {name}") from None


def run(*command: str | Path, text: str | None = None) -> str:
    try:
        done = subprocess.run(
            list(map(str, command)), input=text, capture_output=True, text=True, timeout=SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PathError(str(error)) from error
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise PathError(f"{Path(command[0]).name}: {lines[0]}")
    return done.stdout


def clean_instruction(text: str) -> str:
    """Returns an instruction without comments and padding, and with a name for its target."""
    words = re.sub(r" *(#|<).*", "", text).strip()
    words = PADDING.sub("", words)
    return re.sub(r"^((?:\w+ )*j\w+|call) +[0-9a-f]+$", r"\1 somewhere", words)


def parse_listing(text: str, show: Callable[[str], str] = clean_instruction) -> Listing:
    listing = Listing()
    code: dict[int, Instruction] = {}
    for line in text.splitlines():
        if label := LABEL.match(line):
            code = listing.functions.setdefault(int(label[1], 16), {})
        elif found := LINE.match(line):
            size = len(found[2].replace(" ", "")) // 2
            code[int(found[1], 16)] = Instruction(show(found[3]), size)
    return listing


def read_listing(
    program: Path, tools: str = "", show: Callable[[str], str] = clean_instruction
) -> Listing:
    """Reads the listing of a program by the binutils whose names begin with `tools`."""
    listing = parse_listing(run(f"{tools}objdump", "-d", "-w", program), show)
    for line in run(f"{tools}nm", program).splitlines():
        *address, _, name = line.split()
        if address:
            listing.symbols[name] = int(address[0], 16)
    return listing


def build(out: Path, functions: Iterable[str], objects: Iterable[Path]) -> Path:
    """Builds a program at fixed addresses that contains these functions."""
    program = out / "step"
    flags = ["-std=gnu11", "-O2", "-mno-red-zone", "-static", "-no-pie", "-Wall", "-Wextra"]
    wanted = [f"-Wl,-u,{name}" for name in functions]
    run("gcc", *flags, "-o", program, HERE / "step.c", *wanted, *objects)
    return program


@dataclass(frozen=True)
class Function:
    title: str
    symbol: str
    needs: frozenset[str]  # features of include/carry/features.def


@dataclass(frozen=True)
class Call:
    function: str
    work: str  # sum, crc32c, sum_copy, copy
    size: int
    offset: int = 0

    def arguments(self, symbols: dict[str, int]) -> list[int]:
        source, target = symbols["source"] + self.offset, symbols["target"]
        data = [source] if self.work in ("sum", "crc32c") else [target, source]
        return [*data, self.size, 0, 0][:4]


class Stepper:
    """Executes calls of functions of a program step by step."""

    def __init__(self, program: Path, functions: Iterable[str]) -> None:
        self.program = program
        self.listing = read_listing(program)
        self.code: dict[int, Instruction] = {}
        for name in functions:
            self.code |= self.listing.code_of(name)
        self.skipped = {at: one for at, one in self.code.items() if one.is_vector}
        inside = (range(at + 1, at + one.size) for at, one in self.skipped.items())
        self.passed_over = {*chain.from_iterable(inside), *self.listing.code_of("call_stepped")}

    def paths(self, calls: list[Call]) -> list[list[Instruction]]:
        lines = [f"skip {at:x} {one.size:x} 0 0 0\n" for at, one in self.skipped.items()]
        for call in calls:
            words = [self.listing.symbols[call.function], *call.arguments(self.listing.symbols)]
            lines.append(f"call {' '.join(f'{word:x}' for word in words)}\n")
        answers = run(self.program, text="".join(lines)).splitlines()
        return [self.path(call, answer) for call, answer in zip(calls, answers, strict=True)]

    def path(self, call: Call, answer: str) -> list[Instruction]:
        path: list[Instruction] = []
        last = None
        for step in (int(word, 16) for word in answer.split()):
            if step not in self.code and step not in self.passed_over:
                raise PathError(f"{call}: executes {step:x}, of a function that was not named")
            if step in self.code and step != last:  # a repeated string instruction counts once
                path.append(self.code[step])
            last = step
        return path
