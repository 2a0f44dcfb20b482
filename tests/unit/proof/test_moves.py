# SPDX-License-Identifier: MIT
"""The proof of moves: right code is proven; wrong code is refuted, and fails on this CPU too."""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import os
import platform
import random
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("elftools", reason="python3-pyelftools is not installed")
from image import Image
from moves import APART, CASES, Case, MoveProof
from number import Unproven

SOURCE = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="code of x86-64")

COPIES = SOURCE / "src/copy"
INCLUDE = '#include "copy/x86_64/template.h"'

LOAD_END = "    LOAD_4(0, (%rsi, %rdx), -BLOCK_BYTES, 4, 5, 6, 7)\n"
LOAD_START = "    LOAD_4(0, (%rsi), 0, 4, 5, 6, 7)\n"
DOWN = "    COPY_ALIGN\n    COPY_BLOCKS start\n"
UP = "    COPY_BLOCKS end\n"
FEW_BYTES = "    COPY_BELOW_16\n"
INVERT_ONE = "    cmpl $1, %edx\n    jne .Lmore\n    movzbl (%rsi), %eax\n    notl %eax\n"
INVERT_ONE += "    movb %al, (%rdi)\n    COPY_RETURN\n.Lmore:\n"
FIRST_LAST = "    STORE(0, FIRST, (%r8))\n"

# Changes of the template after which moves by AVX2 are wrong: old texts, and their replacements.
CHANGES = {
    "first_stored_at_once": (
        *("    movq %rdi, %r8\n#else", "    STORE(0, FIRST, (%rdi))\n#else"),
        *(FIRST_LAST, ""),
    ),
    "first_not_stored": (FIRST_LAST, ""),
    "first_elsewhere": ("-VECTOR_BYTES(%r8))", "-VECTOR_BYTES(%rdi, %rdx))"),
    "never_upwards": ("    jb .Lupwards\n", ""),
    "always_upwards": ("    jb .Lupwards\n", "    jmp .Lupwards\n"),
    "takes_pages_to_be_apart": ("    jb .Lend_first\n", ""),
    "distance_of_one_sign": (".Lpages:\n    negq %rcx\n", ".Lpages:\n"),
    "end_loaded_last": (LOAD_END + DOWN, DOWN + LOAD_END),
    "start_loaded_last": (UP, UP + LOAD_START),
    "a_byte_left_out": ("    subq $BLOCK_BYTES, %rdx\n", "    subq $BLOCK_BYTES + 1, %rdx\n"),
    "past_the_end": ("    subq %rcx, %rdx\n" + UP, "    addq %rcx, %rdx\n" + UP),
    "loaded_between": ("%rdx), R(1)); ", "%rdx), R(1)); LOAD(0, 1(%rsi), R(0)); "),
    "size_of_32_bits": ("CARRY_FUNCTION KERNEL\n", "CARRY_FUNCTION KERNEL\n    movl %edx, %edx\n"),
    "a_byte_inverted": (FEW_BYTES, INVERT_ONE + FEW_BYTES),
    "stops_early": ("    cmpq $BLOCK_BYTES, %rdx\n", "    cmpq $BLOCK_BYTES + 1, %rdx\n"),
}
# Mutants that this CPU cannot reveal in a second, because they need more than 4 GiB.
ONLY_REFUTED = {"size_of_32_bits"}
# Changes after which moves are still right.
VARIANTS = {
    "the_last_block_twice": ("    ja .Lblock_\\@\n", "    jae .Lblock_\\@\n"),
    "upwards_of_adjacent": ("    jb .Lupwards\n", "    jbe .Lupwards\n"),
    "not_aligned": ("    subq %rcx, %rdx\n" + UP, UP),
    "smaller_pages": ("#define PAGE_BYTES  4096", "#define PAGE_BYTES  512"),
}
PART = "    carry_copy_generic(part, from, size);\n    carry_copy_generic(to, part"
C_CHANGES = {
    "apart_on_one_side": ("from >= size && from - to", "from >= size || from - to"),
    "wrong_way": ("else if (to < from)", "else if (to > from)"),
    "no_buffer": (PART, "    (void)part;\n    carry_copy_generic(to, from"),
    "part_elsewhere": ("carry_copy_generic(to, part,", "carry_copy_generic(to + 1, part,"),
    "a_block_more": ("size >= BLOCK_BYTES; size -=", "size + 1 >= BLOCK_BYTES; size -="),
}
# Mutants that the proof does not support, and the reason.
NOT_FOLLOWED = {
    "64_kib": "are asked for",  # uses only the lowest 16 bits of a size
    "whole_words": "a loop might go on for ever",  # a loop of memset(), of up to 7 bytes
}
BROKEN = re.findall(
    r"^BROKEN_COPY\((\w+), (\w+),", (SOURCE / "tests/mutants/mutants.def").read_text(), re.M
)


def compiled(path: Path, *sources: Path | str, text: str = "", c: bool = False) -> Path:
    command = ["cc", "-O2", "-shared", "-fPIC", "-fno-semantic-interposition", "-D_GNU_SOURCE"]
    command += ["-DCARRY_NO_SITES"]  # with a site, a kernel would lie behind carry_copy()
    command += [f"-I{SOURCE / d}" for d in (".", "include", "src", "tests")]
    command += ["-o", str(path), *map(str, sources)]
    if text:
        changed = path.with_suffix(".c" if c else ".S")
        changed.write_text(text)
        command.append(str(changed))
    subprocess.run(command, check=True, timeout=60)
    return path


def replaced(path: Path, *changes: str) -> str:
    text = path.read_text()
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert old in text
        text = text.replace(old, new)
    return text


