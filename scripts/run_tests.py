#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""All tests, as named steps: what `make test` runs.

usage: run_tests.py [--quick] [STEP...]      `list` names the steps

Everything is built below build-test/; each step's output goes to build/test-logs/STEP.log.
"""

import bz2
import contextlib
import fcntl
import gzip
import itertools
import lzma
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import check_coverage
import check_site
import make_site
from check_instructions import obstacle
from runner import ROOT, Log, Step, StepError, run_steps

BUILDS = ROOT / "build-test"
COMPILERS = {"gcc": "g++", "clang": "clang++"}
# The one that measures MC/DC.
COVERAGE_COMPILER = {"clang-19": "clang++-19"}
RUFF = "ruff==0.17.6"
# What reads the tables of libcarry for Python, and what looks at its types and its notebook.
BINDING_TOOLS = ["duckdb==2.0.1", "fsspec==2026.9.0", "ipykernel==7.4.0", "mypy==2.4.1"]
BINDING_TOOLS += ["nbclient==0.11.0", "pandas==3.1.1", "polars==2.1.0", "pyarrow==26.0.1"]
BINDING_TOOLS += ["tqdm==4.64.1", "typing_extensions==4.16.0"]
# What reads the lists of what a release consists of.
RELEASE_TOOLS = ["spdx-tools==0.8.5"]
# Engines that audit archives, what reads their tables, and a store for them to read.
AUDIT_TOOLS = ["duckdb==2.0.1", "fsspec==2026.9.0", "moto[server]==5.2.5", "pandas==3.1.1"]
AUDIT_TOOLS += ["polars==2.1.0", "pyarrow==26.0.1", "pyspark==4.3.0", "ray[client,data]==2.60.0"]
AUDIT_TOOLS += ["s3fs==2026.9.0"]
JOBS = int(os.environ.get("CARRY_JOBS", os.cpu_count() or 1))
PATIENCE = 5
FUZZ_SECONDS = 60
FUZZ_BYTES = 4096
NATIVE = ["-Dc_args=-march=native", "-Dcpp_args=-march=native"]
# Compressed seeds: what Python packs, and options of programs, between input and output.
PACKERS = {"gz": partial(gzip.compress, mtime=0), "xz": lzma.compress, "bz2": bz2.compress}
PACKED_FORMS = {
    "zstd": {
        "checked.zst": ["--check", "-o"],
        "unsized.zst": ["--no-content-size", "--no-check", "-o"],
        "blocks.zst": ["--target-compressed-block-size=100", "-o"],
    },
    "lz4": {
        "lz4": ["--content-size"],
        "linked.lz4": ["-BD", "-B4", "--no-frame-crc"],
        "checked.lz4": ["-BX"],
    },
}
# Compilers at the levels that no other step has.
OPTIMIZED = [("gcc", "0", []), ("gcc", "3", NATIVE), ("clang", "3", NATIVE)]
EMULATOR = ["timeout", "-s", "KILL", "900"]
PROGRAMS_IN = ["README.md", "docs/copy.md", "docs/hook.md", "docs/patch.md", "docs/xstate.md"]
FUNCTIONS_IN = ["docs/capture.md", "docs/cpu.md", "docs/packet.md", "docs/sum.md"]
# Tests in Python whose results do not depend on how the tool was compiled: they run in one build.
# They look at scripts, documents and records, or build something of their own.
OF_ONE_BUILD = ["test_abi.py", "test_bench_languages.py", "test_bench_report.py"]
OF_ONE_BUILD += ["test_capture_mutants.py", "test_circles.py", "test_coverage.py"]
OF_ONE_BUILD += ["test_documented_commands.py", "test_documents.py", "test_howto_add.py"]
OF_ONE_BUILD += ["test_howto_embed.py", "test_layers.py", "test_manual.py"]
OF_ONE_BUILD += ["test_manual_functions.py", "test_models.py", "test_packages.py"]
OF_ONE_BUILD += ["test_python_reference.py", "test_runner.py", "test_set_version.py"]
OF_ONE_BUILD += ["test_reference_schemas.py", "test_second_opinion.py", "test_tutorials.py"]
# What sanitizers see nothing new in: tests that time code or boot kernels, those of carry selftest,
# whose checks the tests in C make, and those of sites: the reader of objects is under them in a
# fuzz target.
NOT_SANITIZED = ["test_bench.py", "test_bench_copy.py", "test_bench_ring0.py", "test_selftest.py"]
NOT_SANITIZED += ["test_sites.py"]
# Those that look at code as a compiler made it. All others run in GCC's build, and in that with
# sanitizers, which Clang makes.
OF_COMPILERS = ["test_contexts.py", "test_debugger.py", "test_faults.py", "test_jumps.py"]
OF_COMPILERS += ["test_luajit.py", "test_sandbox.py", "test_sites.py", "test_xstate.py"]
COMPLETION = "test_completion.py"  # a step of its own
AVX2_CPU = "Haswell"
OLD_CPUS = ["Nehalem", AVX2_CPU, "max,-xsave"]
# The C library then copies and clears by vectors: an emulator of "rep" does a byte at a time.
WITHOUT_REP = ["-E", "GLIBC_TUNABLES=glibc.cpu.hwcaps=-ERMS"]


# --- Builds and test programs ---


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone with what has this name: steps aside use the builds of others."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def build(
    log: Log, name: str, *options: str, compiler: str = "gcc", targets: Sequence[str] = ()
) -> Path:
    """Builds everything, or some targets, in build-test/`name`; anew where the options are others
    than those of last time."""
    folder = BUILDS / name
    record = folder / "options"
    setup = ["meson", "setup", "-Dwerror=true", *options, str(folder)]
    with locked(BUILDS / f"{name}.lock"):
        if not record.is_file() or record.read_text() != shlex.join(setup):
            shutil.rmtree(folder, ignore_errors=True)
            both = COMPILERS | COVERAGE_COMPILER
            log.run(*setup, env={"CC": compiler, "CXX": both[compiler]})
            record.write_text(shlex.join(setup))
        log.run("ninja", "--quiet", "-C", folder, *targets)
    return folder


def meson_tests(
    log: Log,
    folder: Path,
    level: str,
    *options: str,
    slower: int = 1,
    env: Mapping[str, str] | None = None,
) -> None:
    """The C tests of a build. Time limits are for what hangs, however busy a machine is; `slower`
    multiplies them."""
    results = folder / "meson-logs"
    for old in results.glob("testlog*.junit.xml"):
        old.unlink()
    try:
        log.run(
            *("meson", "test", "-C", folder, "--no-rebuild", "--print-errorlogs"),
            *("-t", str(PATIENCE * slower), "--num-processes", str(JOBS), *options),
            env={"CARRY_TEST_LEVEL": os.environ.get("CARRY_TEST_LEVEL", level)} | dict(env or {}),
        )
    finally:
        for path in results.glob("testlog*.junit.xml"):
            log.count_junit(path)
    if not log.counts.total:
        raise StepError("no test ran")


def python_tests(
    log: Log,
    folder: Path,
    env: Mapping[str, str] | None = None,
    tests: str = "python",
    at_once: int = JOBS,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    python: str | Path = sys.executable,
    options: Sequence[str] = (),
) -> None:
    """The tests of the tool, as built in `folder`, or others in Python: some files, or all."""
    results = folder / f"{tests}.xml"
    results.unlink(missing_ok=True)
    programs = {
        "CARRY_BUILD": str(folder),
        "CARRY_TOOL": str(folder / "tools/carry/carry"),
        "CARRY_DUMP_SUMS": str(folder / "tests/dump_sums"),
        "CARRY_OFFLOAD": str(folder / "examples/offload"),
    }
    try:
        log.run(
            *(python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"),
            *("-n", str(at_once), f"--junitxml={results}", *options),
            *(f"tests/{tests}/{name}" for name in only or [""]),
            *(f"--ignore=tests/{tests}/{name}" for name in without),
            env=programs | dict(env or {}),
        )
    except StepError:  # not at an interrupt, which leaves no results, and is to go on up
        if results.is_file():
            log.count_junit(results)
        raise
    log.count_junit(results)


def files(*suffixes: str) -> list[str]:
    """The project's files of these kinds."""
    tops = ("include", "src", "capture", "jit", "tools", "tests", "fuzz", "examples", "scripts")
    tops += ("ports", "bench", "bindings")
    return [
        str(path.relative_to(ROOT))
        for top in tops
        for path in sorted((ROOT / top).rglob("*"))
        if path.suffix in suffixes
    ]


