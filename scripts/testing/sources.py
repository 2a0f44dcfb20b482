# SPDX-License-Identifier: MIT
"""Steps that check sources and documents: layers, headers, style, commits, symbols, options."""

import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from testing.builds import BUILDS, COMPILERS, EMULATOR, build, gcc_build, python_with
from testing.runner import ROOT, Log, StepError

PROGRAMS_IN = ["README.md", "docs/copy.md", "docs/hook.md", "docs/patch.md", "docs/xstate.md"]
FUNCTIONS_IN = ["docs/capture.md", "docs/cpu.md", "docs/packet.md", "docs/sum.md"]


def files(*suffixes: str) -> list[str]:
    """Returns the project's files of these kinds."""
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


def small_cpu(log: Log) -> None:
    """Compiles the core, except `hook`, for a 32-bit CPU: nothing may need libatomic."""
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
    """Returns the group in the first match of `pattern` in a document; fails if there is none."""
    found = re.search(pattern, (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)
    if not found:
        raise StepError(f"{document} has no {what}")
    return found[1]


def program_in(document: str, folder: Path) -> Path:
    """Writes the first program in C of a document to a file; returns its path."""
    program = folder / f"{Path(document).stem}.c"
    program.write_text(from_document(document, "example in C", r"^```c\n(.*?)^```"))
    return program


def functions_in(document: str, folder: Path) -> Path:
    """Writes all C code of a document to one file: includes, then functions. Returns its path."""
    source = folder / f"{Path(document).stem}.c"
    shown = re.findall(r"^```c\n(.*?)^```", (ROOT / document).read_text(), re.M | re.S)
    source.write_text("\n".join(shown))
    return source


def readme_jit(log: Log, folder: Path) -> None:
    """Runs the program of docs/jit.md, linked with the libraries that the build system makes."""
    libraries = gcc_build(log)
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
    """Checks the table of times, the one-line build, and the programs of documents, linked with the
    library of that build."""
    log.run(sys.executable, "bench/readme.py", "--check")
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
    present = {c: cxx for c, cxx in COMPILERS.items() if shutil.which(cxx)}
    for lacking in COMPILERS.keys() - present.keys():
        log.skip(1, f"headers by {lacking}: not installed")
    dialects = [(c, "c", "c11") for c in present]
    dialects += [(cxx, "c++", "c++17") for cxx in present.values()]
    public = sorted((ROOT / "include/carry").glob("*.h"))
    log.run_all(
        *(
            [compiler, *flags, f"-std={standard}", "-x", language, header]
            for header in public
            for compiler, language, standard in dialects
        )
    )


def ruff(log: Log) -> list[list[str | Path]]:
    """Returns the commands that check Python. Debian lacks ruff: pip installs it, if it can."""
    program = python_with(log, "style", "Python's style").with_name("ruff")
    if not program.is_file():
        return []
    return [[program, "check", "--no-cache"], [program, "format", "--no-cache", "--check"]]


def style(log: Log) -> None:
    log.run_all(
        ["scripts/check_style.py"],
        ["clang-format", "--dry-run", "-Werror", *files(".c", ".cc", ".h")],
        ["shellcheck", "--shell=bash", *shell_scripts()],
        *ruff(log),
    )


def style_of(changed: Sequence[str], log: Log) -> None:
    """Checks the style of these files, and the layers."""
    present = [path for path in changed if (ROOT / path).is_file()]
    commands: list[list[str | Path]] = [["scripts/check_style.py"], ["scripts/check_layers.py"]]
    if code := [path for path in present if path in files(".c", ".cc", ".h")]:
        commands.append(["clang-format", "--dry-run", "-Werror", *code])
    if scripts := [path for path in present if ROOT / path in shell_scripts()]:
        commands.append(["shellcheck", "--shell=bash", *scripts])
    if python := [path for path in present if path.endswith(".py")]:
        commands += [[*command, *python] for command in ruff(log)]
    log.run_all(*commands)


def commits(log: Log) -> None:
    log.run("scripts/check_commits.py")


def without_jit(log: Log) -> None:
    """Configures builds that lack libraries; steps of other architectures compile such builds."""
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
    """Checks that a build of the command without compression supports exactly the formats that
    other options enable."""
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