def changed_avx2(path: Path, *changes: str) -> Path:
    """Compiles a library that moves by AVX2 with a changed template. Kernels are hidden; `changed`
    is not."""
    template = replaced(COPIES / "x86_64/template.h", *changes)
    text = "#define MOVES 1\n" + replaced(COPIES / "x86_64/avx2.S", INCLUDE, template)
    text += "\n.text\n.globl changed\n.type changed, @function\n"
    text += "changed: jmp carry_copy_move_avx2\n"
    return compiled(path, COPIES / "x86_64/avx2.S", text=text)


def changed_generic(path: Path, *changes: str) -> Path:
    text = replaced(COPIES / "move.c", *changes)
    text += "void changed(void *to, const void *from, size_t size) "
    text += "{ carry_copy_move_generic(to, from, size); }\n"
    return compiled(path, COPIES / "generic.c", text=text, c=True)


def prove(library: Path, name: str, cases: tuple[Case, ...] = CASES) -> None:
    MoveProof(Image(library), name, cases).run()


# --- On this CPU ---


def places(overlap: bool) -> Iterator[tuple[int, int]]:
    """Generates sizes, and distances from the source to the target."""
    for size in [*range(70), 97, *range(126, 132), 255, 256, 257, 300, 700, 4096, 4300, 70000]:
        near = {0, 1, 2, 7, 15, 16, 17, 31, 33, 63, 65, 127, 200, size - 1} if overlap else {-1}
        for distance in sorted(d for d in near if 0 <= d < size):
            yield from ((size, distance), (size, -distance))
        yield from ((size, size + 1), (size, -size - 1))


def is_wrong(library: Path, name: str, overlap: bool = True) -> bool:
    """Returns whether a move differs from memmove() on this CPU, or accesses other memory. A child
    process executes it, because it may crash or never end."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        ctypes.CDLL(None).alarm(20)
        os._exit(int(differs(library, name, overlap)))
    _, status = os.waitpid(child, 0)
    return status != 0


def differs(library: Path, name: str, overlap: bool) -> bool:
    """Checks whether a move of one of places() is wrong at the start, the end or the middle of
    memory."""
    move = ctypes.CDLL(str(library))[name]
    move.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
    room, page = 64 * mmap.PAGESIZE, mmap.PAGESIZE
    memory = mmap.mmap(-1, room + 2 * page)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc = ctypes.CDLL(None)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    for edge in (start, start + page + room):
        libc.mprotect(edge, page, 0)
    content = random.Random(1).randbytes(room)
    for size, distance in places(overlap):
        length = size + abs(distance)
        for at in (page, page + room - length, page + 1000 + size % 61):
            first, last = max(at - 64, page), min(at + length + 64, page + room)
            before = content[: last - first]
            memory[first:last] = before
            source, target = at - first + max(-distance, 0), at - first + max(distance, 0)
            move(start + first + target, start + first + source, size)
            moved = before[source : source + size]
            if memory[first:last] != before[:target] + moved + before[target + size :]:
                return True
    return False


# --- Tests ---


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = ("rep", "avx2", "avx2_rep", "avx512")
    sources = [COPIES / f"x86_64/{form}{name}.S" for name in names for form in ("", "move_")]
    path = tmp_path_factory.mktemp("kernels") / "k.so"
    return compiled(path, COPIES / "generic.c", COPIES / "move.c", *sources)


@pytest.mark.parametrize("name", ["rep", "generic", "avx2", "avx2_rep", "avx512"])
def test_kernel_is_proven(kernels: Path, name: str) -> None:
    prove(kernels, f"carry_copy_move_{name}")


def runs_avx2() -> bool:
    return "avx2" in Path("/proc/cpuinfo").read_text().split()


@pytest.mark.parametrize("name", CHANGES)
def test_changed_kernel_is_refuted(tmp_path: Path, name: str) -> None:
    library = changed_avx2(tmp_path / "changed.so", *CHANGES[name])
    with pytest.raises(Unproven) as caught:
        prove(library, "carry_copy_move_avx2")
    if name not in ONLY_REFUTED and runs_avx2():
        assert is_wrong(library, "changed"), caught.value


@pytest.mark.parametrize("name", VARIANTS)
def test_other_right_kernel_is_proven(tmp_path: Path, name: str) -> None:
    library = changed_avx2(tmp_path / "changed.so", *VARIANTS[name])
    prove(library, "carry_copy_move_avx2")
    assert not runs_avx2() or not is_wrong(library, "changed")


@pytest.mark.parametrize("name", C_CHANGES)
def test_changed_c_is_refuted(tmp_path: Path, name: str) -> None:
    library = changed_generic(tmp_path / "changed.so", *C_CHANGES[name])
    with pytest.raises(Unproven) as caught:
        prove(library, "carry_copy_move_generic")
    assert is_wrong(library, "changed"), caught.value


@pytest.fixture(scope="module")
def mutants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(tmp_path_factory.mktemp("mutants") / "t.so", SOURCE / "tests/mutants/copies.c")


def test_copy_by_bytes_is_proven_where_ranges_are_apart(mutants: Path) -> None:
    prove(mutants, "broken_copy_not", APART)
    prove(mutants, "broken_copy_not", CASES[1:])  # the bytes are copied in the right direction
    with pytest.raises(Unproven, match="the target starts within the source"):
        prove(mutants, "broken_copy_not")


@pytest.mark.parametrize(("name", "check"), BROKEN)
def test_broken_ones_are_refuted(mutants: Path, name: str, check: str) -> None:
    overlap = check.startswith("overlap")
    with pytest.raises(Unproven) as caught:
        prove(mutants, f"broken_copy_{name}", CASES if overlap else APART)
    assert name not in NOT_FOLLOWED or NOT_FOLLOWED[name] in str(caught.value)
    assert is_wrong(mutants, f"broken_copy_{name}", overlap), caught.value