def shell_scripts() -> list[Path]:
    candidates = [*(ROOT / "scripts").iterdir(), *(ROOT / ".ci").iterdir()]
    found = [p for p in sorted(candidates) if p.is_file() and b"sh\n" in p.read_bytes()[:20]]
    found += [ROOT / "tools/carry/carry-rotated", ROOT / "packaging/oss-fuzz/build.sh"]
    return [*found, *(ROOT / "tools").rglob("*.bash")]


# --- The steps ---


def gcc(log: Log) -> None:
    folder = build(log, "gcc", "-Dtool=enabled")
    meson_tests(log, folder, "medium")
    python_tests(log, folder, without=[COMPLETION])


def clang(log: Log) -> None:
    """The tests in C run as Clang compiles them in the steps optimize, sanitize and coverage."""
    folder = build(log, "clang", "-Dtool=enabled", compiler="clang")
    python_tests(log, folder, only=OF_COMPILERS)


def optimize(log: Log) -> None:
    # For this CPU as well, as some build all they have: compilers may use any vector register then.
    for compiler, level, arch in OPTIMIZED:
        options = ["-Dtool=disabled", f"-Doptimization={level}", *arch]
        folder = build(log, f"{compiler}-O{level}", *options, compiler=compiler)
        # What is in assembly, which the longer tests are for, is the same as in other builds.
        meson_tests(log, folder, "short")


def sanitize(log: Log) -> None:
    folder = build(
        log,
        "sanitize",
        "-Dtool=enabled",
        "-Db_sanitize=address,undefined",
        "-Db_lundef=false",
        "-Dc_args=-fno-sanitize-recover=all",
        "-Dcpp_args=-fno-sanitize-recover=all",
        compiler="clang",
    )
    meson_tests(log, folder, "medium", slower=4)
    python_tests(log, folder, {"CARRY_SANITIZED": "1"}, without=[*OF_ONE_BUILD, *NOT_SANITIZED])


# Tests that start a checker of their own, which no emulator or other checker runs.
NO_NATIVE = ["--no-suite", "native"]


def valgrind(log: Log) -> None:
    folder = build(log, "gcc", "-Dtool=enabled")
    checker = "valgrind --quiet --error-exitcode=99 --leak-check=full"
    meson_tests(log, folder, "short", f"--wrapper={checker}", *NO_NATIVE, slower=20)


def old_cpus_here() -> list[str]:
    """Without the one that is as this machine, if AVX2 is the best that it has."""
    flags = Path("/proc/cpuinfo").read_text().split()
    is_here = "avx2" in flags and "avx512f" not in flags
    return [cpu for cpu in OLD_CPUS if cpu != AVX2_CPU or not is_here]


# What looks at the CPU, or runs code that was chosen by it.
OF_CPUS = ["context", "context reported", "context x86_64", "copy", "copy try", "cpu", "crc"]
OF_CPUS += ["fault", "harness", "hook", "jit memory", "jit none", "jit packet", "jit sum"]
OF_CPUS += ["jit template", "packet", "packet sums", "patch", "patch x86_64", "section"]
OF_CPUS += ["section process", "signals", "sum", "sum copy", "sum copy try", "thunk"]
OF_CPUS += ["thunk exceptions", "thunk harness", "xstate", "xstate detect", "xstate layout"]
OF_CPUS += ["xstate live"]


def old_cpus(log: Log) -> None:
    folder = build(log, "gcc", "-Dtool=enabled")
    for cpu in old_cpus_here():
        emulator = shlex.join([*EMULATOR, "qemu-x86_64", *WITHOUT_REP, "-cpu", cpu])
        meson_tests(log, folder, "short", f"--wrapper={emulator}", *OF_CPUS, slower=20)


def foreign_asmjit(log: Log, target: str, debian_name: str) -> list[str]:
    """The options by which a cross build finds asmjit, of which Debian has no cross package."""
    folder = BUILDS / f"foreign-{target}"
    library = folder / f"usr/lib/{target}-linux-gnu"
    if not (library / "libasmjit.a").is_file():
        try:
            log.run("scripts/fetch_foreign", debian_name, folder, "libasmjit-dev")
        except (OSError, StepError) as error:
            log.skip_without(f"libcarry-jit for {target}", error)
            return ["-Djit=disabled"]
    include = f"-Dcpp_args=-isystem{folder / 'usr/include'}"
    return ["-Djit=enabled", include, f"-Dcpp_link_args=-L{library}"]


def cross(log: Log, target: str, *options: str) -> Path:
    """As it is installed: native builds show what other levels of optimisation do."""
    folder = build(log, target, "-Dtool=disabled", f"--cross-file=cross/{target}.ini", *options)
    meson_tests(log, folder, "short", slower=20)
    return folder


# What the tool needs, and what it needs to say which kernels were proven, and to look at sites.
FOREIGN_TOOL = ["libjansson-dev", "libjansson4", "libmd-dev", "libmd0"]
FOREIGN_TOOL += ["libelf-dev", "libelf1", "zlib1g-dev", "zlib1g"]
FOREIGN_TOOL += ["libzycore-dev", "libzycore1.4", "libzydis-dev", "libzydis4.0"]


