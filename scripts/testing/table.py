# SPDX-License-Identifier: MIT
"""The table of steps: what each runs, and the files that decide its result.

Compilers and tests in Python report the files that they read: a step fails if one of these is
missing from its row.
"""

from testing import bindings, crates, installed, programs, sources
from testing.inputs import BUILD, CAPTURE, CORE, JIT, MANUAL, PROGRAMS, PYTHON, TOOL
from testing.runner import Place, Step

# The files that decide the results of the tool's tests, except the files that a build compiles.
TESTS = (
    "tests/tool/",
    "tests/harness/",
    "tests/unit/hook/",
    "docs/schema/",
    "docs/man/",
    "docs/sandbox.md",
)
TESTS += (
    "tests/house/test_manual.py",
    "tests/house/test_second_opinion.py",
    "bindings/luajit/",
    "tests/unit/luajit/",
    "tests/unit/audit/conftest.py",
    "scripts/check_*.py",
)
TESTS += ("scripts/source_text.py",)
BINDING = ("tests/unit/bindings/", "tests/harness/", "docs/", "README.md", "scripts/check_site.py")
LOCKS = ("scripts/pip/", "scripts/lock_tools.py")
STRANGERS = ("cmake/", "docs/man/", "docs/explanation/architecture.md", "LICENSE")
STRANGERS += ("tests/install/strangers/", "scripts/uninstall.py")
C_TESTS = (*CORE, *JIT, *CAPTURE, *PROGRAMS, "tests/mutants/", "tests/harness/", "tests/unit/hook/")
C_TESTS += ("tools/carry/bench/patch_*", "tools/carry/common/", "tools/carry/cpu/claims*")
C_TESTS += ("tools/carry/commands.def",)
# A fuzz target reads sites as the tool does, if the tool is built.
WITH_TOOL = (*C_TESTS, "tools/carry/sites/")
EVERYTHING = ("*",)

