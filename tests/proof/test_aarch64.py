# SPDX-License-Identifier: MIT
"""The proof of kernels for AArch64, as a cross compiler makes them: right ones and wrong ones."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("elftools", reason="python3-pyelftools is not installed")
import prove
from aarch64 import NAMES
from claims import SUM, Proof, root
from engine import Engine, Function
from image import Image
from machine import State
from number import Unproven, number

SOURCE = Path(__file__).resolve().parents[2]
CC = "aarch64-linux-gnu-gcc"
QEMU = "qemu-aarch64"
pytestmark = pytest.mark.skipif(
    not shutil.which(CC), reason="gcc-aarch64-linux-gnu is not installed"
)
needs_qemu = pytest.mark.skipif(not shutil.which(QEMU), reason="qemu-user is not installed")

SUM_FILES = ["src/sum/aarch64/neon.c", "src/sum/generic.c"]
CRC32C_FILE = "src/sum/crc32c_generic.c"
COPY_FILES = ["src/copy/aarch64/neon.c", "src/copy/generic.c"]
# Those that take seconds.
QUICK = ["carry_sum_generic", "carry_sum_copy_generic", "carry_copy_generic", "carry_copy_neon"]
QUICK += ["carry_crc32c_generic"]

# A small change of a function in a file, and why the result is not proven.
CHANGES = {
    "parts": ("sum_neon", "0x20000 /*", "0x40000 /*", "loses a carry"),
    "lane": ("sum_neon", "(b, to, p, at + 16)", "(b, to, p, at)", "is counted 2 times"),
    "rest": ("sum_neon", "p, size, sum);", "p, size - 1, sum);", "another size than what is left"),
    "again": (
        "sum_neon",
        "c(p, size, sum)",
        "c(data, size, sum)",
        "another size than what is left",
    ),
    "byte": ("sum_generic", "p, size - 1, 1)", "p, at, 1)", "the byte at 0 is counted 2 times"),
    "last": ("copy_neon", "last_to = to + size", "last_to = to + 1 + size", "writes past the end"),
    "block": ("copy_neon", "(to + 48, d)", "(to + 48, c)", "stores another byte"),
    "short": ("copy_neon", "size < VEC", "size + 1 < VEC", "reads 1 bytes before the start"),
}
FILE_OF = {"sum_neon": SUM_FILES[0], "sum_generic": SUM_FILES[1], "copy_neon": COPY_FILES[0]}

FUNCTION = ".globl {0}\n.type {0}, %function\n{0}: {1}\nret\n.size {0}, . - {0}\n"
# No meaning may be taken for these.
REFUSED = {
    "ret x5": "goes on where a register or memory says",
    "br x5": "goes on where a register or memory says",
    "prfm pldl1keep, [x0, x3]": "an address depends on the data",
    "orr v0.4s, #1": "no meaning for orr",
    "sub sp, sp, #8; str x0, [sp]; add sp, sp, #8": "the stack pointer is not aligned",
    "adrp x3, 1f; add x3, x3, :lo12:1f; str x3, [sp, #-16]!; ret; 1: add sp, sp, #8": "clobbers sp",
}
# Functions of two numbers, and what their instructions do.
VECTORS = "sub sp, sp, #32; stp x0, x1, [sp]; stp x1, x0, [sp, #16]; ldp q0, q1, [sp]; {};"
VECTORS += "fmov x0, d0; add sp, sp, #32"
CODE = {
    "add": "add x0, x0, x1",
    "add_32": "add w0, w0, w1",
    "add_extended": "add x0, x0, w1, uxtw",
    "add_half": "add x0, x0, w1, uxth",
    "add_shifted": "add x0, x0, x1, lsl #30",
    "sub": "sub x0, x0, #0x41",
    "sub_shifted": "sub x0, x1, x0, lsl #6",
    "and": "and x0, x0, #0xffffffffffffffc0",
    "lsl": "lsl x0, x0, #6",
    "lsr": "lsr w0, w0, #7",
    "ror": "ror x0, x0, #32",
    "mov_32": "mov w0, w1",
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
    "addv": VECTORS.format("addv s0, v1.4s"),
    "mov_vector": VECTORS.format("mov v0.16b, v1.16b"),
    "fmov": VECTORS.format("fmov w1, s1; movi v0.4s, #0; fmov s0, w1"),
}


def compiled(path: Path, *sources: str | Path, options: str = "-shared") -> Path:
    command = [CC, "-O2", "-std=gnu11", "-fPIC", "-nostdlib", "-fvisibility=hidden", options]
    command += [f"-I{SOURCE / d}" for d in ("include", "src")]
    command += ["-o", str(path), *(str(SOURCE / s) for s in sources)]
    subprocess.run(command, check=True, timeout=600)
    return path


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Image:
    folder = tmp_path_factory.mktemp("aarch64")
    return Image(compiled(folder / "kernels.so", *SUM_FILES, *COPY_FILES, CRC32C_FILE))


@pytest.mark.parametrize("name", QUICK)
def test_is_proven(library: Image, name: str) -> None:
    prove.proof_of(library, name).run()


@pytest.mark.parametrize("change", CHANGES)
def test_changed_kernel_is_not_proven(tmp_path: Path, change: str) -> None:
    name, old, new, message = CHANGES[change]
    file = FILE_OF[name]
    text = (SOURCE / file).read_text()
    assert old in text
    (tmp_path / "changed.c").write_text(text.replace(old, new))
    others = SUM_FILES if file in SUM_FILES else COPY_FILES
    files = [tmp_path / "changed.c" if f == file else f for f in others]
    image = Image(compiled(tmp_path / "changed.so", *files))
    with pytest.raises(Unproven, match=message):
        prove.proof_of(image, f"carry_{name}").run()


def inputs() -> list[tuple[int, int]]:
    draw = random.Random(1)
    found = [(draw.getrandbits(64), draw.getrandbits(64)) for _ in range(4)]
    return [*found, (5, 5), (1 << 63, 1), (0, 0)]


def test_moves_are_not_followed(library: Image) -> None:
    with pytest.raises(Unproven, match="moves are followed on x86-64 only"):
        prove.proof_of(library, "carry_copy_move_generic").run()


@pytest.mark.parametrize("code", REFUSED)
def test_code_that_means_something_else_is_refused(tmp_path: Path, code: str) -> None:
    (tmp_path / "code.S").write_text(FUNCTION.format("f", f"{code}; mov x0, #0"))
    image = Image(compiled(tmp_path / "code.so", tmp_path / "code.S"))
    engine = Engine(Function.of(image, "f", frozenset([0])))
    with pytest.raises(Unproven, match=REFUSED[code]):
        Proof(engine, SUM).run()


@needs_qemu
def test_meanings_are_those_of_an_emulator(tmp_path: Path) -> None:
    (tmp_path / "code.S").write_text("".join(FUNCTION.format(f"f_{n}", c) for n, c in CODE.items()))
    calls = [
        f'u f_{n}(u, u); printf("%lu\\n", f_{n}({a}u, {b}u));' for n in CODE for a, b in inputs()
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
    code = Image(image)
    assert [meaning(code, f"f_{n}", a, b) for n in CODE for a, b in inputs()] == expected


def meaning(image: Image, name: str, a: int, b: int) -> int | None:
    """What a function of two numbers returns by the meanings of its instructions."""
    engine = Engine(Function.of(image, name, frozenset([0])))
    state = root(engine, SUM).start
    for register, value in (("x0", a), ("x1", b)):
        state.gpr[NAMES.index(register)] = ((8, number(value)),)
    (end,) = engine.run(state)
    assert isinstance(end, State)
    return engine.x.exact(engine.x.number(end.gpr[0]), 64).constant
