# SPDX-License-Identifier: MIT
"""Hooks and thunks compiled for AArch64 with compilers and linkers that the tests of the step
aarch64 do not use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from conftest import C11, CXX17, EMULATOR, FOLDER, call, need

TARGET = "--target=aarch64-linux-gnu"
# With -fipa-ra, callers rely on registers that the called function happens not to change; hooks
# change them.
GCC = ["aarch64-linux-gnu-g++", "-fno-ipa-ra"]
CLANG = ["clang++", TARGET]
LINKED = {
    "gcc bfd": [*GCC, "-fuse-ld=bfd"],
    "gcc gold": [*GCC, "-fuse-ld=gold"],
    "clang bfd": [*CLANG, "-fuse-ld=bfd"],
    "clang gold": [*CLANG, "-fuse-ld=gold"],
    "clang lld": [*CLANG, "-fuse-ld=lld"],
}
if os.environ.get("CARRY_TEST_LEVEL", "medium") != "long":
    LINKED = {name: LINKED[name] for name in ("gcc bfd", "clang lld")}
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
    """Calls are hooked through each compiler and linker."""
    hooked = tmp_path / "libhooked.so"
    command = [*linked, *CXX17, *CALLS[how]]
    call(*linked, *CXX17, "-fPIC", "-shared", FOLDER / "hooked.cc", "-o", hooked)
    program = tmp_path / "hooks"
    libraries = ["-x", "none", hooked, core / "libcarry.so"]
    call(*command, FOLDER / "hooks.cc", *libraries, "-o", program)
    path = ["-E", f"LD_LIBRARY_PATH={core}:{tmp_path}"]
    assert call(*EMULATOR, *path, program, "calls") == "ok\n"


# Exceptions do not work in static programs that gold links, and gold cannot link static PIEs.
@pytest.mark.parametrize("linked", [name for name in LINKED if "gold" not in name], indirect=True)
@pytest.mark.parametrize("how", [["-fno-pie", "-static"], ["-fPIE", "-static-pie"]], ids=" ".join)
def test_static_hooks(linked: list[str], how: list[str], core: Path, tmp_path: Path) -> None:
    """Functions of static programs are hooked at their entry."""
    sources = [FOLDER / "hooks.cc", FOLDER / "hooked.cc", "-x", "none", core / "carry.o"]
    call(*linked, *CXX17, *how, *sources, "-o", tmp_path / "hooks")
    assert call(*EMULATOR, tmp_path / "hooks", "static") == "ok\n"


@pytest.mark.parametrize("how", ["-fPIC", "-fno-pie -static", "-flto", "-O0"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("language", ["c", "c++"])
def test_thunks(compiler: str, language: str, how: str, core: Path, tmp_path: Path) -> None:
    """Thunks pass on arguments and results in C and C++."""
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