# The steps of `make test` come first: at level short, with one compiler and few packages.
STEPS = [
    Step("gcc", "gcc -O2: C tests", programs.gcc, WITH_TOOL, place=Place.MORE),
    Step(
        "tool",
        "the tool, on captures",
        programs.tool,
        (*BUILD, *TESTS, "ports/baremetal/"),
        place=Place.MORE,
    ),
    Step(
        "package",
        "libcarry for Python, with what is installed",
        bindings.package,
        (*BUILD, *BINDING),
        place=Place.FIRST,
        aside=True,
    ),
    Step(
        "headers",
        "public headers alone, as C11 and C++17",
        sources.headers,
        ("include/",),
        place=Place.MORE,
    ),
    Step("layers", "include graph", sources.layers, EVERYTHING, place=Place.SAME),
    Step("style", "formatters, linter, licence lines", sources.style, EVERYTHING, place=Place.SAME),
    Step("commits", "commit messages", sources.commits, EVERYTHING, place=Place.SAME),
    Step(
        "documents",
        "documents, scripts and records, as tests read them",
        programs.documents,
        EVERYTHING,
    ),
    Step("clang", "clang -O2: of the tool what looks at code", programs.clang, (*BUILD, *TESTS)),
    Step(
        "optimize",
        "gcc -O0, gcc and clang -O3 -march=native: C tests",
        programs.optimize,
        C_TESTS,
        captures=False,
    ),
    Step(
        "sanitize",
        "address and undefined behaviour sanitizers: C tests",
        programs.sanitize,
        WITH_TOOL,
    ),
    Step(
        "tool-san",
        "address and undefined behaviour sanitizers: the tool",
        programs.sanitize_tool,
        (*BUILD, *TESTS),
    ),
    Step("valgrind", "valgrind: C tests", programs.valgrind, WITH_TOOL, captures=False),
    Step(
        "old-cpus",
        f"CPUs {' '.join(programs.OLD_CPUS)}: C tests of what depends on them",
        programs.old_cpus,
        WITH_TOOL,
        captures=False,
    ),
    Step(
        "aarch64",
        "aarch64, emulated: C tests",
        programs.aarch64,
        (
            *BUILD,
            "abi/",
            "proof/",
            "tests/install/linkers/",
            "tests/unit/proof/",
            "scripts/",
            "NEWS.md",
        ),
    ),
    Step("s390x", "s390x, big-endian, emulated: C tests", programs.s390x, C_TESTS, captures=False),
    Step(
        "riscv64",
        "RISC-V, emulated: sums, copies and packets",
        programs.riscv64,
        C_TESTS,
        aside=True,
        captures=False,
    ),
    # Floors and reasons were recorded on one CPU; other CPUs reach other branches.
    Step(
        "coverage",
        "branches and MC/DC of the libraries, by clang-19",
        programs.coverage,
        (*BUILD, *TESTS, "tests/house/coverage/", "scripts/check_coverage.py"),
    ),
    Step(
        "completions",
        "words that bash, zsh and fish complete",
        programs.completions,
        (*BUILD, *TESTS),
    ),
    Step(
        "linkers",
        "patched sites through compilers, options, linkers and objects",
        programs.linkers,
        (
            *BUILD,
            "tests/install/linkers/",
            "tests/unit/audit/conftest.py",
            "tests/harness/captures.py",
        ),
        captures=False,
    ),
    Step(
        "binding",
        "libcarry for Python, with sanitizers too",
        bindings.binding,
        (*BUILD, *BINDING, *LOCKS),
        aside=True,
    ),
    Step(
        "audit",
        "archives of captures, on engines and stores",
        bindings.audit,
        (*BUILD, *LOCKS, "tests/unit/audit/", "tests/harness/", "docs/schema/", "bench/archive.py"),
        aside=True,
    ),
    Step(
        "ring0",
        "the core in a kernel, on emulated CPUs",
        programs.ring0,
        (*CORE, *PROGRAMS, "ports/", "tests/unit/ring0/", "tests/harness/", "tools/carry/common/"),
        aside=True,
        captures=False,
    ),
    Step(
        "symbols",
        "freestanding core, exports, no circles of files",
        sources.symbols,
        (*BUILD, "scripts/", "abi/"),
        captures=False,
    ),
    Step(
        "readme",
        "the README's table, its one-line build, programs of documents",
        sources.readme,
        (*BUILD, *MANUAL, "bench/"),
        captures=False,
    ),
    Step("fuzz", f"fuzz targets, {programs.FUZZ_SECONDS} s each", programs.fuzz, WITH_TOOL),
    Step(
        "no-jit",
        "configured without what libcarry-jit, or compression, needs",
        sources.without_jit,
        (*CORE, "capture/unpackers.def", "tools/carry/commands.def"),
        captures=False,
    ),
    Step(
        "install",
        "installed files, as pkg-config and CMake find them",
        installed.install,
        (*BUILD, "docs/man/", "LICENSE", "cmake/", "scripts/check_install"),
        captures=False,
    ),
    Step(
        "strangers",
        "programs of strangers, by installed files alone",
        installed.strangers,
        (*BUILD, *STRANGERS),
        captures=False,
    ),
    Step(
        "wheel",
        "wheels for Python, in systems with little else",
        installed.wheel,
        (*CORE, *JIT, *TOOL, *PYTHON, *MANUAL, "tests/install/wheel/", "scripts/", "examples/"),
        aside=True,
    ),
    Step(
        "static",
        "the command as one file, where there is nothing else",
        installed.static,
        (*BUILD, "tests/install/static/", "scripts/", "packaging/", "LICENSE"),
        aside=True,
    ),
    Step(
        "crate",
        "the crates for Rust, as they are packed",
        crates.crate,
        (*CORE, *CAPTURE, "bindings/rust/", "scripts/", "examples/", "LICENSE"),
        aside=True,
    ),
    Step(
        "deb",
        "Debian packages: made, installed, used, upgraded, removed",
        installed.deb,
        EVERYTHING,
        aside=True,
    ),
    Step(
        "release",
        "the source archive, built twice, and files for others",
        installed.release,
        EVERYTHING,
        aside=True,
    ),
    Step(
        "docs",
        "the manual's site, in a browser that follows each link",
        installed.docs,
        EVERYTHING,
        aside=True,
        captures=False,
    ),
    Step(
        "proof",
        "kernels for every content, models of patching, the walk",
        programs.proof,
        (
            *BUILD,
            "proof/",
            "tests/unit/proof/",
            "tests/unit/ring0/",
            "scripts/",
            "ports/baremetal/",
        ),
        aside=True,
        captures=False,
    ),
    Step(
        "instructions",
        "instructions of calls, as callgrind counts them",
        programs.instructions,
        (*BUILD, "bench/", "tests/unit/instructions/", "scripts/"),
        captures=False,
    ),
]
