# SPDX-License-Identifier: MIT
"""Sites, thunks and hooks compiled for AArch64 with settings, compilers and linkers that the tests
of the step aarch64 do not use."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from conftest import C11, CXX17, EMULATOR, FOLDER, SOURCE, call, need

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

# Exits with 0 if a jump to the next instruction is 01 00 00 14.
JUMP = """
#include "patch/patch.h"
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


def assembly(source: str, folder: Path, *compiler: str) -> str:
    """What a compiler makes of a source; the test is skipped without this compiler."""
    need(compiler[0])
    (folder / "source.c").write_text(source)
    for form, name in ("-c", "source.o"), ("-S", "source.s"):
        call(*compiler, *FLAGS, form, "-o", folder / name, folder / "source.c")
    return (folder / "source.s").read_text()


@pytest.mark.parametrize("position", ["-fPIC", "-fno-pic"])
@pytest.mark.parametrize("level", ["-O0", "-O2", "-O3", "-Oz"])
@pytest.mark.parametrize("compiler", ["clang", "clang-19"])
def test_merged_keys(compiler: str, level: str, position: str, tmp_path: Path) -> None:
    assert "carry_sites" in assembly(KEYS, tmp_path, compiler, TARGET, level, position)


@pytest.mark.parametrize("compiler", [["aarch64-linux-gnu-gcc"], ["clang-19", TARGET]])
def test_predicates_are_saved(compiler: list[str], tmp_path: Path) -> None:
    """Also where SVE is for one function, not the file: calls change all predicate registers."""
    text = assembly(PREDICATE, tmp_path, *compiler, "-O2")
    assert re.search(r"\bstr\s+p\d", text), text


@pytest.mark.parametrize("order", ["little", "big"])
def test_instructions_are_little_endian(order: str, tmp_path: Path) -> None:
    compiler = "aarch64-linux-gnu-gcc"
    emulator = {"little": "qemu-aarch64", "big": "qemu-aarch64_be"}[order]
    need(compiler, emulator)
    (tmp_path / "jump.c").write_text(JUMP)
    own = [tmp_path / "jump.c", SOURCE / "src" / "patch" / "aarch64" / "encode.c"]
    headers = call(compiler, "-print-file-name=include").strip()
    alone = ["-nostdinc", "-isystem", headers, "-nostdlib", "-static", f"-I{SOURCE / 'src'}"]
    program = tmp_path / "jump"
    call(compiler, *FLAGS, *alone, f"-m{order}-endian", "-O2", *own, "-o", program)
    call("timeout", "-s", "KILL", "60", emulator, program)


@pytest.mark.parametrize(
    "source", sorted((SOURCE / "src").glob("*/aarch64/*.S")), ids=lambda path: path.parts[-3]
)
def test_assembly_keeps_bti(source: Path, tmp_path: Path) -> None:
    """One object without the note takes it from the whole program."""
    compiler = "aarch64-linux-gnu-gcc"
    need(compiler)
    includes = [f"-I{SOURCE / 'include'}", f"-I{SOURCE / 'src'}"]
    call(compiler, *includes, "-c", source, "-o", tmp_path / "object.o")
    assert "AArch64 feature: BTI" in call("readelf", "--notes", tmp_path / "object.o")


# Callers of functions with entries must not rely on the registers that those leave alone.
GCC = ["aarch64-linux-gnu-g++", "-fno-ipa-ra"]
CLANG = ["clang++", TARGET]
LINKED = {
    "gcc bfd": [*GCC, "-fuse-ld=bfd"],
    "gcc gold": [*GCC, "-fuse-ld=gold"],
    "clang bfd": [*CLANG, "-fuse-ld=bfd"],
    "clang gold": [*CLANG, "-fuse-ld=gold"],
    "clang lld": [*CLANG, "-fuse-ld=lld"],
}
CALLS = {
    "lazy": ["-Wl,-z,lazy"],
    "relro": ["-Wl,-z,relro,-z,now"],
    "no-plt": ["-fno-plt"],
    "no-pie": ["-fno-pie", "-no-pie"],
    "bti": ["-mbranch-protection=standard"],
    "gc": ["-ffunction-sections", "-Wl,--gc-sections"],
}


@pytest.fixture(scope="module", params=LINKED)
def linked(request: pytest.FixtureRequest) -> list[str]:
    words = LINKED[request.param]
    need(words[0], "ld.lld" if words[-1].endswith("lld") else "aarch64-linux-gnu-gcc")
    return [*words, "-O2"]


@pytest.mark.parametrize("how", CALLS)
def test_hooks(linked: list[str], how: str, core: Path, tmp_path: Path) -> None:
    hooked = tmp_path / "libhooked.so"
    command = [*linked, *CXX17, *CALLS[how]]
    call(*linked, *CXX17, "-fPIC", "-shared", FOLDER / "hooked.cc", "-o", hooked)
    program = tmp_path / "hooks"
    libraries = ["-x", "none", hooked, core / "libcarry.so"]
    call(*command, FOLDER / "hooks.cc", *libraries, "-o", program)
    path = ["-E", f"LD_LIBRARY_PATH={core}:{tmp_path}"]
    assert call(*EMULATOR, *path, program, "calls") == "ok\n"


@pytest.mark.parametrize("how", [["-fno-pie", "-static"], ["-fPIE", "-static-pie"]], ids=" ".join)
def test_static_hooks(linked: list[str], how: list[str], core: Path, tmp_path: Path) -> None:
    if linked[-2].endswith("gold"):
        pytest.skip("exceptions do not work in static programs of gold, which makes no static PIE")
    sources = [FOLDER / "hooks.cc", FOLDER / "hooked.cc", "-x", "none", core / "carry.o"]
    call(*linked, *CXX17, *how, *sources, "-o", tmp_path / "hooks")
    assert call(*EMULATOR, tmp_path / "hooks", "static") == "ok\n"


@pytest.mark.parametrize("how", ["-fPIC", "-fno-pie -static", "-flto", "-O0"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("language", ["c", "c++"])
def test_thunks(compiler: str, language: str, how: str, core: Path, tmp_path: Path) -> None:
    drivers = {
        ("gcc", "c"): ["aarch64-linux-gnu-gcc"],
        ("gcc", "c++"): ["aarch64-linux-gnu-g++"],
        ("clang", "c"): ["clang", TARGET, "-fuse-ld=lld"],
        ("clang", "c++"): ["clang++", TARGET, "-fuse-ld=lld"],
    }
    driver = drivers[compiler, language]
    need(driver[0], *(["ld.lld"] if compiler == "clang" else []))
    dialect = C11 if language == "c" else CXX17
    sources = [FOLDER / "thunks.c", "-x", "none", core / "carry.o"]
    call(*driver, "-O2", *dialect, *how.split(), *sources, "-o", tmp_path / "thunks")
    assert call(*EMULATOR, tmp_path / "thunks") == "ok\n"
