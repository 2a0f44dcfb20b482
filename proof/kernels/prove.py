#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proves the kernels of a build: for every content, size and alignment.

usage: prove.py [--changed] [--record] [-j JOBS] BUILD [FUNCTION...]

  --changed   proves only kernels whose code is not in proven.def
  --record    writes proven.def: adds proven code, and removes code that could not be proven
  -j JOBS     proves this many functions at once

Prints a line for each function. Exit status: 0 if all chosen functions are proven, 1 if not, 2 if
BUILD cannot be read.

example: prove.py build carry_sum_avx2 carry_copy_avx2
"""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import digest
import features
from claims import COPY, COPY_LINES, COPY_TRY, SUM, SUM_COPY, SUM_COPY_TRY, Claim, Proof
from crc32c import CRC32C, Remainder, WordEngine
from digest import Code, DigestError
from engine import Engine, Function
from image import Image
from moves import MOVE, MoveProof
from number import Unproven
from pages import PageEngine

# The claim for each form that a row of a table has.
FORMS = {
    "sum_copy_try": SUM_COPY_TRY,
    "sum_copy": SUM_COPY,
    "sum": SUM,
    "copy_try": COPY_TRY,
    "copy": COPY,
    "copy_move": MOVE,
    "crc32c": CRC32C,
}
# Kernels made by compilers, and one with similar loops. Sums are proven up to 1 GiB: more is summed
# in parts, by a loop that compilers invert.
COMPILED = {
    "carry_sum_generic": replace(SUM, size_max=1 << 30, compiled=True),
    "carry_sum_copy_generic": replace(SUM_COPY, size_max=1 << 30, compiled=True),
    "carry_copy_generic": replace(COPY, compiled=True),
    "carry_copy_neon": replace(COPY, compiled=True),
    "carry_copy_lines": COPY_LINES,
}


@dataclass(frozen=True)
class Result:
    code: Code
    error: str | None
    executions: int
    seconds: float

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.code.name}: not proven: {self.error}"
        return f"{self.code.name}: proven, {self.executions} executions, {self.seconds:.0f} s"


def form_of(name: str) -> str:
    """Returns the form of a function such as carry_sum_copy_try_avx2: the longest form that
    matches."""
    forms = sorted(FORMS, key=len, reverse=True)
    return next(form for form in forms if name.startswith(f"carry_{form}_"))


def proof_of(image: Image, name: str) -> Proof | MoveProof:
    if image.machine == "EM_X86_64":
        features.check_features(name, image.instructions(name))
    claim: Claim = COMPILED.get(name, FORMS[form_of(name)])
    if claim is MOVE:
        return MoveProof(image, name)
    function = Function.of(image, name, frozenset(claim.returns))
    if claim in (COPY_TRY, SUM_COPY_TRY) and image.machine == "EM_AARCH64":
        return Proof(PageEngine(function, claim.sums), claim)
    if claim is CRC32C:
        return Remainder(WordEngine(function, tables=name.endswith("_generic")))
    return Proof(Engine(function, claim.sums, not claim.compiled), claim, callees(name))


def callees(name: str) -> dict[str, Claim]:
    """Returns the claims of the functions that a kernel may tail-call. Those functions tail-call no
    other function, so no proof depends on itself."""
    generic = {n: claim for n, claim in COMPILED.items() if n.endswith("_generic")}
    return {} if name in generic else generic


def check_linked(library: Path, code: Code) -> None:
    """Checks that the library contains the code of the object, because that code is recorded as
    proven."""
    (linked,) = digest.linked(library, [code])
    if linked.digest != code.digest:
        raise Unproven(f"{library} has other code than its object")


def check_tables(library: Path, code: Code, read: set[tuple[int, int]]) -> None:
    """Checks that the constants that a proof has read are in tables that the digest covers."""
    tables = digest.tables(library, code)
    for at, size in read:
        if not any(start <= at and at + size <= start + length for start, length in tables):
            raise Unproven(f"reads constants at {at:#x} that are in none of its tables")


def prove(task: tuple[Path, Code]) -> Result:
    library, code = task
    start = time.monotonic()
    error, executions = None, 0
    try:
        check_linked(library, code)
        image = Image(library)
        proof = proof_of(image, code.name)
        proof.run()
        check_tables(library, code, image.read)
        executions = proof.executions
    except Unproven as found:
        error = re.sub(rf"^{code.name}", "", str(found)).lstrip(": ")
    return Result(code, error, executions, time.monotonic() - start)


def prove_all(build: Path, codes: list[Code], jobs: int) -> list[Result]:
    """Proves functions in parallel, and prints the results in the order of the functions."""
    results = []
    tasks = [(build / "src/libcarry.so", code) for code in codes]
    with multiprocessing.Pool(jobs) as pool:
        for result in pool.imap(prove, tasks):
            print(result, flush=True)
            results.append(result)
    return results


def selected(build: Path, names: list[str]) -> list[Code]:
    """Returns the kernels of a build; if names are given, only the kernels with these names."""
    codes = list(digest.kernels(build))
    unknown = sorted(set(names) - {code.name for code in codes})
    if unknown:
        raise DigestError(f"{unknown[0]}: no kernel of {build}")
    return [code for code in codes if not names or code.name in names]


def kernels_parser(usage: str | None) -> argparse.ArgumentParser:
    """Returns a parser for the arguments of a program that proves kernels of a build."""
    parser = argparse.ArgumentParser(usage=usage, add_help=False)
    parser.add_argument("--help", action="help")
    parser.add_argument("-j", dest="jobs", type=int, default=1)
    parser.add_argument("build", type=Path)
    parser.add_argument("functions", nargs="*")
    return parser


def arguments() -> argparse.Namespace:
    parser = kernels_parser(__doc__)
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--record", action="store_true")
    return parser.parse_args()


def main() -> int:
    args = arguments()
    try:
        codes = selected(args.build, args.functions)
        before = [code for code in codes if code not in digest.unproven(codes)]
        if args.changed:
            for code in before:
                print(f"{code.name}: proven before, the same code")
        left = [code for code in codes if not (args.changed and code in before)]
        results = prove_all(args.build, left, args.jobs)
    except (DigestError, OSError) as error:
        print(f"prove.py: {error}", file=sys.stderr)
        return 2
    failed = {result.code for result in results if result.error is not None}
    if args.record:
        digest.record((r.code for r in results if r.error is None), failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
