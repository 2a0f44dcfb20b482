# SPDX-License-Identifier: MIT
"""Unwinds from each instruction of the thunks of AArch64: an emulator steps through stepped.c. The
caller according to the CFI is compared with the actual caller."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import C11, EMULATOR, FOLDER, call

X29, X30, SP, PC = 29, 30, 31, 32
REGISTERS = 33
THUNKS = ["enter", "around", "enter_whole", "around_whole"]


class Debugger:
    """Controls a program under QEMU by the remote protocol of GDB (its manual, appendix E)."""

    def __init__(self, program: Path, cpu: str, place: Path) -> None:
        self.server = socket.socket(socket.AF_UNIX)
        words = [*EMULATOR, "-cpu", cpu, "-g", str(place), str(program)]
        self.process = subprocess.Popen(words)
        self.stub = self.connect(place)

    def connect(self, place: Path) -> socket.socket:
        while self.process.poll() is None:
            try:
                self.server.connect(str(place))
            except (FileNotFoundError, ConnectionRefusedError):
                continue
            return self.server
        raise AssertionError("the emulator ended before it was asked")

    def ask(self, text: str) -> str:
        """Sends one packet, and returns the answer."""
        self.stub.sendall(f"${text}#{sum(text.encode()) % 256:02x}".encode())
        answer = b""
        while not re.search(rb"\$[^#]*#..", answer):
            part = self.stub.recv(65536)
            assert part, "the emulator ended"
            answer += part
        self.stub.sendall(b"+")
        found = re.search(rb"\$([^#]*)#", answer)
        assert found
        return found[1].decode()

    def registers(self) -> list[int]:
        data = bytes.fromhex(self.ask("g")[: 16 * REGISTERS])
        return [int.from_bytes(data[i : i + 8], "little") for i in range(0, len(data), 8)]

    def word(self, address: int) -> int:
        return int.from_bytes(bytes.fromhex(self.ask(f"m{address:x},8")), "little")

    def run_to(self, address: int) -> list[int]:
        self.ask(f"Z0,{address:x},4")
        self.ask("c")
        self.ask(f"z0,{address:x},4")
        registers = self.registers()
        assert registers[PC] == address
        return registers

    def close(self) -> None:
        self.ask("k")  # kill: the emulator exits when its answer is received
        self.process.wait()
        self.server.close()


class Rules:
    """The rules of the CFI for the CFA, x29 and the return address, by their first address."""

    def __init__(self, program: Path) -> None:
        self.rows: list[tuple[int, int, dict[str, str]]] = []
        end, columns = 0, []
        for line in call("readelf", "--wide", "--debug-dump=frames-interp", program).splitlines():
            if found := re.search(r" FDE .*pc=\w+\.\.(\w+)", line):
                end = int(found[1], 16)
            elif line.lstrip().startswith("LOC"):
                columns = line.split()[1:]
            elif re.match(r"[0-9a-f]{16} ", line) and " FDE " not in line and " CIE " not in line:
                start, *values = re.sub(r" \((\w+)\)", "", line).split()
                if end:
                    self.rows.append(
                        (int(start, 16), end, dict(zip(columns, values, strict=False)))
                    )

    def at(self, address: int) -> dict[str, str]:
        known = [row for row in self.rows if row[0] <= address < row[1]]
        assert known, f"no CFI at {address:#x}"
        return max(known, key=lambda row: row[0])[2]


def caller_of(debugger: Debugger, registers: list[int], rule: dict[str, str]) -> tuple[int, ...]:
    """Returns the stack pointer, x29 and the program counter of the caller."""
    base, offset = re.fullmatch(r"(\w+)\+(\d+)", rule["CFA"]).groups()
    cfa = registers[SP if base == "sp" else int(base[1:])] + int(offset)

    def value(name: str, register: int) -> int:
        text = rule.get(name, "u")
        if text.startswith("c"):
            return debugger.word(cfa + int(text[1:]))
        return registers[int(text[1:]) if text.startswith("r") else register]

    return cfa, value("x29", X29), value("ra", X30)


def symbols(program: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for line in call("nm", "--print-size", program).splitlines():
        if len(words := line.split()) == 4:
            found[words[3]] = (int(words[0], 16), int(words[0], 16) + int(words[1], 16))
    return found


@pytest.fixture(params=["cortex-a53", "max,sve-max-vq=2"])
def debugger(
    request: pytest.FixtureRequest, core: Path, tmp_path: Path
) -> Iterator[tuple[Debugger, Path]]:
    program = tmp_path / "stepped"
    sources = [FOLDER / "stepped.c", "-x", "none", core / "carry.o"]
    call("aarch64-linux-gnu-gcc", "-O2", *C11, "-fno-pie", "-static", *sources, "-o", program)
    debugger = Debugger(program, request.param, tmp_path / "gdb")
    yield debugger, program
    debugger.close()


class Stepper:
    """Steps through a call, from the start of a function to its return."""

    def __init__(self, debugger: Debugger, program: Path) -> None:
        self.debugger = debugger
        self.rules, self.texts = Rules(program), symbols(program)
        self.stepped: set[int] = set()

    def lies_in(self, address: int, *names: str) -> bool:
        return any(low <= address < high for low, high in map(self.texts.__getitem__, names))

    def step_through(self, name: str, *texts: str) -> list[int]:
        """Returns the instructions of the functions `name` and `texts` from which unwinding
        fails."""
        wrong = []
        registers = self.debugger.run_to(self.texts[name][0])
        caller = registers[SP], registers[X29], registers[X30]
        while registers[PC] != caller[2]:
            at = registers[PC]
            if self.lies_in(at, name, *texts):
                found = caller_of(self.debugger, registers, self.rules.at(at))
                if name.startswith("by_around") and self.lies_in(at, "thunk_go"):  # the callee
                    right = self.lies_in(found[2], *texts) and found[0] == registers[SP]
                else:
                    right = found == caller
                wrong += [] if right else [at]
                self.stepped.add(at)
            self.debugger.ask("s")
            registers = self.debugger.registers()
        return wrong


def test_each_instruction(debugger: tuple[Debugger, Path]) -> None:
    """A debugger finds the caller from each instruction of a thunk."""
    stepper = Stepper(*debugger)
    wrong = stepper.step_through("by_wrong")
    assert len(wrong) == 1, "the mutant is not caught"
    for name in THUNKS:
        wrong = stepper.step_through(f"by_{name}", f"carry_thunk_{name}", "thunk_go")
        assert not wrong, f"{name}: {[(hex(at), stepper.rules.at(at)) for at in wrong]}"
    assert len(stepper.stepped) > 400
