# SPDX-License-Identifier: MIT
"""What compilers for AArch64 make of sites, by settings that no test has that runs there."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from conftest import SOURCE, call

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


def assembly(source: str, folder: Path, *compiler: str) -> str:
    """What a compiler makes of a source; the test is skipped without this compiler."""
    if not shutil.which(compiler[0]):
        pytest.skip(f"{compiler[0]} is not installed")
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
