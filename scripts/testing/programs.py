# SPDX-License-Identifier: MIT
"""Steps that test the library and the tool by compilers and emulators."""

import bz2
import gzip
import itertools
import lzma
import os
import shlex
import shutil
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import check_coverage
from check_instructions import obstacle

from testing.builds import (
    BUILDS,
    C_TESTS,
    CONFIGURED,
    EMULATOR,
    JOBS,
    build,
    gcc_build,
    meson_tests,
    python_tests,
)
from testing.runner import ROOT, Log, StepError

FUZZ_SECONDS = 60
FUZZ_BYTES = 4096
NATIVE = ["-Dc_args=-march=native", "-Dcpp_args=-march=native"]
# Compressors of seeds: functions of Python, and programs with the options between input and output.
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
AVX2_CPU = "Haswell"
OLD_CPUS = ["Nehalem", AVX2_CPU, "max,-xsave"]
# Makes the C library copy and clear by vectors: emulators execute "rep" byte by byte.
WITHOUT_REP = ["-E", "GLIBC_TUNABLES=glibc.cpu.hwcaps=-ERMS"]


# Leaves out tests that start a checker of their own: it runs neither under an emulator nor under
# another checker.
NO_NATIVE = ["--no-suite", "native"]


def gcc(log: Log) -> None:
    meson_tests(log, gcc_build(log, C_TESTS), "medium")


def tool(log: Log) -> None:
    python_tests(log, gcc_build(log), marked="not completions")


def documents(log: Log) -> None:
    """Runs the tests whose results do not depend on how the tool was compiled: one build is enough.
    They look at scripts, documents and records, or build something of their own."""
    python_tests(log, gcc_build(log), tests="house")


def clang(log: Log) -> None:
    """Tests only the tool, because other steps run the tests in C that Clang compiles."""
    folder = build(log, "clang", "-Dtool=enabled", compiler="clang")
    python_tests(log, folder, marked="of_compilers")


def optimize(log: Log) -> None:
    # Builds also for this CPU (-march=native): compilers may then use any vector register.
    for compiler, level, arch in OPTIMIZED:
        options = ["-Dtool=disabled", f"-Doptimization={level}", *arch]
        folder = build(log, f"{compiler}-O{level}", *options, compiler=compiler)
        # Longer tests are for assembly, which is the same in other builds.
        meson_tests(log, folder, "short")


# Leaves out the tests in which sanitizers find nothing new. The reader of sites runs in a fuzz
# target instead.
SANITIZED = "not not_sanitized"


def sanitized_build(log: Log, *targets: str) -> Path:
    """Returns the build with sanitizers, or some targets of it."""
    return build(
        log,
        "sanitize",
        "-Dtool=enabled",
        "-Db_sanitize=address,undefined",
        "-Db_lundef=false",
        "-Dc_args=-fno-sanitize-recover=all",
        "-Dcpp_args=-fno-sanitize-recover=all",
        compiler="clang",
        targets=targets,
    )


def sanitize(log: Log) -> None:
    meson_tests(log, sanitized_build(log, C_TESTS), "medium", slower=4)


def sanitize_tool(log: Log) -> None:
    python_tests(log, sanitized_build(log), {"CARRY_SANITIZED": "1"}, marked=SANITIZED)


def valgrind(log: Log) -> None:
    folder = gcc_build(log, C_TESTS)
    checker = "valgrind --quiet --error-exitcode=99 --leak-check=full"
    meson_tests(log, folder, "short", f"--wrapper={checker}", *NO_NATIVE, slower=20)


def old_cpus_here() -> list[str]:
    """Returns the CPUs to emulate: on a machine with AVX2 and without AVX-512, none with AVX2."""
    flags = Path("/proc/cpuinfo").read_text().split()
    is_here = "avx2" in flags and "avx512f" not in flags
    return [cpu for cpu in OLD_CPUS if cpu != AVX2_CPU or not is_here]


def old_cpus(log: Log) -> None:
    folder = gcc_build(log, C_TESTS)
    for cpu in old_cpus_here():
        emulator = shlex.join([*EMULATOR, "qemu-x86_64", *WITHOUT_REP, "-cpu", cpu])
        meson_tests(log, folder, "short", f"--wrapper={emulator}", "--suite=cpus", slower=20)


def foreign_asmjit(log: Log, target: str, debian_name: str) -> list[str]:
    """Returns options by which a cross build finds asmjit: Debian has no cross package of it."""
    folder = BUILDS / f"foreign-{target}"
    library = folder / f"usr/lib/{target}-linux-gnu"
    fetch = ["scripts/fetch_foreign", debian_name, folder, "libasmjit-dev"]
    is_there = (library / "libasmjit.a").is_file()
    if not is_there and not log.brings(f"libcarry-jit for {target}", *fetch):
        return ["-Djit=disabled"]
    include = f"-Dcpp_args=-isystem{folder / 'usr/include'}"
    return ["-Djit=enabled", include, f"-Dcpp_link_args=-L{library}"]


def cross(log: Log, target: str, *options: str) -> Path:
    """Tests a cross build at the default level of optimisation; only native builds also test other
    levels. Returns the build."""
    folder = build(log, target, "-Dtool=disabled", f"--cross-file=cross/{target}.ini", *options)
    meson_tests(log, folder, "short", slower=20)
    return folder


