# SPDX-License-Identifier: MIT
"""The table: programs, ways to build and run them, and expected results.

A row that needs a missing fix names the finding in `lacks`, and must fail. When it no longer fails,
the test fails, and `lacks` must be removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")


@dataclass(frozen=True)
class Way:
    """A compiler with options, the installation of the library, and how programs are linked with
    it."""

    compiler: str
    flags: tuple[str, ...] = ("-O2",)
    library: str = "glibc"
    static: bool = False
    needs: tuple[str, ...] = ()


def c_and_cxx() -> Iterator[tuple[str, Way]]:
    for compiler, cxx, latest in (("gcc", "g++", "c++23"), ("clang", "clang++", "c++2b")):
        for standard in ("c11", "c17", "c2x"):
            yield f"{compiler} {standard}", Way(compiler, ("-O2", f"-std={standard}", *STRICT))
        for standard in ("c++17", "c++20", latest):
            flags = ("-O2", f"-std={standard}", *STRICT)
            yield f"{cxx} {standard}", Way(cxx, flags)


LANGUAGES = dict(c_and_cxx())

# The options for 32 bits that need no package that conflicts with the cross compilers.
M32 = ("-m32", "-rtlib=compiler-rt", "-unwindlib=none")

CODE = {
    "gcc": Way("gcc"),
    "clang": Way("clang"),
    "g++": Way("g++"),
    "clang++": Way("clang++"),
    "gcc -O0": Way("gcc", ("-O0",)),
    "gcc -O3": Way("gcc", ("-O3", "-march=native")),
    "gcc static": Way("gcc", static=True),
    "gcc no-pie": Way("gcc", ("-O2", "-fno-pie", "-no-pie")),
    "gcc no-plt": Way("gcc", ("-O2", "-fno-plt")),
    "gcc CET": Way("gcc", ("-O2", "-fcf-protection=full")),
    "gcc LTO": Way("gcc", ("-O2", "-flto")),
    "gcc LTO static": Way("gcc", ("-O2", "-flto"), static=True),
    "clang LTO": Way("clang", ("-O2", "-flto", "-fuse-ld=lld"), needs=("ld.lld",)),
    "clang ThinLTO": Way("clang", ("-O2", "-flto=thin", "-fuse-ld=lld"), needs=("ld.lld",)),
    "gcc medium": Way("gcc", ("-O2", "-mcmodel=medium")),
    "gcc large": Way("gcc", ("-O2", "-mcmodel=large")),
    "clang large": Way("clang", ("-O2", "-mcmodel=large")),
    "musl": Way("musl-gcc", library="musl"),
    "musl static": Way("musl-gcc", library="musl", static=True),
    "clang m32": Way("clang", ("-O2", *M32), library="m32"),
    "gcc m32": Way("gcc", ("-O2", "-m32"), library="m32-gcc"),
    "gcc TSan": Way("gcc", ("-O1", "-g", "-fsanitize=thread")),
    "g++ TSan": Way("g++", ("-O1", "-g", "-fsanitize=thread")),
    "clang TSan": Way("clang", ("-O1", "-g", "-fsanitize=thread")),
    "clang++ TSan": Way("clang++", ("-O1", "-g", "-fsanitize=thread")),
    "gcc ASan": Way("gcc", ("-O1", "-g", "-fsanitize=address,undefined")),
    "g++ ASan": Way("g++", ("-O1", "-g", "-fsanitize=address,undefined")),
    "clang ASan": Way("clang", ("-O1", "-g", "-fsanitize=address,undefined")),
    "clang++ ASan": Way("clang++", ("-O1", "-g", "-fsanitize=address,undefined")),
}
CAUTIOUS = ("-Wold-style-cast", "-Wuseless-cast", "-Wzero-as-null-pointer-constant", "-Wshadow")
CODE["g++ cautious"] = Way("g++", ("-O2", "-std=c++17", *STRICT, *CAUTIOUS))
WAYS = LANGUAGES | CODE

C = ("gcc", "clang")
CXX = ("g++", "clang++")
TSAN = ("gcc TSan", "clang TSan")
ASAN = ("gcc ASan", "clang ASan")
SITES = ("gcc", "clang", "gcc -O0", "gcc -O3", "gcc static", "gcc no-pie", "gcc no-plt", "gcc CET")
LTO = ("gcc LTO", "gcc LTO static", "clang LTO", "clang ThinLTO")


@dataclass(frozen=True)
class Cell:
    """A program of this folder, or a piece of source."""

    program: str
    way: str
    under: str = ""  # a row of RUNNERS in test_strangers.py
    argv: tuple[str, ...] = ()
    says: str = "ok"  # the last line that the program prints
    source: str = ""  # source that is only compiled; `says` is then "compiled"
    refused: str = ""  # the compiler prints this error
    lacks: str = ""

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.program, *self.argv, self.way, self.under)))


@dataclass
class Table:
    cells: list[Cell] = field(default_factory=list)

    def row(self, program: str, *ways: str, lacks: str = "", **rest: object) -> None:
        for way in ways:
            self.cells.append(Cell(program, way, lacks=lacks, **rest))  # type: ignore[arg-type]


TABLE = Table()
row = TABLE.row

# --- Every module, in every language ---

row("day", *LANGUAGES)
row("day", *SITES, *LTO)
row("day", "gcc medium", "gcc large", "clang large")
row("day", "musl", "musl static", "clang m32", "gcc m32")
row("day", *TSAN, *ASAN)
row("day", "gcc", under="valgrind")

# --- Symbols that only assembly names ---

row("keys", *SITES, *LTO, "gcc medium", "gcc large", "clang large")
row("keys", "musl", "musl static", "clang m32", "gcc m32")
row("thunks", *SITES, *LTO, "gcc medium", "musl", "musl static", *ASAN)

# --- Hooks ---

row("hooks", "gcc", "clang", "gcc -O0", "gcc no-pie", "gcc no-plt", "gcc CET", "gcc LTO", "musl")
row("entries", *C, "gcc static", "gcc no-pie", "gcc CET", "musl", "musl static")
row("hooks", "gcc ASan")  # with Clang's ASan, the functions are in the program, without slots

# --- Commits, with all signals that threads may block ---

row("flip", *C, "musl", "musl static", "gcc static")
row("flip", *TSAN, *ASAN)
row("flip", *C, argv=("blocked",))
row("flip", *C, argv=("handled",))
row("flip", *TSAN, argv=("handled",))

# --- Debuggers, as in the manual ---

row("flip", "gcc", under="gdb run")
row("flip", "gcc", under="gdb break and attach")
row("flip", "gcc", under="valgrind", argv=("", "100"))
row("flip", "gcc", under="valgrind smc", argv=("", "1000"))

# --- Several copies of the library ---

row("plugs", "gcc", argv=("copies", "PLUG"))
row("plugs", "gcc", argv=("loads", "PLUG"))

# --- Copies that survive ---

row("truncate", *C)

# --- C++ ---

row("namespaces", *CXX)
row("results", *CXX)
row("contexts", *CXX, "g++ ASan", "clang++ ASan", "g++ TSan", "clang++ TSan")

# --- Unsupported uses are refused with a message ---

OPERATION = "#include <carry/patch.h>\n{types}CARRY_OP({result}, op, {argument});\n"
TYPES = "typedef int pair __attribute__((vector_size(8)));\n"


def refused(name: str, sentence: str, *ways: str, **types: str) -> None:
    source = OPERATION.format(**{"result": "int", "argument": "int", "types": TYPES} | types)
    row(name, *ways, source=source, refused=sentence)


ARGUMENT = "no argument can be {}, as arguments of operations are integers and pointers"
RESULT = "the result cannot be {}, as results of operations are integers and pointers"
for kind in ("const long &", "long &", "double", "pair"):
    refused(
        f"argument {kind}",
        ARGUMENT.format(kind),
        *(CXX if "&" in kind else (*C, *CXX)),
        argument=kind,
    )
for kind in ("const float", "const double", "__complex__ float", "__float128", "pair"):
    refused(
        f"result {kind}",
        RESULT.format(kind),
        *(CXX if "const" in kind else (*C, *CXX)),
        result=kind,
    )

FUNCTION = """#include <carry/patch.h>
CARRY_OP(int, op, int);
static void twice(int a, int b) { (void)a, (void)b; }
CARRY_OP_DEFINE(op, twice);
"""
row(
    "function of another type",
    *(*C, *CXX),
    source=FUNCTION,
    refused="CARRY_OP_DEFINE(op): the function is not of the result and the arguments that",
)
row(
    "seven arguments",
    *(*C, *CXX),
    source="#include <carry/patch.h>\nCARRY_OP(int, op, int, int, int, int, int, int, int);\n",
    refused="CARRY_OP(op): operations take at most six arguments, so pass a pointer to a struct",
)
row(
    "unknown feature",
    *(*C, *CXX),
    source="#include <carry/patch.h>\nint run(void);\n"
    'int run(void) { __asm__(CARRY_ALT("nop", popcorn, "nop") :); return 0; }\n',
    refused="carry_cpu_has() knows no feature popcorn",
)

# --- Inline functions cause no warnings at the settings of C++ projects ---

CASTS = """#include <carry/carry.h>
CARRY_OP(long, op, long, const char *);
CARRY_KEY(key);
static long add(long a, const char *b) { return a + *b; }
CARRY_OP_DEFINE(op, add);
CARRY_KEY_DEFINE(key, true);
int run(struct carry_patch *patch);
int run(struct carry_patch *patch) {
    carry_patch_begin(patch);
    carry_set(patch, op, add);
    carry_enable(patch, key);
    if (carry_unlikely(key))
        return static_cast<int>(carry_call(op)(1, ""));
    return carry_patch_commit(patch);
}
"""
row("casts", "g++ cautious", source=CASTS, says="compiled")
