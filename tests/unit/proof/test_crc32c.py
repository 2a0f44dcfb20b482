# SPDX-License-Identifier: MIT
"""The proof of CRC32c: right code is proven, wrong code refuted by input that fails on this CPU."""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import os
import platform
import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("elftools", reason="python3-pyelftools is not installed")
from claims import root
from crc32c import CRC32C, Refuted, Remainder, WordEngine
from engine import Function
from image import Image
from number import Unproven, number
from x86_64 import NAMES

SOURCE = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="code of x86-64")

Kernel = Callable[[int, int, int], int]
KERNEL = SOURCE / "src/sum/x86_64/crc32c_pclmul.S"
POWERS = "sum/power_of_x.h"  # included by the kernel
MUTANTS = re.findall(
    r"^BROKEN_CRC32C\((\w+),", (SOURCE / "tests/mutants/mutants.def").read_text(), re.M
)

# Code that the proof does not support, and the reason.
NOT_FOLLOWED = {
    "not_inverted": "a choice depends on the data",  # on all bits of the seed
    "fails_at_64_kib": "a loop does not carry one register",  # uses 16 bits of a size
}
# Small changes after which the kernel is wrong, or reads too far.
CHANGES = {
    "factor_a": ("16*\\bytes-33", "16*\\bytes-32"),
    "factor_b": ("8*\\bytes-33", "8*\\bytes-34"),
    "swapped": ("pclmulqdq $0, %xmm2, %xmm0", "pclmulqdq $0, %xmm3, %xmm0"),
    "one_stream": ("pxor %xmm1, %xmm0", "pxor %xmm1, %xmm1"),
    "third_stream": ("xorq 2 * \\bytes(%rdi), %rax", "xorq \\bytes(%rdi), %rax"),
    "polynomial": ("0x82f63b78", "0x82f63b79"),
    "advances": ("addq $2 * \\bytes + 8, %rdi", "addq $2 * \\bytes, %rdi"),
    "a_word_less": ("movl $\\bytes / 8 - 1, %ecx", "movl $\\bytes / 8 - 2, %ecx"),
    "seed": ("    notl %eax\n    cmpq", "    cmpq"),
    "tail": ("testb $2, %sil", "testb $4, %sil"),
    "upper_half": ("movl %r9d, %eax", "movl %r8d, %eax"),
}
READS = {
    "ends_late": (
        "    cmpq $3 * \\bytes, %rsi\n    jae",
        "    cmpq $3 * \\bytes - 1, %rsi\n    jae",
    ),
    "one_more": ("crc32b (%rdi), %eax", "crc32w (%rdi), %eax"),
}

# Kernels are hidden; `changed` is not.
CALLABLE = "\n.text\n.globl changed\nchanged: jmp carry_crc32c_pclmul\n"


def compiled(path: Path, *sources: Path | str, text: str = "") -> Path:
    command = ["cc", "-O2", "-shared", "-fPIC", "-fno-semantic-interposition", "-D_GNU_SOURCE"]
    command += [f"-I{SOURCE / d}" for d in (".", "include", "src", "tests")]
    command += ["-o", str(path), *map(str, sources)]
    if text:
        path.with_suffix(".S").write_text(text)
        command.append(str(path.with_suffix(".S")))
    subprocess.run(command, check=True, timeout=600)
    return path


def prove(library: Path, name: str, tables: bool = False) -> None:
    function = Function.of(Image(library), name, frozenset(CRC32C.returns))
    Remainder(WordEngine(function, tables)).run()


def kernel(library: Path, name: str) -> Kernel:
    function = ctypes.CDLL(str(library))[name]
    function.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32]
    function.restype = ctypes.c_uint32
    return function


def runs_here() -> bool:
    flags = Path("/proc/cpuinfo").read_text().split()
    return "pclmulqdq" in flags and "sse4_2" in flags


needs_cpu = pytest.mark.skipif(not runs_here(), reason="this CPU has no pclmulqdq")


def reference(data: bytes, crc: int) -> int:
    register = ~crc & 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0x82F63B78 if register & 1 else 0)
    return ~register & 0xFFFFFFFF


def answer(run: Kernel, data: bytes, crc: int) -> int | None:
    """Returns a kernel's result from a child process, for data that end before an inaccessible
    page; None if the process dies."""
    room = 4 * mmap.PAGESIZE
    memory = mmap.mmap(-1, room + mmap.PAGESIZE)
    memory[room - len(data) : room] = data
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        libc.mprotect(start + room, mmap.PAGESIZE, 0)
        memory[:4] = run(start + room - len(data), len(data), crc).to_bytes(4, "little")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return int.from_bytes(memory[:4], "little") if status == 0 else None


def fails_here(run: Kernel, error: Unproven) -> bool:
    """Returns whether the refutation's input fails on this CPU."""
    if isinstance(error, Refuted):
        return answer(run, error.data, error.crc) != reference(error.data, error.crc)
    found = re.search(r" (\d+) bytes: reads past the end", str(error))
    return found is not None and answer(run, bytes(int(found[1])), 0) is None


