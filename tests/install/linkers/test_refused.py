# SPDX-License-Identifier: MIT
"""The compiler refuses what sites cannot do, or the site is left unpatched and counted."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import C11, CXX17, Library, call

OPERATION = "CARRY_OP({result}, op, {argument});\n{result} run({argument} a);\n"
OPERATION += "{result} run({argument} a) {{ return carry_call(op)(a); }}\n"
ONE_REGISTER = "of operations are integers and pointers"
ARGUMENT = "CARRY_OP(op): no argument can be {}, as arguments " + ONE_REGISTER
RESULT = "CARRY_OP(op): the result cannot be {}, as results " + ONE_REGISTER

TYPES = """
typedef double number;
typedef long pair __attribute__((vector_size(16)));
typedef int narrow_pair __attribute__((vector_size(8)));
struct wrapped { long value; };
union either { long value; void *pointer; };
"""
TYPES_CXX = """
enum class wide : __int128 { none };
struct convertible { operator long() const { return 1; } };
typedef decltype(nullptr) null;
"""

# Types that operations do not support, by their names in the message.
BAD_TYPES = (
    "float",
    "double",
    "number",
    "long double",
    "__complex__ float",
    "__complex__ double",
    "__float128",
    "__int128",
    "unsigned __int128",
    "pair",
    "narrow_pair",
    "struct wrapped",
    "union either",
)
BAD_TYPES_C = ("_Decimal64",)  # GCC only
BAD_TYPES_CXX = (
    "long &",
    "const long &",
    "long &&",
    "const double",
    "volatile float",
    "wide",
    "convertible",
    "null",
    "long wrapped::*",
)

FUNCTIONS = "CARRY_OP(int, op, int);\nCARRY_KEY(key);\n"
DEFINED = "CARRY_OP_DEFINE(op): the function is not of the result and the arguments"
SET = "void run(struct carry_patch *patch);\nvoid run(struct carry_patch *patch) "

REFUSED = {
    "floating point argument": (OPERATION.format(result="long", argument="double"), ONE_REGISTER),
    "complex argument": (
        OPERATION.format(result="long", argument="__complex__ double"),
        ONE_REGISTER,
    ),
    "long argument": (OPERATION.format(result="long", argument="__int128"), ONE_REGISTER),
    "floating point result": (OPERATION.format(result="float", argument="long"), ONE_REGISTER),
    "long result": (OPERATION.format(result="__int128", argument="long"), ONE_REGISTER),
    "void argument": ("CARRY_OP(int, op, void);\n", ARGUMENT.format("void")),
    "last of six arguments": (
        "CARRY_OP(int, op, int, int, int, int, int, float);\n",
        ARGUMENT.format("float"),
    ),
    "seven arguments": (
        "CARRY_OP(int, op, int, int, int, int, int, int, int);\n",
        "CARRY_OP(op): operations take at most six arguments, so pass a pointer to a struct",
    ),
    "fourteen arguments": (
        f"CARRY_OP(int, op, {', '.join(['int'] * 14)});\n",
        "operations take at most six arguments",
    ),
    "function with another argument": (
        FUNCTIONS + "static int f(long a) { return (int)a; }\nCARRY_OP_DEFINE(op, f);\n",
        DEFINED,
    ),
    "function with more arguments": (
        FUNCTIONS + "static int f(int a, int b) { return a + b; }\nCARRY_OP_DEFINE(op, f);\n",
        DEFINED,
    ),
    "function with another result": (
        FUNCTIONS + "static void f(int a) { (void)a; }\nCARRY_OP_DEFINE(op, &f);\n",
        DEFINED,
    ),
    "function of another call": (
        FUNCTIONS + "__attribute__((ms_abi)) int f(int a);\nCARRY_OP_DEFINE(op, f);\n",
        DEFINED,
    ),
    "resolved function": (
        FUNCTIONS + "static int f(void) { return 1; }\n"
        "static uintptr_t find(void) { return (uintptr_t)f; }\n"
        "CARRY_OP_DEFINE_RESOLVED(op, f, find);\n",
        DEFINED,
    ),
    "definition of no operation": (
        "static int f(void) { return 1; }\nCARRY_OP_DEFINE(op, f);\n",
        "carry_fn_op",
    ),
    "definition of no key": ("CARRY_KEY_DEFINE(key, true);\n", "carry_likely_key"),
    "function that is set": (
        FUNCTIONS + f"static void f(int a) {{ (void)a; }}\n{SET}{{ carry_set(patch, op, f); }}\n",
        ": the function is not of the result and the arguments that CARRY_OP declares",
    ),
    "operation as a key": (FUNCTIONS + SET + "{ carry_enable(patch, op); }\n", "carry_key_op"),
    "import by other types": (
        "#include <carry/sum.h>\nCARRY_OP(long, carry_sum, const void *);\n",
        "carry_fn_carry_sum",
    ),
    "body of a function that others may replace": (
        "long plain(long a);\n"
        'long plain(long a) { CARRY_BODY(plain, "lea 1(%%rdi), %%rax"); return a + 1; }\n',
        "constraint",
    ),
    "body of a pointer": (
        "static long (*pointer)(long);\nlong plain(long a);\n"
        'long plain(long a) { CARRY_BODY(pointer, "lea 1(%%rdi), %%rax"); return a + 1; }\n',
        "CARRY_BODY(pointer): no name of a function",
    ),
    "unknown feature": (
        'void run(void);\nvoid run(void) { __asm__(CARRY_ALT("nop", popcorn, "nop") :); }\n',
        "carry_cpu_has() knows no feature popcorn",
    ),
    "feature of another architecture": (
        'void run(void);\nvoid run(void) { __asm__(CARRY_ALT_ONE("nop", neon, "nop") :); }\n',
        "carry_cpu_has() knows no feature neon",
    ),
    "alternative by a key without its input": (
        "CARRY_KEY(key);\nvoid run(void);\n"
        'void run(void) { __asm__(CARRY_ALT_KEY("nop", key, "nop") :); }\n',
        "CARRY_ALT_INPUT_",
    ),
    "thunk of something else": (
        "#include <carry/thunk.h>\nstatic int descriptor;\nCARRY_THUNK(name, descriptor)\n",
        "CARRY_THUNK(name): the descriptor is a struct carry_thunk of this file",
    ),
    "thunk of another file": (
        "#include <carry/thunk.h>\nextern struct carry_thunk other;\nCARRY_THUNK(name, other)\n",
        "other",
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


COMPILERS = ("gcc", "clang", "g++", "clang++")
DIALECTS = {"g++": ("c++17", "c++20", "c++23"), "clang++": ("c++17", "c++20", "c++2b")}


def errors_of(folder: Path, compiler: str, source: str, *flags: str) -> str:
    path = folder / "refused.c"
    path.write_text(f"#include <carry/patch.h>\n{source}")
    language = CXX17 if compiler.endswith("++") else C11
    words = [compiler, "-O2", "-fPIC", *language, *flags, "-c", str(path), "-o", "refused.o"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=600)
    return done.stderr if done.returncode else ""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("case", REFUSED)
def test_refused(compiler: str, case: str, tmp_path: Path) -> None:
    source, message = REFUSED[case]
    assert message in errors_of(tmp_path, compiler, source)


def bad_types(compiler: str) -> tuple[str, ...]:
    if compiler.endswith("++"):
        return BAD_TYPES + BAD_TYPES_CXX
    return BAD_TYPES + (BAD_TYPES_C if compiler == "gcc" else ())


@pytest.mark.parametrize(
    ("compiler", "dialect"),
    [(c, d) for c in COMPILERS for d in DIALECTS.get(c, ("c11", "c17", "c2x"))],
)
@pytest.mark.parametrize("sites", ["", "-DCARRY_NO_SITES", "-mcmodel=large"])
def test_types(compiler: str, dialect: str, sites: str, tmp_path: Path) -> None:
    """Each type is refused by its name, as argument and as result, with sites and without."""
    source = TYPES + (TYPES_CXX if compiler.endswith("++") else "")
    messages = []
    for i, name in enumerate(bad_types(compiler)):
        source += f"CARRY_OP(int, takes{i}, {name});\nCARRY_OP({name}, gives{i}, int);\n"
        messages.append(ARGUMENT.format(name).replace("(op)", f"(takes{i})"))
        messages.append(RESULT.format(name).replace("(op)", f"(gives{i})"))
    most = "-ferror-limit=0" if compiler.startswith("clang") else "-fmax-errors=0"
    errors = errors_of(tmp_path, compiler, source, f"-std={dialect}", most, *sites.split())
    assert [message for message in messages if message not in errors] == []


CAUTIOUS = ["-Wpedantic", "-Wshadow", "-Wconversion", "-Wsign-conversion", "-Wcast-qual", "-Wundef"]
CAUTIOUS_CXX = ["-Wold-style-cast", "-Wzero-as-null-pointer-constant", "-Wextra-semi"]
CAUTIOUS_C = ["-Wstrict-prototypes", "-Wmissing-prototypes", "-Wpointer-arith"]

EVERY_MACRO = """
#include <carry/carry.h>
#include <carry/jit.h>
#ifdef __cplusplus
#define C_LINKAGE extern "C"
namespace apart {
#else
#define C_LINKAGE extern
#endif
CARRY_OP(long, op, long, const char *);
CARRY_OP(void, act);
CARRY_OP(uint32_t, later, bool);
CARRY_KEY(key);
CARRY_KEY_STATIC(own, false);
static long add(long a, const char *b) {
    return a + *b;
}
static uint32_t one(bool a) {
    CARRY_BODY(one, "mov $1, %%eax");
    return a ? 1 : 1;
}
static uintptr_t find(void) {
    return 0;
}
CARRY_OP_DEFINE(op, add);
CARRY_OP_DEFINE(act, CARRY_OP_NOTHING(act));
CARRY_OP_DEFINE_RESOLVED(later, &one, find);
CARRY_KEY_DEFINE(key, true);
CARRY_OP_EXPORT(op);
CARRY_KEY_EXPORT(key);
CARRY_PATCH_OBJECT;
CARRY_HOOK_ENTRIES;

int set(struct carry_patch *patch);
int set(struct carry_patch *patch) {
    carry_patch_begin(patch);
    carry_set(patch, op, add);
    carry_set(patch, act, CARRY_OP_NOTHING(act));
    carry_set(patch, later, carry_get(later));
    carry_enable(patch, key);
    carry_disable(patch, own);
    return carry_patch_commit(patch);
}

long run(long a);
long run(long a) {
    if (carry_unlikely(key) || carry_likely(own))
        carry_call(act)();
    __asm__(CARRY_ALT("nop", avx2, "nop") : "+r"(a));
    __asm__(CARRY_ALT_KEY("nop", own, "nop") : "+r"(a) : CARRY_ALT_INPUT(own));
    return carry_call(op)(a, "") + carry_call(later)(true) + CARRY_JIT_SUM_SIZE_MAX;
}
#ifdef __cplusplus
}
#endif