def foreign_tool(log: Log, target: str, debian_name: str) -> Path:
    """A cross file by which a build finds what the tool needs."""
    folder = BUILDS / f"foreign-{target}"
    file = folder / "tool.ini"
    own = folder / f"usr/lib/{target}-linux-gnu"
    # Zydis has no file for pkg-config, and libelf needs zlib, whose library is elsewhere.
    linked = [f"-L{own}", f"-Wl,-rpath-link,{own}:{folder}/lib/{target}-linux-gnu"]
    text = (
        f"# {shlex.join(FOREIGN_TOOL)}\n"
        f"[binaries]\npkgconfig = 'pkg-config'\n[properties]\nsys_root = '{folder}'\n"
        f"pkg_config_libdir = '{own}/pkgconfig'\n"
        f"[built-in options]\nc_args = ['-isystem', '{folder}/usr/include']\n"
        f"c_link_args = {linked}\n"
    )
    if not file.is_file() or file.read_text() != text:
        log.run("scripts/fetch_foreign", debian_name, folder, *FOREIGN_TOOL)
        file.write_text(text)
    return file


def proven(log: Log, target: str, debian_name: str) -> None:
    """The tool of a cross build says which of its kernels were proven: `carry selftest --proof`. It
    reads sites of this machine."""
    try:
        file = foreign_tool(log, target, debian_name)
    except (OSError, StepError) as error:
        return log.skip_without(f"the tool for {target}", error)
    options = ["-Dtool=enabled", "-Dproof=enabled", "-Dsites=enabled", "-Djit=disabled"]
    options += [f"--cross-file=cross/{target}.ini", f"--cross-file={file}"]
    folder = build(log, f"{target}-tool", *options, targets=["tools/carry/carry"])
    libraries = f"LD_LIBRARY_PATH={file.parent}/usr/lib/{target}-linux-gnu"
    libraries += f":{file.parent}/lib/{target}-linux-gnu"
    emulator = [*EMULATOR, f"qemu-{target}", "-L", f"/usr/{target}-linux-gnu", "-E", libraries]
    tool = folder / "carry-emulated"
    tool.write_text(
        f'#!/bin/sh\nexec {shlex.join([*emulator, f"{folder}/tools/carry/carry"])} "$@"\n'
    )
    tool.chmod(0o755)
    env = {"CARRY_TOOL": str(tool)}
    only = ["test_digest.py::test_the_tool_computes_the_same"]
    python_tests(log, folder, env, tests="proof", only=only)
    env["CARRY_BUILD"] = str(build(log, "gcc", "-Dtool=enabled"))
    python_tests(log, folder, env, tests="linkers", only=["test_built.py"])


# Without atomic instructions, scalable vectors or landing pads, or with vectors of another length
# than those of the emulator's best CPU; and what depends on that.
ARM_CPUS = ["cortex-a53", "neoverse-n1", "max,sve-max-vq=1", "max,sve-max-vq=16"]
OF_ARM_CPUS = ["cpu", "fault aarch64", "hook aarch64", "patch aarch64 jump", "patch aarch64 remap"]
OF_ARM_CPUS += ["patch bti", "thunk aarch64", "thunk harness aarch64"]


def aarch64(log: Log) -> None:
    proven(log, "aarch64", "arm64")
    folder = cross(log, "aarch64", *foreign_asmjit(log, "aarch64", "arm64"))
    for cpu in ARM_CPUS:
        meson_tests(log, folder, "short", *OF_ARM_CPUS, slower=20, env={"QEMU_CPU": cpu})
    log.run(sys.executable, "scripts/check_abi.py", folder)
    tool = build(log, "gcc", "-Dtool=enabled") / "tools/carry/carry"
    python_tests(log, folder, {"CARRY_TOOL": str(tool)}, tests="linkers", only=["test_built.py"])


def s390x(log: Log) -> None:
    cross(log, "s390x")


# What RISC-V has by portable code alone: other tests would run the same code as those of s390x do.
OF_PORTABLE_CODE = ["sum", "sum copy", "copy", "crc", "packet", "patch generic"]


def riscv64(log: Log) -> None:
    targets = [f"tests/test_{name.replace(' ', '_')}" for name in OF_PORTABLE_CODE]
    options = ["-Dtool=disabled", "-Djit=disabled", "--cross-file=cross/riscv64.ini"]
    folder = build(log, "riscv64", *options, targets=targets)
    meson_tests(log, folder, "short", *OF_PORTABLE_CODE, slower=20)


def completions(log: Log) -> None:
    python_tests(log, build(log, "gcc", "-Dtool=enabled"), only=[COMPLETION])


def linkers(log: Log) -> None:
    python_tests(log, build(log, "gcc", "-Dtool=enabled"), tests="linkers")


def python_with(log: Log, name: str, packages: Sequence[str], what: str) -> Path:
    """A Python in build-test/`name` that has packages of pip beside Debian's. Tests skip `what` pip
    cannot bring."""
    folder = BUILDS / name
    record = folder / "packages"
    if not record.is_file() or record.read_text() != shlex.join(packages):
        venv = [sys.executable, "-m", "venv", "--clear", "--system-site-packages", folder]
        log.run(*venv)
        # Wheels of those that are sources are built in a place apart, which brings what they need.
        options = ["--quiet", "--retries=1", "--use-pep517"]
        try:
            log.run(folder / "bin/pip", "install", *options, *packages)
        except StepError as error:
            log.skip_without(what, error)
            return folder / "bin/python"
        record.write_text(shlex.join(packages))
    return folder / "bin/python"


# What AddressSanitizer looks for in the module and in the library inside it.
SANITIZED_BINDING = ["test_check.py", "test_fix.py", "test_frames.py", "test_packets.py"]
SANITIZED_BINDING += ["test_parts.py", "test_sums.py", "test_tables.py", "test_testing.py"]


def gcc_library(name: str) -> str:
    """Where GCC has a library of its own."""
    command = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def binding(log: Log) -> None:
    """libcarry for Python: with each consumer of its tables, then with sanitizers."""
    consumers = "Arrow's consumers, types and notebooks"
    python = python_with(log, "binding-python", BINDING_TOOLS, consumers)
    folder = build(log, "gcc", "-Dtool=enabled")
    env = {"PYTHONPATH": str(folder / "bindings/python")}
    python_tests(log, folder, env, tests="bindings", python=python)
    targets = ["bindings/python/libcarry/_carry.abi3.so"]
    options = ["-Dtool=enabled", "-Dpython=enabled", "-Djit=disabled", "-Db_lundef=false"]
    sanitized = build(log, "binding", *options, "-Db_sanitize=address,undefined", targets=targets)
    env = {
        "PYTHONPATH": str(sanitized / "bindings/python"),
        "CARRY_SANITIZED": "1",
        "LD_PRELOAD": " ".join(map(gcc_library, ("libasan.so", "libubsan.so"))),
        "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": "detect_leaks=0",
    }
    python_tests(log, folder, env, tests="bindings", python=python, only=SANITIZED_BINDING)


