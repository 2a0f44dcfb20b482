#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds circles: files of a folder that use each other, directly or through other files.

usage: check_circles.py BUILD

check_layers.py orders folders by the headers that their files include. Within a folder a file may
include any other, so this script reads objects: nm lists what each defines and uses. It leaves out
jit/, where several files define the functions of one class.
"""

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from fnmatch import filter as matching
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# How many parts of a path name a folder. Files for an architecture are part of their module.
DEPTH = {"capture": 1, "src": 2, "tools": 3}

# Deliberate circles: a file, a pattern of the symbols that it uses, and the reason.
DELIBERATE = {
    ("src/copy/copy.c", "carry_copy_*avx512"): "kernels behind the jumps by its keys",
    ("src/copy/x86_64/enter.S", "carry_fault_push"): "its end, in C",
    ("src/hosted/hosted_signals.c", "carry_signal_level_*"): "the handlers that it installs",
    ("src/packet/packet.c", "carry_packet_walk_*"): "protocols nest, and ask what comes next",
    ("src/sum/sum.c", "carry_sum_call"): "by carry_sum(), whose external copy it holds",
    ("src/sum/sum.c", "carry_sum_copy_kernels"): "forms of a kernel are chosen together: a ring",
}

Uses = dict[str, dict[str, set[str]]]  # the symbols by which a file uses others of its folder


def folder(file: str) -> list[str]:
    names = file.split("/")
    return names[:-1][: DEPTH[names[0]]]


def object_sources(build: Path) -> dict[str, str]:
    """Returns the source file of each object of the build, if it is in a folder of DEPTH."""
    found = {}
    for row in json.loads((build / "compile_commands.json").read_text()):
        file, made = (Path(row["directory"], row[key]).resolve() for key in ("file", "output"))
        if file.is_relative_to(ROOT) and made.is_file():
            found[str(made)] = file.relative_to(ROOT)
    return {made: str(file) for made, file in found.items() if file.parts[0] in DEPTH}


def symbols(objects: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Yields object, name and kind of each symbol, from nm's POSIX format: "object: name kind"."""
    command = ["nm", "-A", "--format=posix", *objects]
    listing = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in listing.splitlines():
        made, _, symbol = line.rpartition(": ")
        name, kind = symbol.split()[:2]
        yield made, name, kind


def find_uses(build: Path) -> Uses:
    file_of = object_sources(build)
    uses: Uses = {file: defaultdict(set) for file in file_of.values()}
    wanted, definers = set(), defaultdict(set)
    for made, name, kind in symbols(file_of) if file_of else ():
        if kind in "Uvw":
            wanted.add((file_of[made], name))
        elif kind.isupper():
            definers[name].add(file_of[made])
    for file, name in wanted:
        for other in definers[name] - {file}:
            if folder(other) == folder(file):
                uses[file][other].add(name)
    return uses


def without_deliberate(uses: Uses) -> Uses:
    kept: Uses = {file: {} for file in uses}
    for file, others in uses.items():
        patterns = [pattern for of, pattern in DELIBERATE if of == file]
        for other, names in others.items():
            left = names.difference(*(matching(names, pattern) for pattern in patterns))
            if left:
                kept[file][other] = left
    return kept


def outdated(uses: Uses) -> Iterator[str]:
    for file, pattern in DELIBERATE:
        if file in uses and not any(matching(names, pattern) for names in uses[file].values()):
            yield f"{file}: uses no {pattern}, which is deliberate here"


def reached(uses: Uses, file: str) -> set[str]:
    """Returns all files that a file uses, directly or through others. They include the file itself
    if it is in a circle."""
    found: set[str] = set()
    ahead = [file]
    while ahead:
        others = uses[ahead.pop()].keys() - found
        found |= others
        ahead += others
    return found


def circles(uses: Uses) -> list[list[str]]:
    reach = {file: reached(uses, file) for file in uses}
    found = {frozenset(o for o in reach[f] if f in reach[o]) for f in uses if f in reach[f]}
    return sorted(sorted(circle) for circle in found)


def describe(uses: Uses, circle: list[str]) -> Iterator[str]:
    yield f"{len(circle)} files use each other:"
    for file in circle:
        for other in sorted(uses[file].keys() & set(circle)):
            yield f"  {file} uses {', '.join(sorted(uses[file][other]))} of {other}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("build", type=Path, help="a build folder of Meson")
    all_uses = find_uses(parser.parse_args().build)
    uses = without_deliberate(all_uses)
    found = circles(uses)
    errors = [line for circle in found for line in describe(uses, circle)]
    errors += outdated(all_uses)
    for line in errors:
        print(line)
    print(f"{len(uses)} files: {len(found)} circles")
    return 1 if errors or not uses else 0


if __name__ == "__main__":
    sys.exit(main())
