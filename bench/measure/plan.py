# SPDX-License-Identifier: MIT
"""Lists what is timed: works, and the cells of each."""

from __future__ import annotations

import random
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

KIB, MIB = 1 << 10, 1 << 20

MIX_CALLS = 1 << 17
MIX_BYTES = MIB  # the range of addresses
DATA_MIB = 64
TOLERANCE = 1.05  # a canary is slow above this multiple of its usual time


@dataclass(frozen=True)
class Work:
    name: str
    title: str
    ours: str  # the function that is judged
    api: str  # the function that users call


WORKS = (
    Work("sum", "Internet checksum", "carry", "carry_sum()"),
    Work("sum_copy", "copy and checksum", "carry/sum-copy", "carry_sum_copy()"),
    Work("copy", "copy", "carry/copy", "carry_copy()"),
    Work(
        *("sum_chain", "checksum of a chain, 64 bytes a slice"),
        *("carry/chain", "carry_sum_iov()"),
    ),
    Work(
        *("sum_odd_chain", "checksum of a chain, 723 bytes a slice"),
        *("carry/chain/odd", "carry_sum_iov()"),
    ),
    Work(
        *("call", "call of what is chosen when the program starts"),
        *("carry-sites/call", "carry_call(), patched"),
    ),
    Work("branch", "branch that is off", "carry-sites/branch", "carry_unlikely(), patched"),
    Work(
        *("switch", "switch to another context and back"),
        *("carry-context", "carry_context_switch(), twice"),
    ),
)
OURS = {work.name: work.ours for work in WORKS}


@dataclass(frozen=True)
class Share:
    """Sizes from `low` to `high`, `weight` times as often as sizes of weight 1."""

    low: int
    high: int
    weight: int


MIXES = {
    "mixed64": (Share(1, 64, 1),),
    "mixed1500": (Share(1, 1500, 1),),
    "imix": (Share(40, 40, 7), Share(576, 576, 4), Share(1500, 1500, 1)),
}
MIX_TITLES = {
    "mixed64": "random 1 to 64",
    "mixed1500": "random 1 to 1,500",
    "imix": "IMIX",
    "beside-imix": "IMIX",
}


def is_beside(mode: str) -> bool:
    """Returns whether a mode has other work between the calls."""
    return mode.partition("-")[0] == "beside"


@dataclass(frozen=True)
class Cell:
    work: str
    mode: str
    size: int = 0  # 0: the size varies, or there are no bytes
    offset: int = 0
    to: int = 0

    @property
    def is_mix(self) -> bool:
        return self.mode in MIX_TITLES

    @property
    def is_beside(self) -> bool:
        return is_beside(self.mode)

    def question(self, function: str, first: int, calls: int) -> str:
        mode = "hot" if self.mode == "large" else self.mode
        return f"{function} {mode} {self.offset} {self.to} {self.size} {first} {calls}"


HOT_SIZES = (
    *(1, 2, 4, 8, 12, 14, 16, 20, 24, 28, 32, 40, 44, 48, 60, 64, 80, 96, 128, 160, 192, 256),
    *(384, 512, 576, 768, 1024, 1280, 1500, 2048, 3000, 4096, 6144, 9000, 16384, 32768, 65535),
)
LATENCY_SIZES = (8, 20, 40, 64, 128, 256, 576, 1500, 9000)
BESIDE_SIZES = (64, 256, 576, 1500, 4096, 9000)
LARGE_SIZES = (256 * KIB, MIB, 8 * MIB, 64 * MIB)
CHAIN_SIZES = (256, 576, 1500, 9000)
OFFSETS = (0, 1, 14, 63)
PAIRS = ((0, 0), (1, 0), (0, 1), (14, 2))

QUICK_HOT_SIZES = (8, 20, 40, 64, 128, 256, 576, 1500, 4096, 9000, 65535)
QUICK_LATENCY_SIZES = (20, 64, 1500)
QUICK_BESIDE_SIZES = (256, 1500, 9000)
QUICK_LARGE_SIZES = (MIB,)
QUICK_CHAIN_SIZES = (1500,)
QUICK_OFFSETS = (0, 1)
QUICK_PAIRS = ((0, 0), (1, 0))


def byte_cells(work: str, places: tuple[tuple[int, int], ...], quick: bool) -> Iterator[Cell]:
    for offset, to in places:
        for size in QUICK_HOT_SIZES if quick else HOT_SIZES:
            yield Cell(work, "hot", size, offset, to)
    if work != "copy":  # a copy has no result to wait for
        for offset, to in places[:2]:
            for size in QUICK_LATENCY_SIZES if quick else LATENCY_SIZES:
                yield Cell(work, "latency", size, offset, to)
    for mix in MIXES:
        yield Cell(work, mix)
    for size in QUICK_BESIDE_SIZES if quick else BESIDE_SIZES:
        yield Cell(work, "beside", size)
    yield Cell(work, "beside-imix")
    for size in QUICK_LARGE_SIZES if quick else LARGE_SIZES:
        yield Cell(work, "large", size)


def chain_cells(work: str, quick: bool) -> Iterator[Cell]:
    for mode in ("hot", "latency", "beside"):
        for size in QUICK_CHAIN_SIZES if quick else CHAIN_SIZES:
            yield Cell(work, mode, size)


def make_cells(quick: bool) -> list[Cell]:
    offsets = QUICK_OFFSETS if quick else OFFSETS
    cells = list(byte_cells("sum", tuple((offset, 0) for offset in offsets), quick))
    for work in ("sum_copy", "copy"):
        cells += byte_cells(work, QUICK_PAIRS if quick else PAIRS, quick)
    for work in ("sum_chain", "sum_odd_chain"):
        cells += chain_cells(work, quick)
    return cells + [Cell(work, "hot") for work in ("call", "branch", "switch")]


def write_mix(name: str, folder: Path) -> None:
    """Writes the file `mix-NAME`."""
    draw = random.Random(name)
    shares = MIXES[name]
    picked = draw.choices(shares, [share.weight for share in shares], k=MIX_CALLS)
    calls = array("I")
    for share in picked:
        size = draw.randint(share.low, share.high)
        calls.extend((draw.randrange(MIX_BYTES - size), draw.randrange(MIX_BYTES - size), size))
    (folder / f"mix-{name}").write_bytes(calls.tobytes())
