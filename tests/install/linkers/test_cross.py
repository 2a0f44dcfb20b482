# SPDX-License-Identifier: MIT
"""Sites compiled for AArch64 with settings that the tests of the step aarch64 do not use."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from conftest import C11, CXX17, EMULATOR, FOLDER, SOURCE, Library, call, check_sites, need

TARGET = "--target=aarch64-linux-gnu"
FLAGS = ["-std=gnu11", "-ffreestanding", "-Wall", "-Wextra", "-Werror", f"-I{SOURCE / 'include'}"]

# Clang merges these keys into one symbol.
KEYS = """
#include <carry/patch.h>
CARRY_KEY_STATIC(first, false);
CARRY_KEY_STATIC(second, false);
int both(void);
int both(void) { return 2 * carry_unlikely(first) + carry_likely(second); }
"""

PREDICATE = """
#include <arm_sve.h>
#include <carry/patch.h>
CARRY_OP(int, op, int);
__attribute__((target("+sve"))) void add_one(int *numbers, int count);
__attribute__((target("+sve"))) void add_one(int *numbers, int count) {
    svbool_t some = svwhilelt_b32(0, count);
    svint32_t sums = svadd_x(some, svld1(some, numbers), 1);
    (void)carry_call(op)(count);
    svst1(some, numbers, sums);
}
"""

# Exits with 0 if the bytes of a jump to the next instruction are 01 00 00 14.
JUMP = """
#include "patch/patch_internal.h"
static struct {
    struct carry_site site;
    uint32_t text[2];
} jump = {.site = {.site = 16, .aux = 12, .kind = CARRY_SITE_JUMP, .length = 4, .version = 1}};
void *memcpy(void *to, const void *from, size_t size);
void *memcpy(void *to, const void *from, size_t size) {
    for (size_t i = 0; i < size; i++)
        ((volatile uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    return to;
}
void _start(void);
void _start(void) {
    uint8_t bytes[CARRY_SITE_BYTES_MAX];
    carry_encode_original(&jump.site, bytes);
    register long status __asm__("x0") = bytes[0] != 1 || bytes[1] || bytes[2] || bytes[3] != 0x14;
    register long exit __asm__("x8") = 93;
    __asm__ volatile("svc 0" : : "r"(status), "r"(exit));
}
"""

# Exits with 0 if copies with sums across the end of a page are right in this byte order.
COPIES = """
#include "sum/sum_internal.h"
struct carry_sum_tried KERNEL(void *dst, const void *src, size_t size, uint32_t sum);
static uint8_t from[400], pages[8192] __attribute__((aligned(4096)));

static unsigned sum_of(const uint8_t *data, size_t size, uint64_t sum) {
    for (size_t i = 0; i < size; i++) {
        const unsigned place = i % 2 ^ (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
        sum += (uint64_t)data[i] << 8 * place;
    }
    return (unsigned)(sum % 0xffff);
}

static bool is_right(size_t before, size_t size) {
    uint8_t *to = pages + 4096 - before;
    const struct carry_sum_tried tried = KERNEL(to, from + size % 16, size, 0x12345678);
    size_t i = 0;
    while (i < size && to[i] == from[size % 16 + i])
        i++;
    return i == size && !tried.left && tried.sum % 0xffff == sum_of(to, size, 0x12345678);
}

void _start(void);
void _start(void) {
    bool ok = true;
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)(i * 151 + i / 5);
    for (size_t before = 0; before < 150; before++)
        for (size_t size = 0; size < 300; size++)
            ok = ok && is_right(before, size);
    register long status __asm__("x0") = !ok;
    register long exit __asm__("x8") = 93;
    __asm__ volatile("svc 0" : : "r"(status), "r"(exit));
}
"""


def assembly(source: str, folder: Path, *compiler: str) -> str:
    """Returns a compiler's assembly for a source; skips the test without this compiler."""
    need(compiler[0])
    (folder / "source.c").write_text(source)
    for form, name in ("-c", "source.o"), ("-S", "source.s"):
        call(*compiler, *FLAGS, form, "-o", folder / name, folder / "source.c")
    return (folder / "source.s").read_text()


@pytest.mark.parametrize("position", ["-fPIC", "-fno-pic"])
@pytest.mark.parametrize("level", ["-O0", "-O2", "-O3", "-Oz"])
@pytest.mark.parametrize("compiler", ["clang", "clang-19"])
def test_merged_keys(compiler: str, level: str, position: str, tmp_path: Path) -> None:
    """Sites exist even if the compiler merges constants."""
    assert "carry_sites" in assembly(KEYS, tmp_path, compiler, TARGET, level, position)


@pytest.mark.parametrize("compiler", [["aarch64-linux-gnu-gcc"], ["clang-19", TARGET]])
def test_predicates_are_saved(compiler: list[str], tmp_path: Path) -> None:
    """Predicate registers are saved across calls, even if only one function is compiled for SVE."""
    text = assembly(PREDICATE, tmp_path, *compiler, "-O2")
    assert re.search(r"\bstr\s+p\d", text), text


def run_alone(order: str, source: str, folder: Path, *others: Path | str) -> None:
    """Runs a program without a C library, because one is installed for only one byte order."""
    compiler = "aarch64-linux-gnu-gcc"
    emulator = {"little": "qemu-aarch64", "big": "qemu-aarch64_be"}[order]
    need(compiler, emulator)
    (folder / "alone.c").write_text(source)
    headers = call(compiler, "-print-file-name=include").strip()
    alone = ["-nostdinc", "-isystem", headers, "-nostdlib", "-static", f"-I{SOURCE / 'src'}"]
    program = folder / "alone"
    sources = [folder / "alone.c", *others]
    call(compiler, *FLAGS, *alone, f"-m{order}-endian", "-O2", *sources, "-o", program)
    call("timeout", "-s", "KILL", "60", emulator, program)


@pytest.mark.parametrize("order", ["little", "big"])
def test_instructions_are_little_endian(order: str, tmp_path: Path) -> None:
    run_alone(order, JUMP, tmp_path, SOURCE / "src" / "patch" / "aarch64" / "encode.c")


@pytest.mark.parametrize("kernel", ["generic", "neon"])
@pytest.mark.parametrize("order", ["little", "big"])
def test_sums_of_copies(order: str, kernel: str, tmp_path: Path) -> None:
    """Copies with sums are right in both byte orders."""
    own = SOURCE / "src" / "sum" / "aarch64" / f"copy_try_{kernel}.S"
    run_alone(order, COPIES, tmp_path, own, f"-DKERNEL=carry_sum_copy_try_{kernel}")


def test_big_endian_core(tmp_path: Path) -> None:
    """The core compiles for big-endian CPUs, and lacks only host functions."""
    compiler = "aarch64-linux-gnu-gcc"
    need(compiler)
    folders = [path for path in (SOURCE / "src").iterdir() if path.name != "hosted"]
    sources = [source for path in folders for source in path.glob("*.c")]
    sources += [source for path in folders for source in path.glob("aarch64/*.[cS]")]
    flags = ["-mbig-endian", "-r", "-nostdlib", f"-I{SOURCE / 'src'}"]
    core = tmp_path / "core.o"
    call(compiler, *FLAGS, "-Wno-type-limits", *flags, *sources, "-o", core)
    missing = re.findall(r"\bU (carry_\w+)", call("nm", "--undefined-only", core))
    assert {name for name in missing if not name.startswith("carry_host_")} == set()


@pytest.mark.parametrize(
    "source", sorted((SOURCE / "src").glob("*/aarch64/*.S")), ids=lambda path: path.parts[-3]
)
def test_assembly_keeps_bti(source: Path, tmp_path: Path) -> None:
    """Each object of assembly has the note of BTI; one object without it removes BTI from the whole
    program."""
    compiler = "aarch64-linux-gnu-gcc"
    need(compiler)
    includes = [f"-I{SOURCE / 'include'}", f"-I{SOURCE / 'src'}"]
    call(compiler, *includes, "-c", source, "-o", tmp_path / "object.o")
    assert "AArch64 feature: BTI" in call("readelf", "--notes", tmp_path / "object.o")


# --- One program with every kind of site, as in test_matrix.py ---

GCC = ("aarch64-linux-gnu-gcc",)
GXX = ("aarch64-linux-gnu-g++",)
CLANG = ("clang-19", TARGET)
CLANGXX = ("clang++-19", TARGET)
OLD_CLANG = ("clang", TARGET)
SECTIONS = ("-ffunction-sections", "-fdata-sections")
GC = ("-Wl,--gc-sections",)


@dataclass(frozen=True)
class Cross:
    """A compiler with options, and how its output is linked."""

    compiler: tuple[str, ...]
    name: str
    flags: tuple[str, ...]
    link: tuple[str, ...] = ()
    drops: bool = False  # whether the linker drops sites in functions that are never called
    shared: bool = False  # whether the sites are in a shared object

    @property
    def id(self) -> str:
        return f"{self.compiler[0]} {self.name}"


def crosses() -> list[Cross]:
    found = []
    is_long = os.environ.get("CARRY_TEST_LEVEL", "medium") == "long"
    for compiler in (GCC, GXX, CLANG, *((CLANGXX, OLD_CLANG) if is_long else ())):
        is_clang = compiler[0].startswith("clang")
        lld = ("-fuse-ld=lld",) if is_clang else ()
        found += [
            Cross(compiler, "O0", ("-O0",), lld),
            Cross(compiler, "O2", ("-O2", *SECTIONS), (*lld, *GC), drops=is_clang),
            Cross(compiler, "O3", ("-O3", "-fPIC"), lld, shared=True),
            Cross(compiler, "static", ("-Os", "-fno-pie"), (*lld, "-static", "-no-pie")),
            # Return addresses are signed, and functions begin with landing pads.
            Cross(compiler, "protected", ("-O2", "-mbranch-protection=standard"), lld),
        ]
    found.append(Cross(GCC, "gold", ("-O2",), ("-fuse-ld=gold",)))
    found.append(Cross(GCC, "lto", ("-O2", "-flto"), drops=True))
    found.append(Cross(OLD_CLANG, "lto", ("-O2", "-flto"), ("-fuse-ld=lld",), drops=True))
    return found


# Files of the library around the core that are needed to patch text.
HOSTED = (
    "exchange",
    "host",
    "hosted_patch",
    "hosted_signals",
    "hosted_text",
    "loaded",
    "origin",
    "trap",
)


@pytest.fixture(scope="session")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Builds the module `patch` for AArch64."""
    need(*GCC)
    folder = tmp_path_factory.mktemp("foreign")
    own = SOURCE / "src"
    sources = [
        *(own / "patch").glob("*.c"),
        *(own / "patch/aarch64").glob("*.[cS]"),
        *(own / "cpu").glob("*.c"),
        *(own / "cpu/aarch64").glob("*.c"),
        *(own / "hosted/aarch64").glob("*.[cS]"),
        *(own / f"hosted/{name}.c" for name in HOSTED),
    ]
    include = [f"-I{SOURCE / 'include'}", f"-I{own}"]
    flags = ["-O1", "-fPIC", "-fvisibility=hidden", "-mbranch-protection=standard"]
    call(*GCC, *flags, *include, "-c", *sources, cwd=folder)
    return sorted(map(str, folder.glob("*.o")))


def make_program(cross: Cross, foreign: list[str], folder: Path) -> tuple[Path, Path]:
    """Builds the program; returns it and the file that contains the sites."""
    language = CXX17 if "++" in cross.compiler[0] else C11
    stems = ("here", "there", "checks", "program")
    sources = [FOLDER / f"{stem}.c" for stem in stems]
    call(*cross.compiler, *cross.flags, "-c", *language, *sources, cwd=folder)
    objects = [f"{stem}.o" for stem in stems]
    command = [*cross.compiler, *cross.flags, *cross.link, "-pthread"]
    program = folder / "program"
    if not cross.shared:
        call(*command, *objects, *foreign, "-o", program, cwd=folder)
        return program, program
    shared = folder / "libsites.so"
    call(*command, "-shared", *objects[:-1], *foreign, "-o", shared, cwd=folder)
    call(*command, objects[-1], shared, f"-Wl,-rpath,{folder}", "-o", program, cwd=folder)
    return program, shared


@pytest.mark.parametrize("cross", crosses(), ids=lambda cross: cross.id)
def test_sites(cross: Cross, foreign: list[str], library: Library, tmp_path: Path) -> None:
    """Sites work, and have right records, through each cross compiler and linker."""
    need(cross.compiler[0], "qemu-aarch64")
    program, with_sites = make_program(cross, foreign, tmp_path)
    assert call(*EMULATOR, program, str(int(not cross.drops))) == "ok\n"
    check_sites(library, with_sites)
