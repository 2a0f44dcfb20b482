# SPDX-License-Identifier: MIT
"""What sites cannot do is refused by the compiler, or left alone and counted; never done wrong."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import C11, CXX17, Library, call

OPERATION = "CARRY_OP({result}, op, {argument});\n{result} run({argument} a);\n"
OPERATION += "{result} run({argument} a) {{ return carry_call(op)(a); }}\n"
ONE_REGISTER = "of operations are integers and pointers"

REFUSED = {
    "floating point argument": (OPERATION.format(result="long", argument="double"), ONE_REGISTER),
    "complex argument": (
        OPERATION.format(result="long", argument="__complex__ double"),
        ONE_REGISTER,
    ),
    "long argument": (OPERATION.format(result="long", argument="__int128"), ONE_REGISTER),
    "floating point result": (OPERATION.format(result="float", argument="long"), ONE_REGISTER),
    "long result": (OPERATION.format(result="__int128", argument="long"), ONE_REGISTER),
    "seven arguments": ("CARRY_OP(int, op, int, int, int, int, int, int, int);\n", "expected"),
    "body of a function that others may replace": (
        "long plain(long a);\n"
        'long plain(long a) { CARRY_BODY(plain, "lea 1(%%rdi), %%rax"); return a + 1; }\n',
        "constraint",
    ),
}

LONGER = """
#include "expect.h"
#include <carry/patch.h>
CARRY_OP(long, op, long);
static long same(long a) { return a; }
CARRY_OP_DEFINE(op, same);
int main(void) {
    struct carry_patch_counts stats;
    long result_of_alternative;
    EXPECT(carry_patch_apply(0), CARRY_OK);
    __asm__(CARRY_ALT_ONE("lea 4(%1), %0", sse42, "lea 0x12345(%1), %0")
            : "=a"(result_of_alternative) : "D"(3L));
    EXPECT(result_of_alternative, 7);
    EXPECT(carry_call(op)(4), 4);
    carry_patch_stats(&stats);
    EXPECT(stats.unpatched[CARRY_PATCH_UNKNOWN_KIND], 1);
    return result();
}
"""


def errors_of(folder: Path, compiler: str, source: str, *flags: str) -> str:
    path = folder / "refused.c"
    path.write_text(f"#include <carry/patch.h>\n{source}")
    language = CXX17 if compiler.endswith("++") else C11
    words = [compiler, "-O2", "-fPIC", *language, *flags, "-c", str(path), "-o", "refused.o"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=60)
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++", "clang++"])
@pytest.mark.parametrize("case", REFUSED)
def test_refused(compiler: str, case: str, tmp_path: Path) -> None:
    source, message = REFUSED[case]
    assert message in errors_of(tmp_path, compiler, source)


@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++", "clang++"])
def test_no_warnings(compiler: str, tmp_path: Path) -> None:
    source = OPERATION.format(result="long", argument="long")
    source += "CARRY_KEY(key);\nint ask(void);\nint ask(void) { return carry_unlikely(key); }\n"
    assert errors_of(tmp_path, compiler, source, "-Wshadow", "-Wconversion") == ""


def test_longer_replacement_clang(tmp_path: Path) -> None:
    assert "invalid number of bytes" in errors_of(tmp_path, "clang", LONGER)


def test_longer_replacement_gcc(library: Library, tmp_path: Path) -> None:
    """GNU as only warns, unless told otherwise; the site stays as it is, and is counted."""
    assert "negative value" in errors_of(tmp_path, "gcc", LONGER, "-Wa,--fatal-warnings")
    assert errors_of(tmp_path, "gcc", LONGER) == ""
    call("gcc", "-pthread", "refused.o", *library.shared, "-o", "refused", cwd=tmp_path)
    assert call(tmp_path / "refused") == "ok\n"
