#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the built libraries with the ABI that abi/ records for their architecture, by abidiff.

usage: check_abi.py BUILD [--records FOLDER] [--news FILE] [--record]

New functions and variables may appear. One that is gone, or whose types have changed, must be named
in the newest section of NEWS.md. --record writes new records, for a release.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ["src/libcarry.so", "capture/libcarry-capture.so", "jit/libcarry-jit.so"]

# The architectures with a record, by their numbers in ELF.
MACHINES = {62: "x86_64", 183: "aarch64"}

# Records hold the public types of the headers, and no folder or compiler of the build.
PUBLIC = ["--headers-dir", "include", "--drop-private-types", "--exported-interfaces-only"]
PLAIN = ["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed"]

# The path of a file of the project, seen from the folder of the build.
PATH = re.compile(r"(?<= path=')[^']+(?=')")

# Bits of abidiff's exit status.
FAILED, CHANGED = 3, 4
CHANGE = re.compile(r"^\s*\[[CD]\] '(?:function|method|variable) [^']*?\b(\w+)(?:\(|'|\{)", re.M)


def machine_of(library: Path) -> str:
    """Returns the architecture that a library is for, or "" if it has no record."""
    head = library.read_bytes()[:20]
    return MACHINES.get(int.from_bytes(head[18:20], "little" if head[5] == 1 else "big"), "")


def in_project(library: Path, path: str) -> str:
    """Returns a file's path from the root of the project, so that records hold no other path."""
    return str((library.parent.parent / path).resolve().relative_to(ROOT))


def record(library: Path, path: Path) -> None:
    command = ["abidw", *PUBLIC, *PLAIN, "--type-id-style", "hash", library]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    path.write_text(PATH.sub(lambda found: in_project(library, found[0]), done.stdout))


def changed_functions(library: Path, path: Path) -> tuple[set[str], str]:
    """Returns the functions and variables that are gone or changed, and abidiff's report."""
    command = ["abidiff", "--no-added-syms"]
    done = subprocess.run(
        [*command, path, library], cwd=ROOT, check=False, capture_output=True, text=True
    )
    if done.returncode & FAILED:
        raise SystemExit(f"abidiff failed on {path}: {done.stderr or done.stdout}")
    found = set(CHANGE.findall(done.stdout))
    if done.returncode & CHANGED and not found:
        raise SystemExit(f"{library.name}: a change without a name\n{done.stdout}")
    return found, done.stdout


def newest_section(news: Path) -> str:
    return news.read_text().split("\n## ")[1]


def check_library(library: Path, path: Path, announced: str) -> list[str]:
    found, report = changed_functions(library, path)
    silent = sorted(name for name in found if not re.search(rf"\b{name}\b", announced))
    print(f"{library.name}: {len(found)} functions changed or gone, {len(silent)} in silence")
    if silent:
        print(report)
    return [f"{library.name}: {name} changed, and NEWS.md does not name it" for name in silent]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path)
    parser.add_argument("--records", type=Path, default=ROOT / "abi")
    parser.add_argument("--news", type=Path, default=ROOT / "NEWS.md")
    parser.add_argument("--record", action="store_true")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    arch = machine_of(options.build / LIBRARIES[0])
    if not arch:
        print("skipped: this architecture has no record")
        return 0
    errors = []
    for library in (options.build / name for name in LIBRARIES):
        path = options.records / arch / f"{library.stem}.abi"
        if not options.record and path.exists():
            errors += check_library(library.resolve(), path, newest_section(options.news))
        elif options.record and library.exists():
            path.parent.mkdir(exist_ok=True)
            record(library.resolve(), path)
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
