#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the files of the crates for Rust that follow the headers: declarations (bindgen), enums.

usage: make_rust.py [--check]      --check changes nothing, and fails if a file is not up to date

The files in the repository are made with Debian 12's bindgen and rustfmt. With other versions they
look different.
"""

import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATES = ROOT / "bindings/rust"
INCLUDE = ROOT / "include/carry"
WIDTH = 90
SPDX = "// SPDX-License-Identifier: MIT\n"
BINDGEN = ["bindgen", "wrapper.h", "--allowlist-function=carry_.*", "--allowlist-type=carry_.*"]
BINDGEN += ["--allowlist-var=CARRY_.*", "--use-core", "--ctypes-prefix=crate::ctypes"]
# Leaves out items that only macros of C use, and frames of faults, because Rust has no functions
# that return twice.
BINDGEN += ["--blocklist-item=CARRY_(ALT|BRANCH|FAULT|OP|SITE)_.*", "--blocklist-type=carry_site.*"]
BINDGEN += ["--blocklist-type=carry_fault_frame", "--blocklist-function=carry_fault_(enter|leave)"]
BINDGEN += ["--blocklist-function=carry_patch_(un)?register|carry_patch_never|carry_patch_nothing"]
BINDGEN += ["--size_t-is-usize", "--no-prepend-enum-name", "--with-derive-default"]
BINDGEN += ["--generate-inline-functions", "--no-doc-comments", "--no-layout-tests"]
BINDGEN += ["--no-rustfmt-bindings", "--", "-I../../../include"]


def same_clang() -> dict[str, str]:
    """Returns environment variables that make bindgen use the library of Debian's `clang`, not a
    newer one."""
    command = ["clang", "--print-resource-dir"]
    if not shutil.which("clang"):
        return {}
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return {"LIBCLANG_PATH": str(Path(found.strip()).parents[1])}


def run_tool(*command: str, text: str | None = None, folder: Path = CRATES) -> str:
    env = os.environ | same_clang()
    result = subprocess.run(
        command, cwd=folder, input=text, stdout=subprocess.PIPE, text=True, env=env
    )
    if result.returncode:
        raise SystemExit(f"{command[0]} failed with status {result.returncode}")
    return result.stdout


def rows(table: str, macro: str) -> list[list[str]]:
    """Returns the rows of a table, each as a list of its words and strings."""
    text = (INCLUDE / table).read_text()
    found = re.findall(rf"^{macro}\((.*?)\)$", text, re.MULTILINE | re.DOTALL)
    return [re.findall(r'"[^"]*"|[^\s,()"]+', row) for row in found]


def enumerators(header: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Yields the enumerators in `header` that begin with `prefix` and have a comment: each name
    without the prefix, and the first sentence of the comment."""
    pattern = rf"^ +{prefix}(\w+), +/\*(.*?)\*/"
    for name, comment in re.findall(pattern, (INCLUDE / header).read_text(), re.M | re.S):
        yield name, re.split(r"[.]\s|:\s+-|; docs/", " ".join(comment.split()))[0]


def camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def described(text: str) -> str:
    return "".join(f"    /// {line}\n" for line in textwrap.wrap(text, WIDTH))


def enum(name: str, kind: str, what: str, variants: list[tuple[str, int, str, str]]) -> str:
    """Returns an enum for the macro table!: variants with number, name to print and description."""
    lines = [
        f"{described(text)}    {camel(id)} = {number}, {shown},\n"
        for id, number, shown, text in variants
    ]
    return f"table! {{\n/// {what}\npub enum {name}: {kind} {{\n{''.join(lines)}}}\n}}\n"


def of_packet(prefix: str, first: int) -> list[tuple[str, int, str, str]]:
    found = enumerate(enumerators("packet.h", f"CARRY_{prefix}_"), first)
    return [
        (name, number, f'"{name.lower()}"', f"{text[0].upper()}{text[1:]}.")
        for number, (name, text) in found
    ]


def bindings() -> str:
    """Returns the declarations of wrapper.h, without unused names of the C library."""
    text = run_tool(*BINDGEN, folder=CRATES / "libcarry-sys")
    return re.sub(r"pub type __\w+ = [^;]*;", "", text)


def tables() -> str:
    protocols = [
        (id, number, f'"{name}"', f"`{name}`")
        for number, (id, name, *_) in enumerate(rows("protocols.def", "CARRY_PROTOCOL"))
    ]
    errors = [
        (name.removeprefix("CARRY_ERROR_"), int(number), text, f"{text[1:-1].capitalize()}.")
        for name, number, text in rows("errors.def", "CARRY_ERROR")
        if int(number)
    ]
    enums = [
        enum("Protocol", "u8", "The protocols whose headers the walk knows.", protocols),
        enum("Verdict", "u8", "Verdicts on checksums.", of_packet("VERDICT", 0)),
        enum("Reason", "u8", "Reasons why a checksum is unverifiable.", of_packet("REASON", 1)),
        enum("Cause", "u8", "Causes of verdicts.", of_packet("CAUSE", 1)),
        enum("ErrorCode", "i32", "Errors that functions return.", errors),
    ]
    return "\n".join(enums)


def rustfmt(text: str) -> str:
    return run_tool("rustfmt", "--edition=2021", "--config-path=rustfmt.toml", text=text)


def main() -> int:
    made = {"libcarry-sys/src/bindings.rs": bindings, "libcarry/src/tables.rs": tables}
    stale = []
    for name, make in made.items():
        text = rustfmt(f"{SPDX}// Made by scripts/make_rust.py: do not edit.\n\n{make()}")
        path = CRATES / name
        if "--check" not in sys.argv:
            path.write_text(text)
        elif text != path.read_text():
            stale.append(name)
    if stale:
        print(f"run scripts/make_rust.py: {', '.join(stale)} would change", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
