#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cycles that llvm-mca's models of CPUs give for calls of the library's kernels.

    bench/models.py                             what docs/models.md holds
    bench/models.py --write                     writes it there: what `make models` runs
    bench/models.py --cpu cascadelake --kernel adc,avx512vnni_vl256 --size 1,2,3,4,8,16,24
                                                some kernels, sizes and CPUs
    bench/models.py --work copy --cpu znver4    copies

Of each call the instructions that it executes are modelled, and no others: docs/models.md says what
that leaves out.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from measure.peers import ROOT
from model.mca import CPUS, Cpu, ModelError, Region, cycles, find_programs
from model.path import Call, Function, PathError, Stepper, build
from model.peers import build_peers
from model.table import Figures, measured_lines, rewrite, table_lines

DOCUMENT = ROOT / "docs/models.md"
SIZES = (3, 8, 20, 32, 64, 256, 1500, 9000)
WORKS = {"sum": "sum", "sum_copy": "sum", "copy": "copy"}  # whose kernels' table
# Name and needs; wants, which do not keep a kernel from being modelled; the width.
ROW = re.compile(
    r"^CARRY_(?:SUM|COPY)_KERNEL\((?:x86_64|any), (\w+), ([^,]+),\s+[^,]+, \d+\)$", re.MULTILINE
)


def kernels(work: str) -> list[Function]:
    """As the library's table names them."""
    table = (ROOT / f"src/{WORKS[work]}/kernels.def").read_text()
    return [
        Function(name, f"carry_{work}_{name}", frozenset(re.findall(r"ON\((\w+)\)", needs)))
        for name, needs in ROW.findall(table)
    ]


def call_regions(
    stepper: Stepper, functions: list[Function], work: str, sizes: Iterable[int]
) -> dict[tuple[Function, int], list[Region]]:
    """Of each call, one that overlaps with the next, and one whose result the next waits for."""
    keys = [(function, size) for function in functions for size in sizes]
    calls = [Call(function.symbol, work, size) for function, size in keys]
    waits = (False,) if work == "copy" else (False, True)
    return {
        key: [Region(call, wait, tuple(path)) for wait in waits]
        for key, call, path in zip(keys, calls, stepper.paths(calls), strict=True)
        if not any(one.text.startswith("rep") for one in path)  # of which models know nothing
    }


def model(
    program: str, cpus: Iterable[Cpu], regions: dict[tuple[Function, int], list[Region]]
) -> Figures:
    """In as many processes as there are CPUs; one for each CPU and function."""
    jobs = [
        (cpu, function)
        for cpu in cpus
        for function in dict.fromkeys(function for function, _ in regions)
        if function.needs <= cpu.features
    ]

    def run(job: tuple[Cpu, Function]) -> Figures:
        cpu, function = job
        own = {size: some for (other, size), some in regions.items() if other == function}
        found = cycles(program, cpu, [region for some in own.values() for region in some])
        return {
            (cpu, function, size): tuple(found[one] for one in some) for size, some in own.items()
        }

    figures: Figures = {}
    with ThreadPoolExecutor() as pool:
        for found in pool.map(run, jobs):
            figures |= found
    return figures


# --- The program ---


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", type=Path, default=ROOT / "build", help="the library's")
    parser.add_argument("--work", choices=WORKS, default="sum")
    parser.add_argument("--cpu", default="", metavar="NAME,...", help="as llvm-mca names them")
    parser.add_argument("--kernel", default="", metavar="NAME,...", help="these, and no peers")
    parser.add_argument("--size", default="", metavar="BYTES,...")
    parser.add_argument("--write", action="store_true", help="write the tables into docs/models.md")
    return parser.parse_args()


def choose(names: str, known: dict[str, Any]) -> list[Any]:
    wanted = names.split(",") if names else known
    if unknown := [name for name in wanted if name not in known]:
        raise ModelError(f"no {unknown[0]}, but {', '.join(known)}")
    return [known[name] for name in wanted]


def collect(arguments: argparse.Namespace) -> tuple[list[Function], list[Path]]:
    """What is modelled, and the objects that hold it."""
    functions = choose(arguments.kernel, {one.title: one for one in kernels(arguments.work)})
    objects = [arguments.build / "src/libcarry.a"]
    if arguments.work != "sum" or arguments.kernel:
        return functions, objects
    built = build_peers(arguments.build / "bench")
    for title, reason in built.missing.items():
        print(f"missing: {title}: {reason}", file=sys.stderr)
    return functions + built.functions, built.objects + objects


def run(arguments: argparse.Namespace) -> None:
    programs = find_programs()
    if not programs:
        raise ModelError("no llvm-mca: make packages-models installs it")
    version = max(programs)
    cpus = choose(arguments.cpu, {cpu.name: cpu for cpu in CPUS if cpu.llvm <= version})
    functions, objects = collect(arguments)
    sizes = [int(size) for size in arguments.size.split(",")] if arguments.size else SIZES
    symbols = [function.symbol for function in functions]
    with tempfile.TemporaryDirectory() as folder:
        stepper = Stepper(build(Path(folder), symbols, objects), symbols)
        regions = call_regions(stepper, functions, arguments.work, sizes)
    figures = model(programs[version], cpus, regions)
    lines = [f"By the models of LLVM {version}.", "", *table_lines(figures)]
    if arguments.work == "sum":
        lines += ["", *measured_lines(figures)]
    if arguments.write:
        DOCUMENT.write_text(rewrite(DOCUMENT.read_text(), lines))
    else:
        print("\n".join(lines))


def main() -> None:
    try:
        run(parse_arguments())
    except (ModelError, PathError) as error:
        sys.exit(f"models.py: {error}")


if __name__ == "__main__":
    main()
