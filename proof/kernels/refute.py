#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Searches for wrong kernels that the prover accepts; the CPU determines which are wrong.

usage: refute.py [--sample N] [--try N] [--seed N] [--limit SECONDS] [-j JOBS] BUILD [FUNCTION...]

Changes each kernel in one place (mutants.py), compares it with plain C for sizes up to 6 MiB, and
tries to prove the wrong mutants. No wrong mutant may be proven. Kernels that this CPU cannot run
are skipped, and so are kernels of AArch64.

  --sample N       runs N mutants of each kernel on the CPU, evenly of each kind (default: all)
  --try N          tries to prove N wrong mutants of each kernel (default: all)
  --seed N         chooses other mutants (default: 1)
  --limit SECONDS  gives up a proof that takes longer (default: 60); such a mutant counts as refused
  -j JOBS          runs this many proofs at once

Half of the tried mutants are chosen at random; the other half failed after the most right calls.

Exit status: 0 if no wrong kernel is proven, 1 if one is, 2 if BUILD cannot be read.

example: refute.py --sample 500 --try 10 build carry_sum_avx2
"""

from __future__ import annotations

import argparse
import copy
import itertools
import multiprocessing
import platform
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import digest
import features
import mutants
import prove
from elftools.elf.elffile import ELFFile
from image import Image
from mutants import Mutant
from number import Unproven

FOLDER = Path(__file__).resolve().parent
RUNNER = (FOLDER / "refute.c", FOLDER.parent.parent / "tests/unit/proof/meanings_x86_64.S")


@dataclass(frozen=True)
class Verdict:
    """The result of a mutant on the CPU: the number of right calls before the first wrong one, and
    the fault."""

    mutant: Mutant
    calls: int
    reason: str  # empty if the mutant is right


@dataclass(frozen=True)
class Kernel:
    """A function of a library, by its name."""

    library: Path
    name: str


class TooLong(Exception):
    """Reports that a proof took too long. The prover must not handle this as a failed proof."""


def runner(folder: Path) -> Path:
    program = folder / "refute"
    options = ["-O2", "-mgeneral-regs-only", "-o", str(program)]
    subprocess.run(["gcc", *options, *map(str, RUNNER), "-ldl"], check=True)
    return program


def judged(program: Path, image: Image, name: str, found: list[Mutant]) -> Iterator[Verdict]:
    """Runs mutants on the CPU, and yields their verdicts."""
    start, _ = image.functions[name]
    form = prove.form_of(name)
    lines = [f"{form} {start:x} {m.at:x} {m.code.hex()}\n" for m in found]
    command = [program, image.path]
    done = subprocess.run(command, check=True, capture_output=True, text=True, input="".join(lines))
    for mutant, line in zip(found, done.stdout.splitlines(), strict=True):
        verdict, calls, *reason = line.split(None, 2)
        yield Verdict(mutant, int(calls), "" if verdict == "right" else " ".join(reason))


def mutated(image: Image, mutant: Mutant, path: Path) -> Image:
    """Writes a library with a mutant's bytes to a path, and returns its image."""
    with image.path.open("rb") as file:
        (at,) = ELFFile(file).address_offsets(mutant.at, len(mutant.code))
    shutil.copyfile(image.path, path)
    with path.open("r+b") as file:
        file.seek(at)
        file.write(mutant.code)
    other = copy.copy(image)
    other.path, other.read = path, set()
    return other


def give_up(*_: object) -> None:
    raise TooLong("takes too long")


def is_proven(image: Image, name: str, limit: int) -> bool:
    """Returns whether the prover accepts a function within `limit` seconds of CPU time."""
    signal.signal(signal.SIGPROF, give_up)
    try:
        signal.setitimer(signal.ITIMER_PROF, limit)
        try:
            prove.proof_of(image, name).run()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    except (Unproven, TooLong):
        return False
    return True