def test_reference_is_that_of_rfc_3720() -> None:
    assert reference(bytes(32), 0) == 0x8A9136AA
    assert reference(bytes(range(32)), 0) == 0x46DD794E


def test_pclmul_is_proven(tmp_path: Path) -> None:
    prove(compiled(tmp_path / "kernel.so", KERNEL), "carry_crc32c_pclmul")


def test_generic_is_proven_and_no_constant_time(tmp_path: Path) -> None:
    library = compiled(tmp_path / "generic.so", SOURCE / "src/sum/crc32c_generic.c")
    prove(library, "carry_crc32c_generic", tables=True)
    with pytest.raises(Unproven, match="an address depends on the data"):
        prove(library, "carry_crc32c_generic")


def test_wrong_table_is_refuted(tmp_path: Path) -> None:
    text = (SOURCE / "src/sum/crc32c_generic.c").read_text()
    wrong = tmp_path / "wrong.c"
    wrong.write_text(text.replace("TABLE(32, 33, 34,", "TABLE(32, 33, 35,"))
    library = compiled(tmp_path / "wrong.so", wrong)
    with pytest.raises(Refuted) as caught:
        prove(library, "carry_crc32c_generic", tables=True)
    assert fails_here(kernel(library, "carry_crc32c_generic"), caught.value)


@pytest.fixture(scope="module")
def mutants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("mutants") / "t.so", SOURCE / "tests/mutants/crc32c.c")


def test_right_one_is_proven(mutants: Path) -> None:
    prove(mutants, "broken_crc32c_not")


@pytest.mark.parametrize("name", MUTANTS)
def test_broken_ones_are_refuted(mutants: Path, name: str) -> None:
    with pytest.raises(Unproven) as caught:
        prove(mutants, f"broken_crc32c_{name}")
    if name in NOT_FOLLOWED:
        assert NOT_FOLLOWED[name] in str(caught.value)
    else:
        assert fails_here(kernel(mutants, f"broken_crc32c_{name}"), caught.value), caught.value


@needs_cpu
@pytest.mark.parametrize("name", [*CHANGES, *READS])
def test_changed_kernel_is_refuted(tmp_path: Path, name: str) -> None:
    old, new = (CHANGES | READS)[name]
    powers = (SOURCE / "src" / POWERS).read_text()
    text = KERNEL.read_text().replace(f'#include "{POWERS}"\n', powers)
    assert old in text
    library = compiled(tmp_path / "changed.so", text=text.replace(old, new) + CALLABLE)
    with pytest.raises(Unproven) as caught:
        prove(library, "carry_crc32c_pclmul")
    assert fails_here(kernel(library, "changed"), caught.value), caught.value


CODE = {
    "crc32b": "mov %rdi, %rax; crc32b %sil, %eax",
    "crc32w": "mov %rdi, %rax; crc32w %si, %eax",
    "crc32l": "mov %rdi, %rax; crc32l %esi, %eax",
    "crc32q": "mov %rdi, %rax; crc32q %rsi, %rax",
    "bswap32": "mov %rdi, %rax; bswap %eax",
    "bswap64": "mov %rdi, %rax; bswap %rax",
    **{
        f"pclmul{i}{j}": "movq %rdi, %xmm0; movq %rsi, %xmm1; punpcklqdq %xmm0, %xmm0;"
        f"punpcklqdq %xmm1, %xmm1; pclmulqdq ${16 * i + j}, %xmm1, %xmm0; movq %xmm0, %rax"
        for i in (0, 1)
        for j in (0, 1)
    },
}
HIGH = "psrldq $8, %xmm0; movq %xmm0, %rax"
CODE["pclmul_high"] = CODE["pclmul00"].replace("movq %xmm0, %rax", HIGH)


@needs_cpu
def test_meanings_are_those_of_the_cpu(tmp_path: Path) -> None:
    start = ".globl {0}\n.type {0}, @function\n{0}: {1}\nret\n.size {0}, . - {0}\n"
    text = "".join(start.format(name, code) for name, code in CODE.items())
    library = compiled(tmp_path / "code.so", text=text)
    image, cpu = Image(library), ctypes.CDLL(str(library))
    draw = random.Random(1)
    for name in CODE:
        run = cpu[name]
        run.argtypes, run.restype = [ctypes.c_uint64] * 2, ctypes.c_uint64
        for _ in range(4):
            a, b = draw.getrandbits(64), draw.getrandbits(64)
            assert meaning(image, name, a, b) == run(a, b), name


def meaning(image: Image, name: str, a: int, b: int) -> int | None:
    """Returns the result of a function of two numbers by the meanings of its instructions."""
    engine = WordEngine(Function.of(image, name, frozenset([0])))
    state = root(engine, CRC32C).start
    for register, value in (("rdi", a), ("rsi", b)):
        state.gpr[NAMES.index(register)] = ((8, number(value)),)
    (end,) = engine.run(state)
    return engine.x.number(end.gpr[NAMES.index("rax")]).constant  # type: ignore[union-attr]