def audit(log: Log) -> None:
    """A file of tests runs in one process, so that each engine starts once."""
    engines = "audits of archives, and what reads their tables"
    python = python_with(log, "audit-python", AUDIT_TOOLS, engines)
    folder = build(log, "gcc", "-Dtool=enabled")
    env = {"PYTHONPATH": str(folder / "bindings/python")}
    python_tests(log, folder, env, tests="audit", python=python, options=["--dist=loadfile"])


def ring0(log: Log) -> None:
    """No library: kernels are built from the core's sources, in one folder for all tests."""
    folder = BUILDS / "ring0"
    folder.mkdir(parents=True, exist_ok=True)
    python_tests(log, folder, {"CARRY_RING0": str(folder)}, tests="ring0", at_once=0)


def small_cpu(log: Log) -> None:
    """What kernels compile, for a CPU of 32 bits: nothing may take a call of libatomic."""
    folder = BUILDS / "small-cpu"
    folder.mkdir(parents=True, exist_ok=True)
    target = ["--target=riscv32-unknown-elf", "-ffreestanding", "-nostdlibinc", "-std=gnu11"]
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-Iinclude", "-Isrc"]
    sources = [
        path
        for pattern in ("src/*/*.c", "src/*/generic/*.[cS]")
        for path in sorted(ROOT.glob(pattern))
        if "hosted" not in path.parts and "hook" not in path.parts
    ]
    log.run_all(
        *(
            ["clang", *target, *flags, "-c", path, "-o", folder / f"{number}.o"]
            for number, path in enumerate(sources)
        )
    )


def symbols(log: Log) -> None:
    for compiler in COMPILERS:
        folder = build(log, compiler, "-Dtool=enabled", compiler=compiler)
        log.run("scripts/check_symbols.py", folder)
        log.run("scripts/check_circles.py", folder)
        log.run("scripts/check_registers.py", compiler)
    small_cpu(log)


def layers(log: Log) -> None:
    log.run("scripts/check_layers.py")