def attempt(task: tuple[Kernel, Verdict, int]) -> tuple[Kernel, Verdict, str]:
    kernel, verdict, limit = task
    with tempfile.TemporaryDirectory() as folder:
        image = mutated(Image(kernel.library), verdict.mutant, Path(folder) / "mutant.so")
        try:
            text = "proven" if is_proven(image, kernel.name, limit) else ""
        except Exception as error:
            text = f"the prover fails: {type(error).__name__}: {error}"
    return kernel, verdict, text


def sampled(found: list[Mutant], count: int, chance: random.Random) -> list[Mutant]:
    """Returns `count` mutants: the same number of each kind if there are enough."""
    groups: dict[str, list[Mutant]] = {}
    for mutant in chance.sample(found, len(found)):
        groups.setdefault(mutant.kind, []).append(mutant)
    turns = itertools.zip_longest(*groups.values())
    return [m for turn in turns for m in turn if m][:count]


def chosen_of(wrong: list[Verdict], count: int | None, chance: random.Random) -> list[Verdict]:
    """Returns `count` mutants: half of them are those that failed after the most right calls, the
    others are chosen at random. Returns all if there are not more."""
    if count is None or count >= len(wrong):
        return wrong
    late = sorted(wrong, key=lambda v: -v.calls)[: count // 2]
    rest = [v for v in wrong if v not in late]
    return late + chance.sample(rest, count - len(late))


def tasks_of(
    args: argparse.Namespace, names: list[str], program: Path
) -> Iterator[tuple[Kernel, Verdict, int]]:
    """Yields the proofs to try; prints how many mutants of each kernel are wrong on the CPU."""
    library = args.build / "src/libcarry.so"
    image = Image(library)
    for name in names:
        if missing := features.missing(name):
            print(f"{name}: skipped: this CPU lacks {', '.join(missing)}", flush=True)
            continue
        chance = random.Random(f"{args.seed} {name}")
        found = mutants.every(image.instructions(name), chance)
        if args.sample is not None:
            found = sampled(found, args.sample, chance)
        wrong = [v for v in judged(program, image, name, found) if v.reason]
        some = chosen_of(wrong, args.tried, chance)
        print(
            f"{name}: {len(found)} mutants, {len(wrong)} wrong on the CPU, {len(some)} tried",
            flush=True,
        )
        for verdict in some:
            yield Kernel(library, name), verdict, args.limit


def refute(tasks: Iterable[tuple[Kernel, Verdict, int]], jobs: int) -> Counter[str]:
    """Tries to prove wrong kernels; prints those that the prover accepts."""
    counts: Counter[str] = Counter()
    with multiprocessing.Pool(jobs) as pool:
        for kernel, verdict, text in pool.imap_unordered(attempt, tasks):
            counts["tried"] += 1
            counts["accepted"] += bool(text)
            if text:
                wrong = f"wrong on the CPU after {verdict.calls} calls: {verdict.reason}"
                print(f"{kernel.name}: {verdict.mutant} ({verdict.mutant.at:x}): {text}; {wrong}")
    return counts


def arguments() -> argparse.Namespace:
    parser = prove.kernels_parser(__doc__)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--try", dest="tried", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=int, default=60)
    return parser.parse_args()


def main() -> int:
    args = arguments()
    if platform.machine() != "x86_64":
        print("refute.py: skipped: mutants are made of kernels of x86-64")
        return 0
    try:
        names = [code.name for code in prove.selected(args.build, args.functions)]
        with tempfile.TemporaryDirectory() as folder:
            counts = refute(tasks_of(args, names, runner(Path(folder))), args.jobs)
    except (digest.DigestError, OSError) as error:
        print(f"refute.py: {error}", file=sys.stderr)
        return 2
    print(f"{counts['tried']} wrong kernels tried, {counts['accepted']} of them accepted")
    return 1 if counts["accepted"] else 0


if __name__ == "__main__":
    sys.exit(main())
