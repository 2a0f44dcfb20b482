# SPDX-License-Identifier: MIT
"""Stubs of thunks through compilers that optimise across files, and linkers: see thunks.c."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
from conftest import C11, CXX17, FOLDER, Library, call

if platform.machine() != "x86_64":
    pytest.skip("there are no thunks on this architecture", allow_module_level=True)

PARTITIONS = {f"lto {how}": ["-flto", f"-flto-partition={how}"] for how in ("max", "one", "none")}
OPTIONS = {
    "gcc": {"lto": ["-flto"], "lto O0": ["-flto", "-O0"], **PARTITIONS},
    "clang": {
        "lto": ["-flto", "-fuse-ld=lld"],
        "thin lto": ["-flto=thin", "-fuse-ld=lld"],
        "lto gold": ["-flto", "-fuse-ld=gold"],
    },
}
EVERY = {
    "plain": [],
    "pic": ["-fPIC"],
    "large": ["-mcmodel=large"],
    "static": ["-fno-pie", "-static"],
    "gc": ["-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections"],
}
CASES = [
    (compiler, name, flags)
    for compiler in OPTIONS
    for name, flags in {**EVERY, **OPTIONS[compiler]}.items()
]


@pytest.mark.parametrize("language", ["c", "c++"])
@pytest.mark.parametrize(
    ("compiler", "flags"),
    [(compiler, flags) for compiler, _, flags in CASES],
    ids=[f"{compiler} {name}" for compiler, name, _ in CASES],
)
def test_stubs(
    compiler: str, flags: list[str], language: str, library: Library, tmp_path: Path
) -> None:
    """Stubs of thunks survive optimisation across files, and each linker."""
    driver = compiler if language == "c" else {"gcc": "g++", "clang": "clang++"}[compiler]
    dialect = C11 if language == "c" else CXX17
    words = [driver, "-O2", *dialect, *flags, FOLDER / "thunks.c", "-x", "none", library.static]
    call(*words, "-o", "thunks", cwd=tmp_path)
    assert call(tmp_path / "thunks") == "ok\n"
