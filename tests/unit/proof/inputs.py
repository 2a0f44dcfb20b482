# SPDX-License-Identifier: MIT
"""Finds inputs for which a function for sums, refuted by the prover, fails."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
from collections.abc import Callable, Iterator

from meanings import Arena
from number import Unproven

SEEDS = (0, 1, 0xFFFF, 0x10000, 0xFFFFFFFF)
Sum = Callable[[int, int, int], int]  # arguments: the address of the data, their size, and a seed


def call_at(address: int) -> Sum:
    kind = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32)
    return kind(address)


def contents(size: int) -> Iterator[bytes]:
    """Generates data: extreme words, which reveal lost carries; then single bytes, which reveal
    wrong positions."""
    yield b"\xff" * size
    yield b"\0" * size
    yield b"\xff\x7f" * (size // 2) + b"\x80" * (size % 2)
    for at in {*range(min(size, 8)), *range(max(size - 8, 0), size)}:
        yield b"\0" * at + b"\x81" + b"\0" * (size - at - 1)


def total(content: bytes) -> int:
    even = content + b"\0" * (len(content) % 2)
    return sum(struct.unpack(f"<{len(even) // 2}H", even))


def is_wrong(result: int, expected: int) -> bool:
    return result % 0xFFFF != expected % 0xFFFF or (result == 0) != (expected == 0)


def sums_wrongly(function: Sum, error: Unproven) -> bool:
    """Returns whether the function fails for an input that takes the refuted execution."""
    rest, modulus = error.start
    for size in error.sizes or (0, 1, 2, 3, 8, 17):
        arena = Arena(size + 2 * modulus)
        end = arena.base + arena.room - size
        address = arena.base if "before" in str(error) else end - (end - rest) % modulus
        for content in contents(size):
            ctypes.memmove(address, content, size)
            words = total(content)
            for seed in SEEDS:
                if is_wrong(function(address, size, seed), words + seed):
                    return True
    return False


def outcome(function: Callable[[], Sum], error: Unproven) -> str:
    """Returns "right", "wrong" or "faults" for a function that a child process loads."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os._exit(int(sums_wrongly(function(), error)))
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return "faults"
    return ("right", "wrong")[os.WEXITSTATUS(status)]
