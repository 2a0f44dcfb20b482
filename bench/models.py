#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the cycles of calls of kernels by llvm-mca's models of CPUs.

    bench/models.py                             the tables of docs/models.md
    bench/models.py --write                     writes them there; `make models` runs this
    bench/models.py --cpu cascadelake --kernel adc,avx512vnni_vl256 --size 1,2,3,4,8,16,24
                                                some kernels, sizes and CPUs
    bench/models.py --work copy --cpu znver4    copies
    bench/models.py --arch aarch64 --build build-aarch64
                                                another architecture, by an emulator, with
                                                counts; `make models-aarch64` runs this

Models only the instructions that a call executes: docs/models.md describes what that omits.
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
from model import emulated
from model.mca import ARM_CPUS, CPUS, Cpu, ModelError, Region, cycles, find_programs
from model.path import Call, Function, Instruction, PathError, Stepper, build
from model.peers import build_peers
from model.table import (
    ARM_BEGIN,
    BEGIN,
    Counts,
    Figures,
    count_lines,
    measured_lines,
    rewrite,
    table_lines,
)

DOCUMENT = ROOT / "docs/models.md"
SIZES = (3, 8, 20, 32, 64, 256, 1500, 9000)
COUNTED_SIZES = (8, 20, 64, 256, 1500, 9000, 65536)  # on AArch64
# The table of kernels of each work.
WORKS = {
    "sum": "sum/kernels.def",
    "sum_copy": "sum/kernels.def",
    "crc32c": "sum/crc32c_kernels.def",
    "copy": "copy/kernels.def",
}
# A row of a table of kernels: name, needs, preferences (which models ignore), and width.
ROW = r"^CARRY_\w+_KERNEL\((?:{arch}|any), (\w+), ([^,]+),\s+[^,]+, (\d+)\)$"


def kernels(work: str, arch: str = "x86_64") -> list[Function]:
    """Returns the kernels of the library's table."""
    table = (ROOT / "src" / WORKS[work]).read_text()
    return [
        Function(name, f"carry_{work}_{name}", frozenset(re.findall(r"ON\((\w+)\)", needs)))
        for name, needs, _ in re.findall(ROW.format(arch=arch), table, re.MULTILINE)
    ]


def call_regions(
    stepper: Stepper, functions: list[Function], work: str, sizes: Iterable[int]
) -> dict[tuple[Function, int], list[Region]]:
    """Returns the regions of each call: one that the next call overlaps and, except for copies, one
    that the next call waits for."""
    keys = [(function, size) for function in functions for size in sizes]
    calls = [Call(function.symbol, work, size) for function, size in keys]
    waits = (False,) if work == "copy" else (False, True)
    return {
        key: [Region(call, wait, tuple(path)) for wait in waits]
        for key, call, path in zip(keys, calls, stepper.paths(calls), strict=True)
        if not any(one.text.startswith("rep") for one in path)  # models do not describe it
    }


def model(
    program: str, cpus: Iterable[Cpu], regions: dict[tuple[Function, int], list[Region]]
) -> Figures:
    """Models each pair of CPU and function in a process of its own; several run at once."""
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
    parser.add_argument("--arch", choices=("x86_64", "aarch64"), default="x86_64")
    parser.add_argument("--work", choices=WORKS, default="sum", help="of x86-64; else all")
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
    """Returns the functions to model, and the objects that contain them."""
    functions = choose(arguments.kernel, {one.title: one for one in kernels(arguments.work)})
    objects = [arguments.build / "src/libcarry.a"]
    if arguments.work != "sum" or arguments.kernel:
        return functions, objects
    built = build_peers(arguments.build / "bench")
    for title, reason in built.missing.items():
        print(f"missing: {title}: {reason}", file=sys.stderr)
    return functions + built.functions, built.objects + objects


# --- AArch64 ---

# True: modelled and counted; False: only counted.
ARM_WORKS = {"sum": True, "sum_copy": False, "crc32c": True}
Paths = dict[tuple[Function, int], list[Instruction]]


def has_any_length(function: Function) -> bool:
    return bool(function.needs & {"sve", "sve2"})


def arm_paths(program: Path, bits: int, work: str, functions: list[Function]) -> Paths:
    inside = [one.symbol for other in ARM_WORKS for one in kernels(other, "aarch64")]
    keys = [(one, size) for one in functions for size in sorted({*SIZES, *COUNTED_SIZES})]
    calls = [Call(one.symbol, work, size) for one, size in keys]
    found = emulated.Emulator(program, bits).paths(calls, inside)
    return dict(zip(keys, found, strict=True))


def arm_figures(mca: str, cpus: list[Cpu], work: str, paths: dict[int, Paths]) -> Figures:
    """Models each CPU with the length of its vectors."""
    figures: Figures = {}
    for cpu in cpus:
        regions = {}
        for (one, size), path in {**paths[128], **paths[cpu.vector_bits]}.items():
            if size in SIZES:
                call = Call(one.symbol, work, size)
                regions[one, size] = [Region(call, wait, tuple(path)) for wait in (False, True)]
        figures |= model(mca, [cpu], regions)
    return figures


def arm_lines(
    program: Path, mca: str, cpus: list[Cpu], work: str, functions: list[Function]
) -> Iterable[str]:
    longer = [one for one in functions if has_any_length(one)]
    paths = {128: arm_paths(program, 128, work, functions)}
    for bits in {cpu.vector_bits for cpu in cpus} - {128}:
        paths[bits] = arm_paths(program, bits, work, longer)
    counts: Counts = {
        (bits, *key): len(path)
        for bits, some in sorted(paths.items())
        for key, path in some.items()
        if key[1] in COUNTED_SIZES
    }
    yield from (f"Instructions, `{work}`:", "", *count_lines(counts), "")
    if ARM_WORKS[work]:
        figures = arm_figures(mca, cpus, work, paths)
        yield from (f"Cycles by models, `{work}`:", "", *table_lines(figures), "")


def run_aarch64(arguments: argparse.Namespace, mca: str, version: int) -> list[str]:
    cpus = choose(arguments.cpu, {cpu.name: cpu for cpu in ARM_CPUS if cpu.llvm <= version})
    by_work = {work: kernels(work, "aarch64") for work in ARM_WORKS}
    symbols = [one.symbol for functions in by_work.values() for one in functions]
    lines = [f"By the models of LLVM {version}.", ""]
    with tempfile.TemporaryDirectory() as folder:
        program = emulated.build(Path(folder), symbols, [arguments.build / "src/libcarry.a"])
        for work, functions in by_work.items():
            lines += arm_lines(program, mca, cpus, work, functions)
    return lines[:-1]


# --- The program for all architectures ---


def run(arguments: argparse.Namespace) -> None:
    programs = find_programs()
    if not programs:
        raise ModelError("no llvm-mca: make packages-models installs it")
    version = max(programs)
    if arguments.arch == "aarch64":
        lines = run_aarch64(arguments, programs[version], version)
        return show(arguments, lines, ARM_BEGIN)
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
    return show(arguments, lines, BEGIN)


def show(arguments: argparse.Namespace, lines: list[str], begin: str) -> None:
    if arguments.write:
        DOCUMENT.write_text(rewrite(DOCUMENT.read_text(), lines, begin))
    else:
        print("\n".join(lines))


def main() -> None:
    try:
        run(parse_arguments())
    except (ModelError, PathError) as error:
        sys.exit(f"models.py: {error}")


if __name__ == "__main__":
    main()