/* Names in a namespace do not hide global ones. */
CARRY_OP(uint32_t, carry_sum, const void *, size_t, uint32_t);
CARRY_OP_IMPORT(carry_sum);
CARRY_KEY(imported);
CARRY_KEY_IMPORT(imported);
C_LINKAGE CARRY_HIDDEN struct carry_thunk descriptor;
struct carry_thunk descriptor;
C_LINKAGE int stub(int a);
CARRY_THUNK(stub, descriptor)
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("sites", ["", "-DCARRY_NO_SITES"])
def test_no_warnings(compiler: str, sites: str, tmp_path: Path) -> None:
    """The macros compile without warnings at the compilers' strictest settings."""
    flags = [*CAUTIOUS, *(CAUTIOUS_CXX if compiler.endswith("++") else CAUTIOUS_C)]
    flags += ["-Wuseless-cast"] if compiler == "g++" else []
    assert errors_of(tmp_path, compiler, EVERY_MACRO, *flags, *sites.split()) == ""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_nothing_is_left_behind(compiler: str, level: str, tmp_path: Path) -> None:
    """The object has no copy of an inline function of <carry/sum.h>, and no constructor that the
    compiler generated."""
    source = EVERY_MACRO + "uint32_t sum(const void *data, size_t size, uint32_t seed);\n"
    source += "uint32_t sum(const void *data, size_t size, uint32_t seed) {\n"
    source += "return carry_sum_finish_nonzero(carry_sum(data, size, seed)); }\n"
    assert errors_of(tmp_path, compiler, source, level) == ""
    symbols = call("nm", "refused.o", cwd=tmp_path).splitlines()
    made = {name for kind, name in (line.split()[-2:] for line in symbols) if kind in "TVWtu"}
    assert [name for name in made if name.startswith(("carry_sum", "_GLOBAL_"))] == []


def test_longer_replacement_clang(tmp_path: Path) -> None:
    """Clang refuses a replacement that is longer than its site."""
    assert "invalid number of bytes" in errors_of(tmp_path, "clang", LONGER)


def test_longer_replacement_gcc(library: Library, tmp_path: Path) -> None:
    """GNU as only warns by default; the site is left unpatched, and counted."""
    assert "negative value" in errors_of(tmp_path, "gcc", LONGER, "-Wa,--fatal-warnings")
    assert errors_of(tmp_path, "gcc", LONGER) == ""
    call("gcc", "-pthread", "refused.o", *library.shared, "-o", "refused", cwd=tmp_path)
    assert call(tmp_path / "refused") == "ok\n"
