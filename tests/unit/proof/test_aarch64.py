# SPDX-License-Identifier: MIT
"""The proof of right and wrong kernels for AArch64, compiled by a cross compiler."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("elftools", reason="python3-pyelftools is not installed")
import digest
import prove
from aarch64 import NAMES
from claims import SUM, Proof, root
from crc32c import WordEngine
from engine import Engine, Function
from image import Image
from machine import State
from moves import MoveProof
from number import Unproven, number

SOURCE = Path(__file__).resolve().parents[3]
CC = "aarch64-linux-gnu-gcc"
QEMU = "qemu-aarch64"
pytestmark = pytest.mark.skipif(
    not shutil.which(CC), reason="gcc-aarch64-linux-gnu is not installed"
)
needs_qemu = pytest.mark.skipif(not shutil.which(QEMU), reason="qemu-user is not installed")

LONG = os.environ.get("CARRY_TEST_LEVEL") == "long"
SUM_NEON, SUM_GENERIC = "sum/aarch64/neon.c", "sum/generic.c"
COPY_NEON, MOVE_GENERIC = "copy/aarch64/neon.c", "copy/move.c"
TRY, WORDS = "kernel/aarch64/try.h", "sum/aarch64/crc32c_words.h"
PMULL = "sum/aarch64/crc32c_pmull.S"
FILES = [SUM_NEON, SUM_GENERIC, COPY_NEON, "copy/generic.c", MOVE_GENERIC, "copy/aarch64/move.c"]
FILES += [f"copy/aarch64/try_{name}.S" for name in ("neon", "generic")]
FILES += [f"sum/aarch64/copy_try_{name}.S" for name in ("neon", "generic")]
FILES += ["sum/crc32c_generic.c", "sum/aarch64/crc32c_crc32.S", PMULL]

FORMS = ("sum", "sum_copy", "sum_copy_try", "copy", "copy_try", "copy_move")
KERNELS = [f"{form}_{name}" for form in FORMS for name in ("neon", "generic")]
KERNELS += [f"crc32c_{name}" for name in ("generic", "crc32", "pmull")]
SLOW = {"sum_neon", "sum_copy_neon", "sum_copy_try_neon"}  # only at level long

# Small changes of files: the function, the old text, the new text, and why the function is then not
# proven.
CHANGES = {
    SUM_NEON: {
        "parts": ("sum_neon", "0x20000 /*", "0x40000 /*", "loses a carry"),
        "lane": ("sum_neon", "(b, to, p, at + 16)", "(b, to, p, at)", "is counted 2 times"),
        "rest": ("sum_neon", "p, size, sum);", "p, size - 1, sum);", "another size than what is"),
        "again": ("sum_neon", "c(p, size, sum)", "c(data, size, sum)", "another size than what is"),
    },
    SUM_GENERIC: {
        "byte": ("sum_generic", "p, size - 1, 1)", "p, at, 1)", "the byte at 0 is counted 2 times"),
    },
    COPY_NEON: {
        "last": ("copy_neon", "to = to + size", "to = to + 1 + size", "writes past the end"),
        "block": ("copy_neon", "(to + 48, d)", "(to + 48, c)", "stores another byte"),
        "short": ("copy_neon", "size < VEC", "size + 1 < VEC", "reads 1 bytes before the start"),
    },
    MOVE_GENERIC: {
        "upwards": ("copy_move_generic", "if (to < from)", "if (to > from)", "stored already"),
        "apart": ("copy_move_generic", "size && from", "size || from", "that may overlap"),
    },
    TRY: {
        "past": ("copy_try_neon", "    csel    IN_PAGE, IN_PAGE, x2, lo\n", "", "past the end"),
        "size_kept": ("copy_try_neon", "    sub     x2, x2, #\\bytes\n", "", "nor its contrary"),
        "target_kept": ("copy_try_generic", "    add     x0, x0, #\\bytes\n", "", "another byte"),
        "vectors": ("copy_try_neon", "q2, q3, [x1, #32]", "q2, q3, [x1, #16]", "another byte at"),
        "apart": ("copy_try_neon", "q2, q3, [x0, #32]", "q2, q3, [x0, #48]", "past the end of dst"),
        "left": ("copy_try_neon", "mov     x0, #0\n", "mov     x0, #1\n", "that bytes are left"),
        "bit": ("copy_try_neon", "tbz     IN_PAGE, #", "tbz     IN_PAGE, #1 + ", "for ever"),
        "one_page": ("copy_try_neon", "    cbnz    x2, .Lpage\n", "", "byte at 1 is not written"),
        "no_carry": ("sum_copy_try_generic", "    adc     SUM, SUM, xzr\n", "", "loses a carry"),
        "carries": ("sum_copy_try_generic", "    adcs    S", "    adds    S", "loses a carry"),
        "not_turned": ("sum_copy_try_generic", "0\n    ror", "4\n    ror", "and elsewhere"),
        "turned_at_the_end": ("sum_copy_try_generic", "SIZE, #0", "SIZE, #1", "and elsewhere"),
        "turned_twice": ("sum_copy_try_neon", "SUM, #56\n    .e", "SUM, #48\n    .e", "elsewhere"),
        "lanes": ("sum_copy_try_neon", "    movi    v18.2d, #0\n", "", "what was in a vector"),
        "lane": ("sum_copy_try_neon", "R v18, v2", "R v18, v1", "at 16 is counted 2 times"),
    },
    WORDS: {
        "half": ("crc32c_crc32", "crc32cw w2, w2, w3", "crc32cb w2, w2, w3", "bit 0 of the reg"),
        "tail": ("crc32c_crc32", "tbz     x1, #1", "tbz     x1, #2", "bit 0 of the register"),
    },
    PMULL: {
        "factor": ("crc32c_pmull", "16*\\bytes-33", "16*\\bytes-32", "bit 0 of the register"),
        "streams": ("crc32c_pmull", "x6, x0, #2 *", "x6, x0, #1 *", "bit 0 of the register"),
        "low": ("crc32c_pmull", "fmov    x8, d0", "fmov    w8, s0", "bit . of the register"),
    },
}

FUNCTION = ".globl {0}\n.type {0}, %function\n{0}: {1}\nret\n.size {0}, . - {0}\n"
# Instructions that the prover must not accept.
REFUSED = {
    "ret x5": "goes on where a register or memory says",
    "br x5": "goes on where a register or memory says",
    "prfm pldl1keep, [x0, x3]": "an address depends on the data",
    "orr v0.4s, #1": "no meaning for orr",
    "mov x9, sp; mov sp, x0; mov sp, x9": "the stack pointer is not where the function's stack is",
    "add sp, sp, #16; sub sp, sp, #16": "the stack pointer is not where the function's stack is",
    "str x1, [sp, #-16]!; add sp, sp, #16; sub sp, sp, #16; ldr x1, [sp], #16": "has not stored",
    ".inst 0xa9401c07 /* ldp x7, x7, [x0] */": "loads a register twice",
    ".inst 0xf8408400 /* ldr x0, [x0], #8 */": "moves a base that it loads or stores",
    "sub sp, sp, #8; str x0, [sp]; add sp, sp, #8": "the stack pointer is not aligned",
    "b.vs 1f; 1: nop": "no meaning for b.vs",
    "fmov d0, #1.0": "unknown operand: #1.0",
    "mov x4, v0.d[1]; adds x3, x3, x4": "unknown operand: v0.d",
    "adrp x3, 1f; add x3, x3, :lo12:1f; str x3, [sp, #-16]!; ret; 1: add sp, sp, #8": "clobbers sp",
}
# The code of a function of two numbers that returns a result of vector instructions.
VECTORS = "sub sp, sp, #32; stp x0, x1, [sp]; stp x1, x0, [sp, #16]; ldp q0, q1, [sp]; {};"
VECTORS += "fmov x0, d0; add sp, sp, #32"
CODE = {
    "add": "add x0, x0, x1",
    "add_32": "add w0, w0, w1",
    "add_extended": "add x0, x0, w1, uxtw",
    "add_half": "add x0, x0, w1, uxth",
    "add_shifted": "add x0, x0, x1, lsl #30",
    "adds": "adds x0, x0, x1; adcs x1, x1, x0; adc x0, x1, xzr",
    "adds_32": "adds w0, w0, w1; adcs w0, w0, w1; adc w0, w0, wzr",
    "adc_of_comparison": "cmp x0, x1; adcs x0, x0, x1; adc x0, x0, xzr",
    "adc_keeps_carry": "adds x0, x0, x1; adc x1, x1, x1; adc x0, x0, xzr",
    "sub": "sub x0, x0, #0x41",
    "sub_shifted": "sub x0, x1, x0, lsl #6",
    "and": "and x0, x0, #0xffffffffffffffc0",
    "lsl": "lsl x0, x0, #6",
    "lsr": "lsr w0, w0, #7",
    "ror": "ror x0, x0, #32",
    "mov_32": "mov w0, w1",
    "movk": "mov x0, x1; movk x0, #0x1234, lsl #32; movk x0, #0xfffe; movk w1, #0x77, lsl #16; "
    "add x0, x0, x1",
    "mvn": "mvn x0, x1",
    "mvn_32": "mvn w0, w1",
    "eor_shifted": "eor w0, w0, w1, lsr #8",
    "ubfx": "ubfx x0, x1, #8, #8",
    "byte": "sub sp, sp, #16; mov x9, sp; strb w1, [x9], #1; ldrb w0, [x9, #-1]!; add sp, sp, #16",
    "bit_set": "tbz w0, #3, 1f; mov x0, #7; 1: add x0, x0, #1",
    "zero": "and x0, x0, #1; cbz x0, 1f; mov x0, #7; 1: add x0, x0, #1",
    "test": "tst x0, #0x30; b.eq 1f; mov x0, #7; 1: add x0, x0, #1",
    **{
        f"cmp_{c}": f"cmp x0, x1; b.{c} 1f; mov x0, #7; ret; 1: mov x0, #9"
        for c in ("eq", "ne", "hi", "ls", "cs", "cc", "ge", "lt", "gt", "le")
    },
    **{
        f"csel_{c}": f"cmp x0, x1; csel x0, x0, x1, {c}; add x0, x0, #1" for c in ("cc", "hi", "ne")
    },
    "uadalp": VECTORS.format("uadalp v0.4s, v1.8h"),
    "uadalp_of_sums": VECTORS.format("add v1.8h, v1.8h, v0.8h; uadalp v0.4s, v1.8h"),
    "add_lanes": VECTORS.format("add v0.4s, v0.4s, v1.4s"),
    "uaddlv": VECTORS.format("uaddlv d0, v1.4s"),
    "uaddlv_of_sums": VECTORS.format("add v1.4s, v1.4s, v0.4s; uaddlv d0, v1.4s"),
    "addv": VECTORS.format("addv s0, v1.4s"),
    "mov_vector": VECTORS.format("mov v0.16b, v1.16b"),
    "fmov": VECTORS.format("fmov w1, s1; movi v0.4s, #0; fmov s0, w1"),
    "ld1": "sub sp, sp, #32; stp x0, x1, [sp]; stp x1, x0, [sp, #16]; mov x9, sp; "
    "ld1 {v2.16b-v3.16b}, [x9], #32; sub x9, x9, #32; mov v1.16b, v2.16b; mov v0.16b, v3.16b; "
    "st1 {v0.16b-v1.16b}, [x9]; ldp x0, x1, [x9]; add x0, x1, x0, lsl #1; add sp, sp, #32",
}
# Code with instructions whose meaning is defined bit by bit.
WORD_CODE = {
    **{f"crc32c{w}": f"crc32c{w} w0, w0, w1" for w in "bhw"},
    "crc32cx": "crc32cx w0, w0, x1",
    "crc32cx_of_zero": "crc32cx w0, wzr, x1",
    "pmull": VECTORS.format("pmull v0.1q, v0.1d, v1.1d"),
    "pmull_high": VECTORS.format("pmull v0.1q, v0.1d, v1.1d; addv s0, v0.4s"),
}


def compiled(path: Path, *sources: str | Path, first: Path | None = None) -> Path:
    """Compiles a library; headers in the folder `first` replace headers of the project."""
    command = [CC, "-O2", "-std=gnu11", "-fPIC", "-nostdlib", "-fvisibility=hidden", "-shared"]
    command += [f"-I{folder}" for folder in (first, SOURCE / "include", SOURCE / "src") if folder]
    command += ["-o", str(path), *map(str, sources)]
    subprocess.run(command, check=True, timeout=600)
    return path


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Image:
    folder = tmp_path_factory.mktemp("aarch64")
    return Image(compiled(folder / "kernels.so", *(SOURCE / "src" / f for f in FILES)))


@pytest.mark.parametrize("name", [k for k in KERNELS if LONG or k not in SLOW])
def test_is_proven(library: Image, name: str) -> None:
    prove.proof_of(library, f"carry_{name}").run()


def changed(folder: Path, file: str, old: str, new: str) -> Image:
    """Compiles all kernels, with a change in a source or a header."""
    text = (SOURCE / "src" / file).read_text()
    assert old in text
    (folder / file).parent.mkdir(parents=True)
    (folder / file).write_text(text.replace(old, new))
    files = [(folder if f == file else SOURCE / "src") / f for f in FILES]
    return Image(compiled(folder / "changed.so", *files, first=folder))


@pytest.mark.parametrize(("file", "name"), [(f, n) for f, named in CHANGES.items() for n in named])
def test_changed_kernel_is_not_proven(tmp_path: Path, file: str, name: str) -> None:
    function, old, new, message = CHANGES[file][name]
    image = changed(tmp_path, file, old, new)
    with pytest.raises(Unproven, match=message):
        prove.proof_of(image, f"carry_{function}").run()


def inputs() -> list[tuple[int, int]]:
    draw = random.Random(1)
    found = [(draw.getrandbits(64), draw.getrandbits(64)) for _ in range(4)]
    return [*found, (5, 5), (1 << 63, 1), (0, 0)]


@pytest.mark.parametrize("code", REFUSED)
def test_code_that_means_something_else_is_refused(tmp_path: Path, code: str) -> None:
    (tmp_path / "code.S").write_text(FUNCTION.format("f", f"{code}; mov x0, #0"))
    image = Image(compiled(tmp_path / "code.so", tmp_path / "code.S"))
    with pytest.raises(Unproven, match=REFUSED[code]):
        Proof(Engine(Function.of(image, "f", frozenset([0]))), SUM).run()


def test_move_that_changes_vectors_of_its_caller(tmp_path: Path) -> None:
    (tmp_path / "code.S").write_text(FUNCTION.format("f", "movi v8.2d, #0"))
    image = Image(compiled(tmp_path / "code.so", tmp_path / "code.S"))
    with pytest.raises(Unproven, match="writes v8, which callers keep"):
        MoveProof(image, "f").run()


def test_big_endian_code_is_refused(tmp_path: Path) -> None:
    (tmp_path / "code.S").write_text(FUNCTION.format("f", "nop"))
    library = compiled(tmp_path / "code.so", tmp_path / "code.S", "-mbig-endian")
    with pytest.raises(Unproven, match="is big-endian"):
        Image(library)


def test_size_of_which_the_parity_is_known_is_not_compared(tmp_path: Path) -> None:
    """The parity of 5 * size is known, but the product wraps at 64 bits: it is not compared."""
    text = (SOURCE / "src" / TRY).read_text()
    text = text.replace("    mov     SIZE, x2\n", "    add     SIZE, x2, x2, lsl #2\n")
    text = text.replace(
        ".Lpage:\n", ".Lpage:\n#if SUMS\n    cmp SIZE, x2\n    b.lo .Lleave\n#endif\n"
    )
    old = "    mov     x0, #0\n"
    image = changed(
        tmp_path, TRY, (SOURCE / "src" / TRY).read_text(), text.replace(old, f".Lleave:\n{old}")
    )
    with pytest.raises(Unproven, match="nor its contrary"):
        prove.proof_of(image, "carry_sum_copy_try_generic").run()


# Code that loads from a table of constants; then code whose parts of an address do not match.
ADDRESS = "adrp x3, table; add x3, x3, :lo12:table; ldr w0, [x3]"
APART = {
    "page_alone": "adrp x3, table",
    "rest_alone": "add x3, x3, :lo12:table",
    "one_page_of_two": "adrp x3, table; add x4, x3, :lo12:table; add x3, x3, :lo12:table",
    "two_pages_of_one": "adrp x3, table; adrp x4, table; add x3, x3, :lo12:table",
    "function": "adrp x3, f; add x3, x3, :lo12:f",
}
TABLE = ".section .rodata\n.balign 8\ntable: .word {}, 2\n.size table, . - table\n"


def assembled(folder: Path, code: str, first: int = 1) -> Path:
    source, path = folder / f"code{first}.S", folder / f"code{first}.o"
    source.write_text(FUNCTION.format("f", code) + TABLE.format(first))
    subprocess.run([CC, "-c", "-o", path, source], check=True, timeout=60)
    return path


def test_address_in_two_words_is_that_of_its_table(tmp_path: Path) -> None:
    path, other = assembled(tmp_path, ADDRESS), assembled(tmp_path, ADDRESS, first=3)
    code = digest.canonical(path, "f")
    assert [field.row for field in code.fields] == ["PAGES(0, 0, 4, 8)", "LOW(4)"]
    (linked,) = digest.linked(compiled(tmp_path / "code.so", path), [code])
    assert linked.digest == code.digest
    (linked,) = digest.linked(compiled(tmp_path / "other.so", other), [code])
    assert linked.content == code.content and linked.digest != code.digest


@pytest.mark.parametrize("code", APART)
def test_words_of_an_address_that_do_not_belong_together(tmp_path: Path, code: str) -> None:
    path = assembled(tmp_path, APART[code])
    with pytest.raises(digest.DigestError, match="do not belong together"):
        digest.canonical(path, "f")


@needs_qemu
def test_meanings_are_those_of_an_emulator(tmp_path: Path) -> None:
    both = {**CODE, **WORD_CODE}
    code = "".join(FUNCTION.format(f"f_{n}", c) for n, c in both.items())
    (tmp_path / "code.S").write_text(".arch armv8-a+crc+crypto\n" + code)
    calls = [
        f'u f_{n}(u, u); printf("%lu\\n", f_{n}({a}u, {b}u));' for n in both for a, b in inputs()
    ]
    main = "#include <stdio.h>\ntypedef unsigned long u;\nint main(void) {\n{}\n}\n"
    (tmp_path / "main.c").write_text(main.replace("{}\n}", "\n".join(calls) + "\n}"))
    program, image = tmp_path / "program", compiled(tmp_path / "code.so", tmp_path / "code.S")
    command = [
        CC,
        "-static",
        "-o",
        str(program),
        str(tmp_path / "main.c"),
        str(tmp_path / "code.S"),
    ]
    subprocess.run(command, check=True, timeout=600)
    done = subprocess.run([QEMU, program], check=True, capture_output=True, timeout=600)
    expected = [int(line) for line in done.stdout.split()]
    linked = Image(image)
    assert [meaning(linked, n, a, b) for n in both for a, b in inputs()] == expected


def meaning(image: Image, name: str, a: int, b: int) -> int | None:
    """Returns the result of a function of two numbers by the meanings of its instructions."""
    kind = WordEngine if name in WORD_CODE else Engine
    engine = kind(Function.of(image, f"f_{name}", frozenset([0])))
    state = root(engine, SUM).start
    for register, value in (("x0", a), ("x1", b)):
        state.gpr[NAMES.index(register)] = ((8, number(value)),)
    (end,) = engine.run(state)
    assert isinstance(end, State)
    return engine.x.exact(engine.x.number(end.gpr[0]), 64).constant
