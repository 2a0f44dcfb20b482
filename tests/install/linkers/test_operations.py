# SPDX-License-Identifier: MIT
"""Operations receive their arguments unchanged, in all dialects of C and C++: see operations.c."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import C11, CXX17, FOLDER, Library, call

DIALECTS = {
    "gcc": ("c11", "c17", "c2x"),
    "clang": ("c11", "c17", "c2x"),
    "g++": ("c++17", "c++20", "c++23"),
    "clang++": ("c++17", "c++20", "c++2b"),
}
OPTIONS = {
    "O0": ["-O0"],
    "O2": ["-O2"],
    "no sites": ["-O2", "-DCARRY_NO_SITES"],
    "large": ["-O2", "-mcmodel=large"],
    "undefined": ["-O1", "-fsanitize=undefined", "-fno-sanitize-recover=all"],
}


@pytest.mark.parametrize(
    ("compiler", "dialect"), [(c, d) for c, dialects in DIALECTS.items() for d in dialects]
)
@pytest.mark.parametrize("options", OPTIONS)
def test_values(
    compiler: str, dialect: str, options: str, library: Library, tmp_path: Path
) -> None:
    """Operations receive their arguments unchanged."""
    words = [compiler, *(CXX17 if compiler.endswith("++") else C11), f"-std={dialect}"]
    words += [*OPTIONS[options], "-Wno-ignored-qualifiers", FOLDER / "operations.c"]
    call(*words, "-x", "none", library.static, "-o", "operations", cwd=tmp_path)
    assert call(tmp_path / "operations") == "ok\n"


SHARED = """
#include <carry/patch.h>
CARRY_OP(int, op, int);
CARRY_KEY(key);
#ifdef __cplusplus
extern "C"
#endif
int use(void);
"""
DEFINES = """
#include "expect.h"
static int twice(int a) { return 2 * a; }
static int thrice(int a) { return 3 * a; }
CARRY_OP_DEFINE(op, twice);
CARRY_KEY_DEFINE(key, false);
int main(void) {
    struct carry_patch patch;
    EXPECT(use(), 20);
    carry_patch_begin(&patch);
    carry_set(&patch, op, thrice);
    carry_enable(&patch, key);
    EXPECT(carry_patch_commit(&patch), CARRY_OK);
    EXPECT(use(), 31);
    return result();
}
"""
USES = "int use(void) { return carry_call(op)(10) + (carry_unlikely(key) ? 1 : 0); }\n"


@pytest.mark.parametrize("compilers", [("gcc", "g++"), ("clang", "clang++"), ("clang", "g++")])
@pytest.mark.parametrize("defines", ["c", "c++"])
def test_names_of_two_languages(
    compilers: tuple[str, str], defines: str, library: Library, tmp_path: Path
) -> None:
    """Outside namespaces, C and C++ share operations and keys."""
    for language, compiler, flags in zip(("c", "c++"), compilers, (C11, CXX17), strict=True):
        text = SHARED + (DEFINES if language == defines else USES)
        (tmp_path / f"{language}.c").write_text(text)
        call(compiler, "-O2", *flags, "-c", f"{language}.c", cwd=tmp_path)
    call(compilers[1], "c.o", "c++.o", library.static, "-pthread", "-o", "both", cwd=tmp_path)
    assert call(tmp_path / "both") == "ok\n"