# Packages that the tool needs: for all commands, for `carry selftest --proof`, for `carry sites`.
FOREIGN_TOOL = ["libjansson-dev", "libjansson4", "libmd-dev", "libmd0"]
FOREIGN_TOOL += ["libelf-dev", "libelf1", "zlib1g-dev", "zlib1g"]
FOREIGN_TOOL += ["libzycore-dev", "libzycore1.4", "libzydis-dev", "libzydis4.0"]


def foreign_tool(log: Log, target: str, debian_name: str) -> Path:
    """Makes and returns a cross file by which a build finds the libraries that the tool needs."""
    folder = BUILDS / f"foreign-{target}"
    file = folder / "tool.ini"
    own = folder / f"usr/lib/{target}-linux-gnu"
    # Zydis has no file for pkg-config, and libelf needs zlib, whose library is in another folder.
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
    """Tests that the tool of a cross build reports which of its kernels were proven (`carry
    selftest --proof`), and reads sites in programs of this machine."""
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
    python_tests(log, folder, env, tests="unit/proof", only=only)
    env["CARRY_BUILD"] = str(gcc_build(log))
    python_tests(log, folder, env, tests="install/linkers", only=["test_built.py"])


# CPUs without atomic instructions, scalable vectors or landing pads, and CPUs whose vectors are
# shorter or longer than those of the other CPUs.
ARM_CPUS = ["cortex-a53", "neoverse-n1", "max,sve-max-vq=1", "max,sve-max-vq=16"]


def aarch64(log: Log) -> None:
    proven(log, "aarch64", "arm64")
    folder = cross(log, "aarch64", *foreign_asmjit(log, "aarch64", "arm64"))
    for cpu in ARM_CPUS:
        meson_tests(log, folder, "short", "--suite=arm-cpus", slower=20, env={"QEMU_CPU": cpu})
    log.run(sys.executable, "scripts/check_abi.py", folder)
    tool = gcc_build(log) / "tools/carry/carry"
    python_tests(
        log, folder, {"CARRY_TOOL": str(tool)}, tests="install/linkers", only=["test_built.py"]
    )


def s390x(log: Log) -> None:
    # When meson reconfigures a folder, it uses the compiler of this machine for C++.
    cross(log, "s390x", "-Djit=disabled")


def riscv64(log: Log) -> None:
    """Runs only the portable tests: the others would run the same code as on s390x."""
    options = ["-Dtool=disabled", "-Djit=disabled", "--cross-file=cross/riscv64.ini"]
    folder = build(log, "riscv64", *options, targets=[CONFIGURED])
    meson_tests(log, folder, "short", "--suite=portable", slower=20, rebuild=True)


def completions(log: Log) -> None:
    python_tests(log, gcc_build(log), marked="completions")


def linkers(log: Log) -> None:
    python_tests(log, gcc_build(log), tests="install/linkers")


def ring0(log: Log) -> None:
    """Tests the core in kernels, which are built from its sources in one folder for all tests."""
    folder = BUILDS / "ring0"
    folder.mkdir(parents=True, exist_ok=True)
    python_tests(log, folder, {"CARRY_RING0": str(folder)}, tests="unit/ring0", at_once=0)


def pack_seeds(log: Log, captures: list[Path], folder: Path) -> None:
    """Packs captures in each form of each format. Skips zstd or lz4 if it is not installed."""
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
    """Returns the seeds by target: captures, including packed ones, or the frames in them."""
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
    """Runs all targets at once. The next run continues with the inputs that they find."""
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


def instructions(log: Log) -> None:
    folder = gcc_build(log)
    if reason := obstacle(folder):
        log.skip(1, reason)
    else:
        log.run_all(["scripts/check_instructions.py", folder])
    python_tests(log, folder, tests="unit/instructions")


def proof(log: Log) -> None:
    """Proves the code of this build. Of the code that was proven before, only some is proven again.
    The prover must refuse some wrong kernels. The tests of models run all models."""
    folder = gcc_build(log)
    python_tests(log, folder, tests="unit/proof")
    if find_spec("elftools"):
        log.run(sys.executable, "proof/kernels/prove.py", "--changed", folder)
        few = ["--sample", "15", "--try", "1", "--limit", "30", "-j", str(JOBS)]
        log.run(sys.executable, "proof/kernels/refute.py", *few, folder)
    else:
        log.skip(1, "proof of kernels: pyelftools is not installed")
    if shutil.which("frama-c"):
        log.run("proof/packet/run")
    else:
        log.skip(1, "proof of the walk: frama-c is not installed")


def coverage_build(log: Log, profiles: Path) -> Path:
    """Builds programs that count branches, and always write their counts to the folder `profiles`.
    Returns the folder of the build."""
    own = ROOT / "tests/house/coverage"
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
    """Counts branches of src/ and capture/: no module may fall below its floor. `make coverage`
    also requires the reason for each branch that no test reaches; on another CPU, other branches
    may be reached."""
    if lacking := [tool for tool in check_coverage.TOOLS if not shutil.which(tool)]:
        log.skip(1, f"coverage: {', '.join(lacking)} not installed")
        return
    profiles = BUILDS / "coverage/profiles"
    folder = coverage_build(log, profiles)
    shutil.rmtree(profiles, ignore_errors=True)  # removes counts of programs that the build ran
    profiles.mkdir()
    profiles.chmod(0o777)  # tests run the tool as other users, too
    meson_tests(log, folder, "short", *NO_NATIVE)
    python_tests(log, folder, marked="covers_capture")
    decides = [] if os.environ.get("CARRY_COVERAGE") == "table" else ["--floors"]
    log.run("scripts/check_coverage.py", *decides, folder, profiles, BUILDS / "coverage/pages")
