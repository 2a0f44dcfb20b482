#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the core is freestanding, and that the libraries export exactly their public symbols.

usage: check_symbols.py BUILD

The core may leave undefined the functions that compilers call implicitly, the symbols that linkers
define, and the functions of the host in src/base/*host.h. The names of its global symbols start
with carry_, and it has no start-up code. libcarry-capture follows the same rule for names, and
keeps no state: it has no variables, neither shared nor thread-local. The shared libraries export
the functions and variables that public headers mark CARRY_API; libcarry-jit also exports the
symbols that GDB looks for. All exports have the version of this ABI.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COMPILER_CALLS = {"memcpy", "memset", "memmove", "memcmp"}
LINKER_SYMBOLS = {"_GLOBAL_OFFSET_TABLE_"} | {
    f"__{end}_carry_{table}" for end in ("start", "stop") for table in ("faults", "sites")
}
JIT_HEADER = ROOT / "include/carry/jit.h"
CAPTURE_HEADER = ROOT / "include/carry/capture.h"
GDB_SYMBOLS = {"__jit_debug_descriptor", "__jit_debug_register_code"}
START_UP_SECTIONS = re.compile(r"\s(\.init_array|\.fini_array|\.ctors|\.dtors|\.init|\.fini)\b")

ATTRIBUTE = re.compile(r"__attribute__\s*\(\(.*?\)\)", re.DOTALL)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
DIRECTIVE = re.compile(r"^\s*#(?:.*\\\n)*.*$", re.MULTILINE)
API_SYMBOL = re.compile(r"\bCARRY_API(?:_INLINE)?\b[^;{(]*?\b(\w+)\s*[(;\[]")


def output(*command: str | Path) -> str:
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def symbols(*command: str | Path) -> set[tuple[str, str]]:
    """Returns kind and name of each symbol, from nm's POSIX format: "name kind value size"."""
    rows = (line.split() for line in output(*command).splitlines())
    return {(row[1], row[0].split("@")[0]) for row in rows if len(row) >= 2}


def code(header: Path) -> str:
    """Returns a header's text without comments, directives and attributes."""
    text = COMMENT.sub(" ", header.read_text())
    return ATTRIBUTE.sub(" ", DIRECTIVE.sub("", text))


def api_symbols(headers: list[Path]) -> set[str]:
    return {name for header in headers for name in API_SYMBOL.findall(code(header))}


def host_functions() -> set[str]:
    headers = (ROOT / "src/base").glob("*host.h")
    found = re.compile(r"\b(carry_host_\w+)")
    return {name for path in headers for name in found.findall(code(path))}


def without_prefix(archive: Path, defined: set[str]) -> list[str]:
    return [
        f"{archive.name}: defines {name}, which lacks the prefix carry_"
        for name in sorted(defined)
        if not name.startswith("carry_")
    ]


def check_stateless(archive: Path) -> list[str]:
    """Returns errors: sections of variables that are not read-only once the program runs, and
    symbols without the prefix."""
    rows = [line.split() for line in output("objdump", "-h", archive).splitlines()]
    state = [
        (row[1], int(row[2], 16))
        for row in rows
        if len(row) > 2 and re.match(r"\.(data|bss|tdata|tbss)\b(?!\.rel\.ro)", row[1])
    ]
    defined = {name for kind, name in symbols("nm", "--format=posix", archive) if kind in "TDBRVW"}
    errors = [f"{archive.name}: {size} bytes in {name}" for name, size in state if size]
    print(f"{archive.name}: {len(defined)} symbols, {len(errors)} sections of variables")
    return errors + without_prefix(archive, defined) + ([] if defined else ["no symbols"])


def check_core(archive: Path) -> list[str]:
    found = symbols("nm", "--format=posix", archive)
    undefined = {name for kind, name in found if kind in "Uwv"}
    defined = {name for kind, name in found if kind.isupper() and kind != "U"}
    allowed = COMPILER_CALLS | LINKER_SYMBOLS | host_functions()
    errors = [f"{archive.name}: needs {name}" for name in sorted(undefined - defined - allowed)]
    errors += without_prefix(archive, defined)
    for section in sorted(set(START_UP_SECTIONS.findall(output("objdump", "-h", archive)))):
        errors.append(f"{archive.name}: has start-up code in {section}")
    print(f"{archive.name}: {len(defined)} symbols, {len(undefined - defined)} asked of the host")
    return errors if defined else [f"{archive.name}: no symbols"]


def check_shared(library: Path, headers: list[Path], others: set[str]) -> list[str]:
    """Returns errors: exports that are neither declared nor in `others`, or lack the version."""
    node = re.findall(r"^(LIBCARRY\S+) {$", (library.parent / "exports.map").read_text(), re.M)[0]
    listing = output("nm", "-D", "--defined-only", "-f", "posix", library).splitlines()
    versioned = {line.split()[0] for line in listing} - {node}
    wrong = sorted(name for name in versioned if not name.endswith(f"@@{node}"))
    exported = {name.split("@")[0] for name in versioned}
    exported -= LINKER_SYMBOLS  # hidden, although GNU ld lists them
    declared = api_symbols(headers) | others
    errors = [f"{library.name}: exports {name}" for name in sorted(exported - declared)]
    errors += [f"{library.name}: lacks {name}" for name in sorted(declared - exported)]
    errors += [f"{library.name}: {name} has not the version {node}" for name in wrong]
    print(f"{library.name}: {len(exported)} symbols exported, {len(declared)} declared")
    return errors if declared - others else ["no CARRY_API in the public headers"]


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: check_symbols.py BUILD", file=sys.stderr)
        return 2
    build = Path(sys.argv[1])
    headers = set((ROOT / "include/carry").glob("*.h"))
    errors = check_core(build / "src/libcarry-core.a")
    errors += check_shared(
        build / "src/libcarry.so", sorted(headers - {JIT_HEADER, CAPTURE_HEADER}), set()
    )
    errors += check_stateless(build / "capture/libcarry-capture.a")
    errors += check_shared(build / "capture/libcarry-capture.so", [CAPTURE_HEADER], set())
    errors += check_shared(build / "jit/libcarry-jit.so", [JIT_HEADER], GDB_SYMBOLS)
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
