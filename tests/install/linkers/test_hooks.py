# SPDX-License-Identifier: MIT
"""Hooks through several compilers and linkers: see hooks.cc."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from conftest import CXX17, FOLDER, Library, call

if platform.machine() != "x86_64":
    pytest.skip("there are no hooks on this architecture", allow_module_level=True)

# Ways in which a program calls a shared object; a static program does not call one.
CALLS = {
    "lazy": ["-Wl,-z,lazy"],
    "now": ["-Wl,-z,now"],
    "relro": ["-Wl,-z,relro,-z,now"],
    "norelro": ["-Wl,-z,norelro"],
    "no-plt": ["-fno-plt"],
    "no-pie": ["-fno-pie", "-no-pie"],
    "ibt": ["-fcf-protection"],
    "gc": ["-ffunction-sections", "-Wl,--gc-sections"],
}
STATIC = {
    "static": ["-fno-pie", "-static"],
    "static-pie": ["-fPIE", "-static-pie"],
}
# With -fipa-ra, callers rely on registers that the called function happens not to change; hooks
# change them.
OPTIONS = {"g++": ["-fno-ipa-ra"], "clang++": []}


class Hooks:
    """The program's source, compiled and linked in one way."""

    def __init__(self, compiler: str, linker: str, folder: Path, library: Library) -> None:
        self.command = [compiler, "-O2", *OPTIONS[compiler], *CXX17, f"-fuse-ld={linker}"]
        self.folder = folder
        self.carry = library
        self.hooked = folder / "libhooked.so"
        call(*self.command, "-fPIC", "-shared", FOLDER / "hooked.cc", "-o", self.hooked)

    def run(self, flags: list[str], kind: str) -> str:
        program = self.folder / "hooks"
        source = [FOLDER / "hooks.cc"]
        if kind == "static":
            rest = [FOLDER / "hooked.cc", "-x", "none", self.carry.static]
        else:
            rest = ["-x", "none", self.hooked, f"-Wl,-rpath,{self.folder}", *self.carry.shared]
        call(*self.command, *flags, *source, *rest, "-o", program)
        return call(program, kind)


@pytest.fixture(
    scope="module",
    params=[(compiler, linker) for compiler in OPTIONS for linker in ("bfd", "gold", "lld")],
    ids=" ".join,
)
def hooks(
    request: pytest.FixtureRequest, library: Library, tmp_path_factory: pytest.TempPathFactory
) -> Hooks:
    return Hooks(*request.param, tmp_path_factory.mktemp("hooks"), library)


@pytest.mark.parametrize("how", CALLS)
def test_calls_and_entries(hooks: Hooks, how: str) -> None:
    assert hooks.run(CALLS[how], "calls") == "ok\n"


@pytest.mark.parametrize("how", STATIC)
def test_entries_of_static_programs(hooks: Hooks, how: str) -> None:
    """Functions of static programs are hooked at their entry."""
    if how == "static-pie" and "gold" in " ".join(hooks.command):
        pytest.skip("gold makes no static PIE")
    assert hooks.run(STATIC[how], "static") == "ok\n"
