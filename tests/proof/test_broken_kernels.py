# SPDX-License-Identifier: MIT
"""The twins of tests/broken are not proven, for the reason that they are broken for; and where a
sum is wrong or memory is read that is not the data's, an input of that execution fails on the CPU.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import re
import signal
import struct
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

pytest.importorskip("elftools", reason="python3-pyelftools is not installed")
from claims import SUM, Proof
from engine import Engine, Function
from meanings import PAGE, ROOM, ROOT, Arena, Image, Unproven

if platform.machine() != "x86_64":
    pytest.skip("the meanings are those of x86-64", allow_module_level=True)

BROKEN = ROOT / "tests/broken"
ROW = re.compile(r'^BROKEN_SUM\((any|x86_64), (\w+), "\w*", (\w+), "(.*)"\)$', re.MULTILINE)
ROWS = {name: check for _, name, check, _ in ROW.findall((BROKEN / "broken.def").read_text())}
# More than 64 KiB, and few enough for a sum of 64 bits.
CLAIM = replace(SUM, size_max=1 << 30, compiled=True)

# Why each is not proven.
REASONS = {
    "loses_carry": "loses a carry",
    "loses_rare_carry": "depends on what a loop leaves in",
    "forgets_odd_byte": "the byte at 0 is not counted",
    "fails_at_odd_start": "the byte at 1 is counted 1 times",
    "one_byte_too_many": "reads past the end of data, up to end + 1",
    "sign_extends": "loses a carry",
    "ignores_seed": "the result is Summary(inputs=(0,)",
    "cuts_seed": "loses a carry",
    "zero_for_ones": "loses a carry",
    "fails_at_64_kib": "65536 bytes: the byte at 0 is not counted",
    "overflows": "loses a carry",
    "reads_past_end": "reads past the end of data, up to end + 1",
    "reads_whole_words": "reads past the end of data, up to end + ",
    "reads_before": "reads 1 bytes before the start of data",
    "uses_upper_half": "depends on the upper half of sum",
    "trusts_carry_flag": "relies on a carry flag that is not set",
    "trusts_rax": "depends on rax at the call",
    "clobbers_rbx": "clobbers rbx",
    "clobbers_rbp": "clobbers rbp",
    "clobbers_r12": "clobbers r12",
    "clobbers_r15": "clobbers r15",
    "moves_stack": "moves rsp",
    "sets_direction": "touches the direction flag",
    "writes_above": "writes past the end of stack",
    "writes_below": "writes 104 bytes before the start of stack",
    "changes_mxcsr": "touches MXCSR",
    "changes_x87": "touches the x87 control word",
    "forgets_emms": "touches x87 registers",
    "dirty_ymm": "leaves the upper halves of vectors dirty",
    "dirty_zmm": "leaves the upper halves of vectors dirty",
}
# These are not proven either, but the reason is what the prover does not follow.
NOT_FOLLOWED = {
    "ones_for_zeros": "a branch depends on the data",
    "rounds_up": "execution leaves the function",  # to fesetround() of the C library
}
SEEDS = (0, 1, 0xFFFF, 0x10000, 0xFFFFFFFF)


@dataclass(frozen=True)
class Twins:
    path: Path
    image: Image
    library: ctypes.CDLL

    def refute(self, name: str) -> Unproven | None:
        try:
            function = Function.of(self.image, name, frozenset(CLAIM.returns), called=True)
            Proof(Engine(function, cuts=False), CLAIM).run()
        except Unproven as error:
            return error
        return None

    def sum(self, name: str, address: int, size: int, seed: int) -> int:
        function = self.library[name]
        function.restype = ctypes.c_uint32
        return function(ctypes.c_void_p(address), ctypes.c_size_t(size), ctypes.c_uint32(seed))


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> Twins:
    path = tmp_path_factory.mktemp("twins") / "twins.so"
    folders = [f"-I{ROOT / folder}" for folder in ("include", "src", "tests")]
    options = ["-O2", "-fno-tree-vectorize", "-D_GNU_SOURCE", "-fPIC", "-shared", "-Wl,-Bsymbolic"]
    sources = [str(BROKEN / name) for name in ("sum.c", "x86_64.S")]
    command = ["gcc", *options, *folders, *sources, "-o", str(path), "-lm"]
    subprocess.run(command, check=True)
    return Twins(path, Image(path), ctypes.CDLL(str(path)))


def is_right(content: bytes, seed: int, result: int) -> bool:
    even = content + b"\0" * (len(content) % 2)
    total = seed + sum(struct.unpack(f"<{len(even) // 2}H", even))
    return result % 0xFFFF == total % 0xFFFF and (result == 0) == (total == 0)


def contents(size: int) -> Iterator[bytes]:
    """Where a carry is lost there is one with all bits set; a byte that counts wrongly does so by
    itself."""
    yield b"\xff" * size
    yield b"\0" * size
    yield b"\xff\x7f" * (size // 2) + b"\x80" * (size % 2)
    for at in {*range(min(size, 4)), *range(max(size - 4, 0), size)}:
        yield b"\0" * at + b"\x81" + b"\0" * (size - at - 1)


def wrong_input(twins: Twins, name: str, error: Unproven) -> tuple[int, int, int] | None:
    """Size, alignment and seed of an input with a wrong sum, of the execution that is refuted."""
    rest, modulus = error.start
    sizes = error.sizes or (0, 1, 2, 3, 8, 17)
    with mmap.mmap(-1, max(sizes) + 2 * modulus) as memory:
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        at = (rest - start) % modulus
        for size in sizes:
            for content in contents(size):
                memory[at : at + size] = content
                for seed in SEEDS:
                    if not is_right(content, seed, twins.sum(name, start + at, size, seed)):
                        return size, rest, seed
    return None


def faults(twins: Twins, name: str, error: Unproven) -> bool:
    """Whether it reads outside of data that is between pages that nobody may touch."""
    arena = Arena()
    before = "before the start" in str(error)
    for size in error.sizes:
        if size > ROOM:
            continue
        address = arena.base if before else arena.base + ROOM - size
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGSEGV, signal.SIG_DFL)
            twins.sum(name, address, size, 0)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSEGV:
            return True
    return False


def test_the_right_sum_is_proven(twins: Twins) -> None:
    assert twins.refute("broken_not") is None
    everything = Unproven()
    everything.sizes = (0, 1, 2, 3, 8, 17, PAGE)
    assert wrong_input(twins, "broken_not", everything) is None
    assert not faults(twins, "broken_not", everything)


def test_each_twin_has_a_reason() -> None:
    assert {*REASONS, *NOT_FOLLOWED} == set(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_twin_is_refuted(twins: Twins, name: str) -> None:
    error = twins.refute(f"broken_{name}")
    assert error is not None
    assert {**REASONS, **NOT_FOLLOWED}[name] in str(error)


@pytest.mark.parametrize("name", [name for name, check in ROWS.items() if check != "abi"])
def test_refutation_fails_on_the_cpu(twins: Twins, name: str) -> None:
    error = twins.refute(f"broken_{name}")
    assert error is not None
    if "reads" in str(error):
        assert faults(twins, f"broken_{name}", error)
    else:
        assert wrong_input(twins, f"broken_{name}", error)
