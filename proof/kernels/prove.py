#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Proves kernels of a built library: for every content, size and alignment.

usage: prove.py LIBRARY [FUNCTION...]

example: prove.py build/src/libcarry.so carry_sum_avx2
"""

from __future__ import annotations

import re
import sys
import time
from dataclasses import replace
from pathlib import Path

from claims import COPY, COPY_TRY, SUM, SUM_COPY, SUM_COPY_TRY, Claim, Proof
from crc32c import CRC32C, Remainder, WordEngine
from engine import Engine, Function
from image import Image
from number import Unproven

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^CARRY_(?:SUM|COPY)_KERNEL\((\w+), (\w+),", re.M)
CRC32C_ROW = re.compile(r"^CARRY_CRC32C_KERNEL\((\w+), (\w+),", re.M)


def kernels() -> dict[str, Claim]:
    """The functions that the tables name for x86-64, and what is claimed of each."""
    found: dict[str, Claim] = {}
    for arch, name in ROW.findall((ROOT / "src/sum/kernels.def").read_text()):
        if arch == "any":  # their parts of 1 GiB are added by a loop that compilers turn around
            found[f"carry_sum_{name}"] = replace(SUM, size_max=1 << 30, compiled=True)
            found[f"carry_sum_copy_{name}"] = replace(SUM_COPY, size_max=1 << 30, compiled=True)
        elif arch == "x86_64":
            found[f"carry_sum_{name}"] = SUM
            found[f"carry_sum_copy_{name}"] = SUM_COPY
        if arch in ("any", "x86_64"):
            found[f"carry_sum_copy_try_{name}"] = SUM_COPY_TRY
    for arch, name in ROW.findall((ROOT / "src/copy/kernels.def").read_text()):
        if arch in ("any", "x86_64"):
            found[f"carry_copy_{name}"] = replace(COPY, compiled=arch == "any")
            found[f"carry_copy_try_{name}"] = COPY_TRY
    for arch, name in CRC32C_ROW.findall((ROOT / "src/sum/crc32c_kernels.def").read_text()):
        if arch in ("any", "x86_64"):
            found[f"carry_crc32c_{name}"] = CRC32C
    return found


def proof_of(image: Image, name: str, claim: Claim) -> Proof:
    function = Function.of(image, name, frozenset(claim.returns))
    if claim is CRC32C:
        return Remainder(WordEngine(function, tables=name.endswith("_generic")))
    return Proof(Engine(function, claim.sums, not claim.compiled), claim)


def prove(image: Image, name: str, claim: Claim) -> bool:
    """One function; prints a line."""
    start = time.monotonic()
    proof = proof_of(image, name, claim)
    try:
        proof.run()
    except Unproven as error:
        print(f"{name}: not proven: {error}", flush=True)
        return False
    seconds = time.monotonic() - start
    print(f"{name}: proven, {proof.executions} executions, {seconds:.0f} s", flush=True)
    return True


def main() -> int:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    image = Image(Path(sys.argv[1]))
    claims = kernels()
    names = sys.argv[2:] or list(claims)
    results = [prove(image, name, claims[name]) for name in names]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
