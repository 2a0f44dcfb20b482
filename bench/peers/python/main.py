# SPDX-License-Identifier: MIT
"""Runs the peers in Python: answers questions as ../../CONTRACT.md describes.

usage: main.py MODULE... WORK
"""

from __future__ import annotations

import importlib
import mmap
import platform
import resource
import sys
import time
from array import array
from collections.abc import Callable
from pathlib import Path

# Peers take a packet and return its checksum, as a number read in network order.
Sum = Callable[[bytes], int]

MIX_CALLS = 1 << 17
MEMORY_BYTES = 1 << 30  # a limit: dpkt needs 20 times the memory of a packet
CANARY_TURNS = 20  # these take as long as 2,000 turns in the other languages
CANARY_TRIES = 5
MASK = (1 << 64) - 1


class QuestionError(Exception):
    """Reports that a question cannot be answered."""


def floor(packet: bytes) -> int:
    return len(packet)


def multiply() -> int:
    a, b, c, d = 1, 2, 3, 4
    start = time.perf_counter_ns()
    for _ in range(CANARY_TURNS):
        a = (a * 0x9E3779B97F4A7C15 + 1) & MASK
        b = (b * 0xBF58476D1CE4E5B9 + 3) & MASK
        c = (c * 0x94D049BB133111EB + 5) & MASK
        d = (d * 0xD6E8FEB86659FD93 + 7) & MASK
    return time.perf_counter_ns() - start


def canary() -> int:
    """Returns the shortest of several times, as calls evict the interpreter from caches."""
    return min(multiply() for _ in range(CANARY_TRIES))


def run_all(function: Sum, packets: list[bytes]) -> int:
    start = time.perf_counter_ns()
    for packet in packets:
        function(packet)
    return time.perf_counter_ns() - start


def run_one(function: Sum, packet: bytes, calls: int) -> int:
    start = time.perf_counter_ns()
    for _ in range(calls):
        function(packet)
    return time.perf_counter_ns() - start


def run_latency(function: Sum, packet: bytes, calls: int) -> int:
    """Times calls whose packet depends on the previous sum, though it is always the same packet."""
    packets = [packet]
    last = 0
    start = time.perf_counter_ns()
    for _ in range(calls):
        last = function(packets[last & 0])
    return time.perf_counter_ns() - start


class Process:
    def __init__(self, modules: list[str], work: Path) -> None:
        peers = [importlib.import_module(name) for name in modules]
        self.sums: dict[str, Sum] = {"floor": floor} | {peer.NAME: peer.SUM for peer in peers}
        self.notes = {f"version-{peer.NAME}": peer.VERSION for peer in peers}
        self.work = work
        with (work / "data").open("rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.mixes: dict[str, array[int]] = {}

    def packet(self, offset: int, size: int) -> bytes:
        """Returns a copy of a packet: peers accept only `bytes`. Python chooses its address."""
        if offset + size > len(self.data):
            raise QuestionError("outside the data")
        return self.data[offset : offset + size]

    def mix(self, name: str, first: int, calls: int) -> list[bytes]:
        if name not in self.mixes:
            try:
                self.mixes[name] = array("I", (self.work / f"mix-{name}").read_bytes())
            except OSError as error:
                raise QuestionError(f"no mode {name}") from error
        table = self.mixes[name]
        rows = (call % MIX_CALLS * 3 for call in range(first, first + calls))
        return [self.packet(table[row], table[row + 2]) for row in rows]

    def function(self, name: str) -> Sum:
        if name not in self.sums:
            raise QuestionError(f"no function {name}")
        return self.sums[name]

    def list(self) -> str:
        functions = (
            f"function {name} sum {'floor' if name == 'floor' else 'seedless'}"
            for name in self.sums
        )
        notes = {"compiler": f"{platform.python_implementation()} {platform.python_version()}"}
        lines = (f"note {key} {text}" for key, text in (notes | self.notes).items())
        return "\n".join([*functions, *lines, "end"])

    def verify(self, name: str) -> str:
        function = self.function(name)
        with (self.work / "vectors").open() as file:
            for line in file:
                offset, _, size, seed, should = map(int, line.split())
                if seed:
                    continue
                try:
                    checksum = function(self.packet(offset, size))
                except MemoryError:
                    return f"wrong {size} more than {MEMORY_BYTES >> 20} MiB of memory"
                ours = int.from_bytes((~checksum & 0xFFFF).to_bytes(2, "big"), "little")
                if ours % 0xFFFF != should % 0xFFFF:
                    return f"wrong {size} wrong sum at offset {offset}"
        return "right"

    def time(self, name: str, mode: str, *numbers: str) -> str:
        function = self.function(name)
        offset, _, size, first, calls = map(int, numbers)
        warm_up = calls // 4
        if mode in ("hot", "latency"):
            run = run_one if mode == "hot" else run_latency
            packet = self.packet(offset, size)
            run(function, packet, warm_up)
            before = canary()
            took = run(function, packet, calls)
        else:
            packets = self.mix(mode, first - warm_up, warm_up + calls)
            run_all(function, packets[:warm_up])
            before = canary()
            took = run_all(function, packets[warm_up:])
        return f"{took} {before} {canary()}"

    def answer(self, line: str) -> str:
        match line.split():
            case ["list"]:
                return self.list()
            case ["verify", name]:
                return self.verify(name)
            case ["time", name, mode, *numbers] if len(numbers) == 5:
                return self.time(name, mode, *numbers)
        return "error what?"


def main() -> None:
    *modules, work = sys.argv[1:]
    process = Process(modules, Path(work))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    for line in sys.stdin:
        try:
            print(process.answer(line), flush=True)
        except (QuestionError, ValueError) as error:
            print(f"error {error}", flush=True)


if __name__ == "__main__":
    main()