def from_document(document: str, what: str, pattern: str) -> str:
    """The first match of `pattern` in a document."""
    found = re.search(pattern, (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)
    if not found:
        raise StepError(f"{document} has no {what}")
    return found[1]


def program_in(document: str, folder: Path) -> Path:
    """The first program in C of a document, as a file."""
    program = folder / f"{Path(document).stem}.c"
    program.write_text(from_document(document, "example in C", r"^```c\n(.*?)^```"))
    return program


def functions_in(document: str, folder: Path) -> Path:
    """All that a document shows in C, as one file: functions, the includes before the first."""
    source = folder / f"{Path(document).stem}.c"
    shown = re.findall(r"^```c\n(.*?)^```", (ROOT / document).read_text(), re.M | re.S)
    source.write_text("\n".join(shown))
    return source


def readme_jit(log: Log, folder: Path) -> None:
    """The program of docs/jit.md, linked with what the build system makes."""
    libraries = build(log, "gcc", "-Dtool=enabled")
    if not (libraries / "jit/libcarry-jit.so").is_file():
        log.skip(1, "docs/jit.md's program: no asmjit")
        return
    program = program_in("docs/jit.md", folder)
    flags = ["-Wall", "-Wextra", "-Werror", "-O2", "-Iinclude", "-o", folder / "jit", program]
    for name, path in (("carry-jit", libraries / "jit"), ("carry", libraries / "src")):
        flags += [f"-L{path}", f"-Wl,-rpath,{path}", f"-l{name}"]
    log.run("gcc", *flags)
    log.run(folder / "jit")


def readme(log: Log) -> None:
    """Its table of times, its one-line build, and the documents' programs, linked with that."""
    log.run("bench/readme.py", "--check")
    folder = BUILDS / "readme"
    folder.mkdir(parents=True, exist_ok=True)
    build_line = r"^(cc -[^\n]*-o libcarry\.so[^\n]*)$"
    line = from_document("README.md", "line that builds libcarry.so", build_line)
    examples = [program_in(document, folder) for document in PROGRAMS_IN]
    emulator = shlex.join([*EMULATOR, "qemu-s390x", "-L", "/usr/s390x-linux-gnu"])
    for compiler, arch, run in (
        ("gcc", "x86_64", ""),
        ("clang", "x86_64", ""),
        ("s390x-linux-gnu-gcc", "generic", emulator),
    ):
        library = folder / f"libcarry-{compiler}.so"
        own = line.replace("cc", compiler, 1).replace("x86_64", arch)
        log.run("sh", "-c", own.replace("libcarry.so", str(library)))
        flags = ["-Wall", "-Wextra", "-Werror", "-O2", "-Iinclude"]
        for example in examples:
            program = folder / f"{example.stem}-{compiler}"
            log.run(compiler, *flags, "-o", program, example, library)
            log.run(*shlex.split(run), program)
        for document in FUNCTIONS_IN:
            source = functions_in(document, folder)
            log.run(compiler, *flags, "-fsyntax-only", source)
    readme_jit(log, folder)


def headers(log: Log) -> None:
    flags = ["-Iinclude", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
    dialects = [(c, "c", "c11") for c in COMPILERS]
    dialects += [(cxx, "c++", "c++17") for cxx in COMPILERS.values()]
    public = sorted((ROOT / "include/carry").glob("*.h"))
    log.run_all(
        *(
            [compiler, *flags, f"-std={standard}", "-x", language, header]
            for header in public
            for compiler, language, standard in dialects
        )
    )


def ruff(log: Log) -> list[list[str | Path]]:
    """The commands that check Python. Debian lacks ruff: pip brings it, where it can."""
    folder = BUILDS / RUFF
    program = folder / "bin/ruff"
    commands: list[list[str | Path]] = [
        [program, "check", "--no-cache"],
        [program, "format", "--no-cache", "--check"],
    ]
    if not program.is_file():
        log.run(sys.executable, "-m", "venv", "--clear", folder)
        try:
            log.run(folder / "bin/pip", "--quiet", "install", "--retries=1", "--no-deps", RUFF)
        except StepError as error:
            log.skip(len(commands), f"Python's style: {error}")
            return []
    return commands


def style(log: Log) -> None:
    log.run_all(
        ["scripts/check_style.py"],
        ["clang-format", "--dry-run", "-Werror", *files(".c", ".cc", ".h")],
        ["shellcheck", "--shell=bash", *shell_scripts()],
        *ruff(log),
    )


def commits(log: Log) -> None:
    log.run("scripts/check_commits.py")


def pack_seeds(log: Log, captures: list[Path], folder: Path) -> None:
    """The captures as streams of each format, in its forms, where there is the program for it."""
    folder.mkdir(parents=True, exist_ok=True)
    for capture, (ending, pack) in itertools.product(captures, PACKERS.items()):
        (folder / f"{capture.name}.{ending}").write_bytes(pack(capture.read_bytes()))
    for name, forms in PACKED_FORMS.items():
        if not (program := shutil.which(name)):
            log.skip(1, f"seeds compressed by {name}: {name} is not installed")
            continue
        for capture, (ending, options) in itertools.product(captures, forms.items()):
            packed = folder / f"{capture.name}.{ending}"
            log.run(program, "-q", "-f", capture, *options, packed)


def fuzz_seeds(log: Log, folder: Path) -> dict[str, list[Path]]:
    """What targets start from: captures, packed ones too, and the frames in them."""
    examples = sorted((ROOT / "examples").glob("*.pcap*"))
    corpus = Path(os.environ["CARRY_CORPUS"])
    captures = [*examples, *(sorted(corpus.iterdir()) if corpus.is_dir() else [])]
    frames, packed = folder / "seeds/frames", folder / "seeds/packed"
    pack_seeds(log, examples, packed)
    log.run(folder / "fuzz/make_seeds", frames, *captures)
    folders = [ROOT / "examples", packed, *([corpus] if corpus.is_dir() else [])]
    names = ("fix", "jit_packet", "jit_template", "walk")
    of_frames = {f"fuzz_{name}": [frames] for name in names}
    return {"fuzz_capture": folders, **of_frames}


def fuzz(log: Log) -> None:
    """All targets at once; what is found stays, and the next run goes on from it."""
    options = ["-Dfuzz=true", "-Dtool=enabled"]
    folder = build(log, "fuzz", *options, compiler="clang", targets=["fuzzers"])
    seeds = fuzz_seeds(log, folder)
    commands = []
    for target in filter(Path.is_file, sorted((folder / "fuzz").glob("fuzz_*"))):
        found = folder / "found" / target.name
        found.mkdir(parents=True, exist_ok=True)
        options = [f"-max_total_time={FUZZ_SECONDS}", f"-artifact_prefix={found}-", "-timeout=10"]
        options += [f"-max_len={FUZZ_BYTES}", "-print_final_stats=1"]
        commands.append([target, *options, found, *seeds.get(target.name, [])])
    if not commands:
        raise StepError("no fuzz target")
    log.run_at_once(*commands, env={"ASAN_OPTIONS": "print_legend=0"})


# The builds of other steps have the tests.
MAKE_INSTALL = ["make", "--no-print-directory", "install", "OPTIONS=-Dtests=false", "PREFIX=/usr"]


def install(log: Log) -> None:
    """Installs in a folder of its own; a stranger's program finds the library in each way."""
    folder = BUILDS / "install"
    root, spaced = folder / "root", folder / "a root"
    shutil.rmtree(root, ignore_errors=True)
    log.run(*MAKE_INSTALL, f"BUILD={folder / 'build'}", f"DESTDIR={spaced}")
    spaced.rename(root)  # pkg-config's flags are for folders without spaces
    log.run("scripts/check_install", root / "usr", folder / "check")


# How a stranger has the library for another C library, and for 32 bits: by these compilers. The
# second asks for no package that conflicts with the cross compilers, as GCC's libraries do.
FOREIGN = {
    "musl": ["musl-gcc"],
    "m32": ["clang", "-m32", "-rtlib=compiler-rt", "-unwindlib=none"],
    "m32-gcc": ["gcc", "-m32"],
}


def kernel_headers(folder: Path) -> Path:
    """Linux's headers alone, which musl-gcc does not find, without those of the C library."""
    own = folder / "kernel"
    own.mkdir(exist_ok=True)
    machine = f"/usr/include/{os.uname().machine}-linux-gnu"
    for name, where in (("linux", ""), ("asm-generic", ""), ("asm", machine)):
        if not (own / name).is_symlink():
            (own / name).symlink_to(f"{where or '/usr/include'}/{name}")
    return own


def install_foreign(log: Log, folder: Path, name: str, compiler: list[str]) -> None:
    """Installs the libraries alone below `folder`; or a file says why there are none."""
    (folder / "empty.c").write_text("int main(void) { return 0; }\n")
    try:
        log.run(*compiler, folder / "empty.c", "-o", folder / "empty")
    except (OSError, StepError):
        reason = f"{shlex.join(compiler)} makes no programs here"
        (folder / f"no-{name}").write_text(reason)
        return
    own = folder / f"build-{name}"
    if not (own / "build.ninja").is_file():
        args = f"-Dc_args=-idirafter{kernel_headers(folder)}"
        options = ["--prefix=/usr", "-Dlibdir=lib", args]
        options += [f"-D{part}=disabled" for part in ("tool", "jit", "compression")]
        log.run("meson", "setup", *options, own, env={"CC": shlex.join(compiler)})
    kinds = itertools.product(
        ("src/carry", "capture/carry-capture"), ("shared_library", "static_library")
    )
    log.run("meson", "compile", "-C", own, "manual", *map(":".join, kinds))
    log.run("meson", "install", "--no-rebuild", "-C", own, "--destdir", folder / name)


def strangers(log: Log) -> None:
    """Installs in all ways, then has strangers' programs use that and nothing else."""
    folder, build = BUILDS / "strangers", BUILDS / "install/build"
    for old in [*folder.glob("no-*"), folder / "glibc", *map(folder.joinpath, FOREIGN)]:
        shutil.rmtree(old) if old.is_dir() else old.unlink(missing_ok=True)
    log.run(*MAKE_INSTALL, f"BUILD={build}", f"DESTDIR={folder / 'glibc'}")
    for name, compiler in FOREIGN.items():
        install_foreign(log, folder, name, compiler)
    own = {"CARRY_STRANGERS": str(folder), "CARRY_INSTALL_BUILD": str(build)}
    python_tests(log, folder, own, tests="strangers")


# Systems that use the wheels: the options of scripts/fetch_foreign. The oldest has no Python for
# which the wheels are.
WHEEL_SYSTEMS = {
    "this-debian": ["amd64", "python3"],
    "newer-debian": ["--release", "trixie", "amd64", "python3"],
    "older-debian": ["--release", "bullseye", "amd64", "libc6"],
    "aarch64-debian": ["arm64", "python3"],
}


def fetch_system(log: Log, folder: Path, name: str) -> None:
    if (folder / name).is_dir():
        return
    part = folder / "part"
    shutil.rmtree(part, ignore_errors=True)
    *options, architecture, package = WHEEL_SYSTEMS[name]
    try:
        log.run("scripts/fetch_foreign", "--whole", *options, architecture, part, package)
        part.rename(folder / name)
    except (OSError, StepError) as error:
        log.write(f"{name}: {error}")  # its tests say that they are skipped


def wheel(log: Log) -> None:
    """Wheels for Python, as `make wheel` makes them, used where there is little else."""
    folder = BUILDS / "wheel"
    make = [sys.executable, "scripts/make_wheel.py", folder]
    try:
        log.run(*make, "--fetch")
    except (OSError, StepError) as error:
        log.skip_without("wheels", error)
        return
    for name in WHEEL_SYSTEMS:
        fetch_system(log, folder, name)
    shutil.rmtree(folder / "dist", ignore_errors=True)  # may be of an earlier version
    log.run("sh", "-c", 'umask 027; exec "$@"', "sh", *make)
    python_tests(log, folder, {"CARRY_WHEELS": str(folder)}, tests="wheel", at_once=0)


def present_commit() -> str:
    """The newest commit, or one with what has changed since, which no branch gets."""
    for command in (["git", "stash", "create"], ["git", "rev-parse", "HEAD"]):
        done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        if commit := done.stdout.strip():
            return commit
    raise StepError("Git names no commit")


def release(log: Log) -> None:
    """The source archive, and what is built from it twice; the lists and files beside it."""
    folder = BUILDS / "release"
    if not (ROOT / ".git").exists():
        log.skip(1, "what is released: this is no clone")
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    commit = present_commit()
    (folder / "commit").write_text(commit)
    log.run("scripts/make_source", folder / "dist", commit)
    log.run("tar", "-C", folder, "-xf", *(folder / "dist").iterdir())
    (source,) = folder.glob("libcarry-*")
    if shutil.which("reprotest"):
        log.run("scripts/check_reproducible.py", source, folder / "builds")
        log.counts.passed += 1
    else:
        log.skip(1, "building library and tool twice: reprotest is not installed")
    python = python_with(log, "release-python", RELEASE_TOOLS, "a second opinion on SPDX")
    python_tests(log, folder, {"CARRY_RELEASE": str(folder)}, tests="release", python=python)


def deb(log: Log) -> None:
    """Debian packages, as `make deb` makes them; other steps run the tests of that build."""
    command = [ROOT / "scripts/in_root", "--check"]
    check = subprocess.run(command, capture_output=True, text=True)
    if check.returncode:
        log.skip(1, f"Debian packages: {check.stderr.strip()}")
        return
    folder = BUILDS / "deb"
    dist = folder / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    options = {"DEB_BUILD_OPTIONS": "nocheck noautodbgsym"}
    log.run("scripts/make_deb", folder / "work", dist, env=options)
    log.counts.passed += 1
    log.run("scripts/check_deb", folder / "work", dist)
    log.counts.passed += log.path.read_text().count("\n--- ")


def static(log: Log) -> None:
    """The command as one file, as `make static` makes it, used where there is nothing else."""
    folder = BUILDS / "static"
    make = [sys.executable, "scripts/make_static.py", folder]
    emulator = folder / "qemu"
    try:
        log.run(*make, "--fetch")
        if not emulator.is_dir():
            part = folder / "part"
            shutil.rmtree(part, ignore_errors=True)
            log.run("scripts/fetch_foreign", "amd64", part, "qemu-user-static")
            part.rename(emulator)
    except (OSError, StepError) as error:
        log.skip_without("static programs", error)
        return
    shutil.rmtree(folder / "dist", ignore_errors=True)  # may be of an earlier version
    log.run(*make)
    gcc = build(log, "gcc", "-Dtool=enabled", targets=["tools/carry/carry"])
    python_tests(log, gcc, {"CARRY_STATIC": str(folder)}, tests="static")


def docs(log: Log) -> None:
    """The manual as a site, and each link of it in a browser."""
    folder = BUILDS / "docs"
    if reason := make_site.obstacle() or check_site.obstacle():
        log.skip(1, f"the manual's site: {reason}")
        return
    log.run(sys.executable, "scripts/make_site.py", folder)
    log.run(sys.executable, "scripts/check_site.py", folder / "site")
    python_tests(log, folder, tests="site", at_once=0)


# Debian's crates: cargo then asks no registry.
CRATES = Path("/usr/share/cargo/registry")
RUST_VERSION = "1.63"
CRATE_TOOLS = ("bindgen", "cargo", "cargo-clippy", "rustfmt")
# With all formats of compression.
COMPRESSION = ("bzip2", "gzip", "lz4", "xz", "zstd")
ALL_FEATURES = "--features=" + ",".join(f"libcarry/{name}" for name in COMPRESSION)
# What the crates are packed from, and by.
CRATE_SOURCES = ("LICENSE", "bindings/rust", "capture", "include", "scripts", "src")
# Where the crates run too, under an emulator: Debian's name of it, and features. Captures depend on
# the order of bytes, which is another in the second.
CRATE_TARGETS: dict[str, tuple[str, list[str]]] = {
    "aarch64": ("arm64", []),
    "s390x": ("s390x", ["--features=libcarry/std"]),
}
FOREIGN_RUST = "libstd-rust-dev"
# Settings of cargo by environment variables, and options.
ForeignCrates = tuple[dict[str, str], list[str]]


def crate(log: Log) -> None:
    """The crates for Rust, unpacked from their archives, with Debian's crates alone."""
    folder = BUILDS / "crate"
    lacking = [name for name in CRATE_TOOLS if not shutil.which(name)]
    lacking += [] if any(CRATES.glob("cc-*")) else ["librust-cc-dev"]
    if lacking:
        log.skip(1, f"the crates for Rust: {', '.join(lacking)} not installed")
        return
    rustc = subprocess.run(["rustc", "--version"], check=True, capture_output=True, text=True)
    is_oldest = rustc.stdout.startswith(f"rustc {RUST_VERSION}.")
    env = cargo_home(folder, ["-Dwarnings"] if is_oldest else [])  # later ones warn of more
    log.run("scripts/make_rust.py", "--check")
    unpack_crates(log, folder, env)
    manifest = ["--manifest-path", str(folder / "crates/Cargo.toml")]
    log.run("cargo", "fmt", *manifest, "--all", "--check")
    for features in (ALL_FEATURES, "--package=libcarry"):
        command = ["clippy", *manifest, "--offline", "--all-targets", features]
        log.run("cargo", *command, env=env | {"DOCS_RS": "1"})  # compiles no C: see build.rs
        log.counts.passed += 1
    bare = ["--manifest-path", str(folder / "crates/bare/Cargo.toml")]
    foreign = foreign_crates(log, folder) if is_oldest else []
    if not is_oldest:
        log.skip(1, f"crates on other architectures: needs Debian's Rust {RUST_VERSION}")
    log.run_at_once(
        ["cargo", "test", *manifest, "--offline", ALL_FEATURES],
        ["cargo", "build", *bare, "--offline", "--target-dir", folder / "target-bare"],
        *(["cargo", "test", *manifest, "--offline", *options] for _, options in foreign),
        env=env | dict(itertools.chain.from_iterable(own.items() for own, _ in foreign)),
    )
    check_bare(log, folder / "target-bare/debug/bare")
    log.run("cargo", "doc", *manifest, "--offline", "--no-deps", ALL_FEATURES, env=env)
    log.counts.passed += 1


def cargo_home(folder: Path, flags: list[str]) -> dict[str, str]:
    """Cargo's settings: all crates are here, Debian's and those that are unpacked."""
    (folder / "home").mkdir(parents=True, exist_ok=True)
    (folder / "home/config.toml").write_text(
        f'[source]\ncrates-io.replace-with = "debian"\ndebian.directory = "{CRATES}"\n'
        f'[patch.crates-io]\nlibcarry-sys.path = "{folder / "crates/libcarry-sys"}"\n'
        f"[build]\nrustflags = {flags}\nrustdocflags = {flags}\n"
    )
    return {
        "CARGO_HOME": str(folder / "home"),
        "CARGO_PROFILE_DEV_DEBUG": "0",
        "CARGO_TARGET_DIR": str(folder / "target"),
    }


def unpack_crates(log: Log, folder: Path, env: Mapping[str, str]) -> None:
    """Packs the crates here and from a copy elsewhere, which must not show, and unpacks them into
    a workspace as that of the repository."""
    elsewhere, crates = folder / "elsewhere", folder / "crates"
    for old in (elsewhere, crates, folder / "packed"):
        shutil.rmtree(old, ignore_errors=True)
    for name in CRATE_SOURCES:
        (elsewhere / name).parent.mkdir(parents=True, exist_ok=True)
        log.run("cp", "--recursive", "--no-dereference", ROOT / name, elsewhere / name)
    log.run("scripts/package_crates.py", folder / "packed", env=env)
    copy = elsewhere / "scripts/package_crates.py"
    log.run(sys.executable, copy, elsewhere / "packed", env=env)
    packed = sorted((folder / "packed").iterdir())
    for path in packed:
        if path.read_bytes() != (elsewhere / "packed" / path.name).read_bytes():
            raise StepError(f"{path.name} is not the same when it is packed elsewhere")
        shutil.unpack_archive(path, crates, "gztar")
        (crates / path.stem).rename(crates / path.stem.rpartition("-")[0])
        log.counts.passed += 1
    for name in ("Cargo.toml", "rustfmt.toml", "bare"):
        log.run("cp", "--recursive", ROOT / "bindings/rust" / name, crates)


def check_bare(log: Log, program: Path) -> None:
    """A program without Rust's standard library, which needs nothing that this would bring."""
    log.run(program)
    command = ["readelf", "--dynamic", str(program)]
    dynamic = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    if needed != ["libc.so.6"]:
        raise StepError(f"a program without std needs {', '.join(needed)}")
    log.counts.passed += 1


def foreign_rust(target: str) -> Path:
    """Where Rust's standard library for an architecture is unpacked."""
    return BUILDS / f"foreign-rust-{target}"


def foreign_crates(log: Log, folder: Path) -> list[ForeignCrates]:
    """The architectures for which the crates can be compiled, and run by an emulator."""
    lacking = [t for t in CRATE_TARGETS if not (foreign_rust(t) / "usr/lib/rustlib").is_dir()]
    fetches = {
        t: log.start("scripts/fetch_foreign", CRATE_TARGETS[t][0], foreign_rust(t), FOREIGN_RUST)
        for t in lacking
    }
    absent = set()
    for target, fetch in fetches.items():
        try:
            log.finish(fetch)
        except StepError as error:
            log.skip_without(f"the crates for {target}", error)
            absent.add(target)
    return [foreign_crate(folder, target) for target in CRATE_TARGETS if target not in absent]


def foreign_crate(folder: Path, target: str) -> ForeignCrates:
    root, features = foreign_rust(target), CRATE_TARGETS[target][1]
    triple = f"{target}-unknown-linux-gnu"
    setting = f"CARGO_TARGET_{triple.replace('-', '_').upper()}"
    emulator = [*EMULATOR, f"qemu-{target}", "-L", f"/usr/{target}-linux-gnu"]
    env = {
        f"{setting}_LINKER": f"{target}-linux-gnu-gcc",
        f"{setting}_RUNNER": shlex.join(emulator),
        f"{setting}_RUSTFLAGS": f"-Dwarnings --sysroot={root / 'usr'}",
    }
    return env, ["--target", triple, "--target-dir", str(folder / f"target-{target}"), *features]


def instructions(log: Log) -> None:
    folder = build(log, "gcc", "-Dtool=enabled")
    if reason := obstacle(folder):
        log.skip(1, reason)
    else:
        log.run_all(["scripts/check_instructions.py", folder])
    python_tests(log, folder, tests="instructions")


def proof(log: Log) -> None:
    """What is proven, of this build; code that was proven before is not proven again, except some
    of it. The tests of models run them all."""
    folder = build(log, "gcc", "-Dtool=enabled")
    python_tests(log, folder, tests="proof")
    if find_spec("elftools"):
        log.run(sys.executable, "proof/kernels/prove.py", "--changed", folder)
    else:
        log.skip(1, "proof of kernels: pyelftools is not installed")
    if shutil.which("frama-c"):
        log.run("proof/packet/run")
    else:
        log.skip(1, "proof of the walk: frama-c is not installed")


# Tests of the tool that reach much of libcarry-capture which those in C do not.
COVERED_BY = ["test_capture_formats.py", "test_cause_rows.py", "test_causes.py", "test_certain.py"]
COVERED_BY += ["test_check.py", "test_check_more.py", "test_explain.py", "test_fix.py"]
COVERED_BY += ["test_fix_flags.py", "test_fix_fragments.py", "test_reassemble.py"]


def coverage_build(log: Log, profiles: Path) -> Path:
    """A build that counts; its programs leave their counts in a folder, without being asked."""
    own = ROOT / "tests/coverage"
    shared = profiles.parent / "shared.o"
    shared.parent.mkdir(parents=True, exist_ok=True)
    settings = ["-O2", "-fPIC", "-D_GNU_SOURCE", f'-DPROFILES="{profiles}"']
    log.run("clang-19", *settings, "-c", own / "shared.c", "-o", shared)
    compiled = "-fprofile-instr-generate -fprofile-update=atomic -fcoverage-mapping"
    compiled += f" -fcoverage-mcdc -fprofile-list={own / 'functions.txt'}"
    linked = f"-fprofile-instr-generate {shared} -Wl,-T,{own / 'shared.ld'}"
    return build(
        log,
        "coverage/build",
        *("-Dtool=enabled", "-Djit=disabled", "-Dpython=disabled"),
        *(f"-Dc_args={compiled}", f"-Dc_link_args={linked}", f"-Dcpp_link_args={linked}"),
        compiler="clang-19",
    )


def coverage(log: Log) -> None:
    """Branches of src/ and capture/: no module falls below its floor. `make coverage` also asks for
    the reason of each that no test reaches, which another CPU may see otherwise."""
    if lacking := [tool for tool in check_coverage.TOOLS if not shutil.which(tool)]:
        log.skip(1, f"coverage: {', '.join(lacking)} not installed")
        return
    profiles = BUILDS / "coverage/profiles"
    folder = coverage_build(log, profiles)
    shutil.rmtree(profiles, ignore_errors=True)  # of programs that the build runs
    profiles.mkdir()
    profiles.chmod(0o777)  # tests have other users run the tool
    meson_tests(log, folder, "short", *NO_NATIVE)
    python_tests(log, folder, only=COVERED_BY)
    decides = [] if os.environ.get("CARRY_COVERAGE") == "table" else ["--floors"]
    log.run("scripts/check_coverage.py", *decides, folder, profiles, BUILDS / "coverage/pages")


def without_jit(log: Log) -> None:
    """Only configured: the steps of other architectures build the rest without such libraries."""
    folder = BUILDS / "without-jit"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    machine = folder / "no-compiler.ini"
    machine.write_text("[binaries]\ncpp = 'no-such-compiler'\n")
    for option, reason in (
        ("-Djit=disabled", "disabled"),
        (f"--native-file={machine}", "no C++ compiler"),
        ("-Dcpp_args=-nostdinc", "no asmjit (Debian: libasmjit-dev)"),
    ):
        own = folder / "build"
        shutil.rmtree(own, ignore_errors=True)
        log.run("meson", "setup", "-Dtool=disabled", option, own)
        said = re.findall(r"libcarry-jit.*", (own / "meson-logs/meson-log.txt").read_text())
        if said != [f"libcarry-jit is left out: {reason}"]:
            raise StepError(f"{option}: the build says {said}")
        log.counts.passed += 1
    without_compression(log, folder / "build")


def without_compression(log: Log, folder: Path) -> None:
    """The command needs no format of compression, and has those that options ask for."""
    rows = re.findall(r"^CARRY_UNPACKER\((\w+)", (ROOT / "capture/unpackers.def").read_text(), re.M)
    wanted = rows[::2]
    options = ["-Dtool=enabled", "-Djit=disabled", "-Dcompression=disabled"]
    shutil.rmtree(folder, ignore_errors=True)
    log.run("meson", "setup", *options, *(f"-D{name}=enabled" for name in wanted), folder)
    targets = (folder / "meson-info/intro-targets.json").read_text()
    built = set(re.findall(r"/unpack_(\w+)\.c\"", targets))
    if built != set(wanted):
        raise StepError(f"the build unpacks {sorted(built)}, not {sorted(wanted)}")
    log.counts.passed += 1


STEPS = [
    Step("gcc", "gcc -O2: all tests", gcc, quick=True),
    Step("clang", "clang -O2: of the tool what looks at code", clang),
    Step("optimize", "gcc -O0, gcc and clang -O3 -march=native: C tests", optimize),
    Step("sanitize", "address and undefined behaviour sanitizers: C tests, tool", sanitize),
    Step("valgrind", "valgrind: C tests", valgrind),
    Step("old-cpus", f"CPUs {' '.join(OLD_CPUS)}: C tests of what depends on them", old_cpus),
    Step("aarch64", "aarch64, emulated: C tests", aarch64),
    Step("s390x", "s390x, big-endian, emulated: C tests", s390x),
    Step("riscv64", "RISC-V, emulated: sums, copies and packets", riscv64, aside=True),
    # Which branches depend on the CPU has been seen on one only.
    Step("coverage", "branches and MC/DC of the libraries, by clang-19", coverage),
    Step("completions", "words that bash, zsh and fish complete", completions),
    Step("linkers", "patched sites through compilers, options, linkers and objects", linkers),
    Step("binding", "libcarry for Python, with sanitizers too", binding, aside=True),
    Step("audit", "archives of captures, on engines and stores", audit, aside=True),
    Step("ring0", "the core in a kernel, on emulated CPUs", ring0, aside=True),
    Step("symbols", "freestanding core, exports, no circles of files", symbols, quick=True),
    Step("layers", "include graph", layers, quick=True),
    Step(
        "readme",
        "the README's table, its one-line build, programs of documents",
        readme,
        quick=True,
    ),
    Step("headers", "public headers alone, as C11 and C++17", headers, quick=True),
    Step("style", "formatters, linter, licence lines", style, quick=True),
    Step("commits", "commit messages", commits, quick=True),
    Step("fuzz", f"fuzz targets, {FUZZ_SECONDS} s each", fuzz),
    Step("no-jit", "configured without what libcarry-jit, or compression, needs", without_jit),
    Step("install", "installed files, as pkg-config and CMake find them", install),
    Step("strangers", "programs of strangers, by installed files alone", strangers),
    Step("wheel", "wheels for Python, in systems with little else", wheel, aside=True),
    Step("static", "the command as one file, where there is nothing else", static, aside=True),
    Step("crate", "the crates for Rust, as they are packed", crate, aside=True),
    Step("deb", "Debian packages: made, installed, used, upgraded, removed", deb, aside=True),
    Step("release", "the source archive, built twice, and files for others", release, aside=True),
    Step("docs", "the manual's site, in a browser that follows each link", docs, aside=True),
    Step("proof", "kernels for every content, models of patching, the walk", proof, aside=True),
    Step("instructions", "instructions of calls, as callgrind counts them", instructions),
]


def main() -> int:
    words = sys.argv[1:]
    if words == ["list"]:
        for step in STEPS:
            print(f"{step.name:<12} {step.what}")
        return 0
    quick = "--quick" in words
    names = [word for word in words if word != "--quick"]
    unknown = set(names) - {step.name for step in STEPS}
    if unknown:
        print(f"unknown steps: {' '.join(sorted(unknown))}; try list", file=sys.stderr)
        return 2
    corpus = Path(os.environ.setdefault("CARRY_CORPUS", str(ROOT.parent / "shared/captures")))
    if not corpus.is_dir():
        print(f"No captures in {corpus} (CARRY_CORPUS): the tests that read them are skipped.")
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # some steps copy folders of scripts
    if quick:
        os.environ.setdefault("CARRY_TEST_LEVEL", "short")
    usual = [s for s in STEPS if s.quick or not quick]
    chosen = [s for s in STEPS if s.name in names] if names else usual
    return run_steps(chosen)


if __name__ == "__main__":
    sys.exit(main())
