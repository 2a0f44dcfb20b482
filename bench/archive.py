#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Models `carry audit` on a very large archive, from measurements of its parts.

usage: bench/archive.py

Prints the tables of docs/explanation/scale.md; a test compares them with the document.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

# Measured on an AMD EPYC of family 23, model 1 (Zen 1), two cores; Ray 2.60, Python 3.11.
CAPTURE_BYTES = 364  # memory of the driver, for each capture of the current wave
SEEN_BYTES = 80  # memory of the driver, for each listed name, so that no capture is read twice
DONE_BYTES = 190  # memory of the driver, for each capture that an earlier run has done
ASK_SECONDS = 2e-6  # time of the driver, to look up whether a capture was done
CALL_SECONDS = 0.015  # time of the driver, for each call, Ray Data included
CALL_BYTES = 60_000  # memory of the driver, for each call of the current wave
CHECK_BYTES = 3.7e9  # checked in a second by one core, from memory
CAPTURE_SECONDS = 0.5e-3  # time of a worker, for each capture, besides the time for its bytes
FILES_ROW_BYTES, COUNTS_ROW_BYTES = 58, 4.1  # in Parquet
FILES_ROWS, COUNTS_ROWS = 370e3, 1.37e6  # merged in a second by one core

# Constants of the program, in plan.py and merge.py.
WAVE = 100_000
BATCH_BYTES, BATCH_CAPTURES = 4 << 30, 500
MERGED_FILES = 500

# Assumed, since no store of this size is available.
UNPACK_BYTES = 1e9  # unpacked in a second by one core: zstd
LISTED = 1000  # names in one answer of a store
LIST_SECONDS = 0.1  # time of one answer
OPEN_SECONDS = 0.03  # time until the first byte of an object
MACHINES, CORES, NETWORK_BYTES = 100, 16, 1.25e9  # bytes per second and machine: 10 Gbit/s
COUNTS_OF_CAPTURE = 6


@dataclass(frozen=True)
class Archive:
    captures: int
    bytes: float

    @property
    def calls(self) -> float:
        return max(self.bytes / BATCH_BYTES, self.captures / BATCH_CAPTURES)

    @property
    def calls_of_wave(self) -> float:
        return self.calls * min(1, WAVE / self.captures)


def seconds(archive: Archive) -> list[tuple[str, float, str]]:
    """Returns how many seconds each part of a cluster is busy, and why."""
    cores = MACHINES * CORES
    n, size = archive.captures, archive.bytes
    opening = n * OPEN_SECONDS / cores
    merged = n / FILES_ROWS + n * COUNTS_OF_CAPTURE / COUNTS_ROWS
    merges = 3 * archive.calls / MERGED_FILES
    return [
        ("network of the workers", size / (MACHINES * NETWORK_BYTES), "the bytes of the captures"),
        ("cores: unpacking", size / UNPACK_BYTES / cores, "zstd"),
        ("cores: checksums", size / CHECK_BYTES / cores, "as from memory"),
        ("cores: opening and rows", n * CAPTURE_SECONDS / cores + opening, "for each capture"),
        ("driver: listing", n / LISTED * LIST_SECONDS, "while workers are busy"),
        ("driver: calls", archive.calls * CALL_SECONDS, f"{archive.calls:,.0f} calls"),
        ("driver: was it done?", n * ASK_SECONDS, "if a run goes on"),
        ("merging", merged + merges * MERGED_FILES * OPEN_SECONDS / cores, "one core"),
    ]


def memory(archive: Archive) -> list[tuple[str, float]]:
    """Returns how many bytes of memory the driver needs, by purpose."""
    wave = min(WAVE, archive.captures)
    return [
        ("captures of the present wave", wave * CAPTURE_BYTES),
        ("calls of the present wave", archive.calls_of_wave * CALL_BYTES),
        ("names that were listed", archive.captures * SEEN_BYTES),
        ("captures that were done before", archive.captures * DONE_BYTES),
    ]


def time_text(duration: float) -> str:
    return f"{duration:,.0f} s" if duration >= 1 else f"{duration:.1f} s"


def main() -> int:
    archive = Archive(10_000_000, 1e15)
    print(f"{archive.captures:,} captures, 1 PB; {MACHINES} machines of {CORES} cores, 10 Gbit/s\n")
    print("| part | busy for | because of |\n|---|---|---|")
    for name, duration, reason in seconds(archive):
        print(f"| {name} | {time_text(duration)} | {reason} |")
    print("\n| the driver holds | MB |\n|---|---|")
    for name, size in memory(archive):
        print(f"| {name} | {size / 1e6:,.0f} |")
    tables = archive.captures * (FILES_ROW_BYTES + COUNTS_OF_CAPTURE * COUNTS_ROW_BYTES)
    print(f"| (on disk: *files* and *counts*) | {tables / 1e6:,.0f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
