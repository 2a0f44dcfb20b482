#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares `carry audit` with `carry check` on captures of mixed sizes; both use all CPUs.

usage: bench/audit.py --build BUILD [--quick] [--json]

The captures are made in the folder for temporary files: 2,000 of 2 kB to 50 MB, 10 GB in all, or
200 with --quick. The two commands alternate, and read the captures from the page cache; figures are
medians. The start of the engine is measured separately. Needs libcarry[audit].
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests/harness"))

LEAST, DECADES = 2_000, 4.4  # bytes of the smallest capture, and powers of ten up to the largest
PAYLOADS = (0, 20, 100, 500, 1400, 1448, 1448)
ROUNDS = 7


def write_captures(folder: Path, count: int) -> int:
    """Writes captures of good TCP segments into twenty folders; returns their bytes."""
    import captures

    chance = random.Random(1)
    frames = [
        captures.ethernet(captures.packet(captures.TCP, chance.randbytes(chance.choice(PAYLOADS))))
        for _ in range(400)
    ]
    whole = captures.pcap(frames)
    head, block = whole[:24], whole[24:]
    records = [captures.pcap([frame])[24:] for frame in frames]
    total = 0
    for number in range(count):
        size = int(LEAST * 10 ** chance.uniform(0, DECADES))
        path = folder / f"{number % 20:02}" / f"{number:04}.pcap"
        path.parent.mkdir(exist_ok=True)
        rest, parts = size % len(block), [head, block * (size // len(block))]
        for record in records:
            if (rest := rest - len(record)) < 0:
                break
            parts.append(record)
        total += path.write_bytes(b"".join(parts))
    return total


class Silent:
    """A watcher of a job that shows nothing."""

    def say(self, text: str) -> None: ...
    def expect(self, captures: int, size: int) -> None: ...
    def done(self, outcome: object) -> None: ...


def audit(source: Path, out: Path) -> float:
    from libcarry.audit.job import Job, Settings

    job = Job(Settings(sources=[str(source)], out=str(out)), Silent())
    begin = time.perf_counter()
    job.run()
    return time.perf_counter() - begin - job.engine_seconds


def check(command: list[str | Path]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, check=True)
    return time.perf_counter() - begin


def measure(build: Path, count: int) -> dict[str, Any]:
    from libcarry.audit import engine

    threads = os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "captures"
        folder.mkdir()
        size = write_captures(folder, count)
        tool = build / "tools/carry/carry"
        command: list[str | Path] = [tool, "check", "--quiet", f"--threads={threads}", folder]
        begin = time.perf_counter()
        with engine.joined(None, threads), engine.quiet(True):
            engine.ask(os.getpid)
            start = time.perf_counter() - begin
            rounds = [
                (check(command), audit(folder, Path(place) / f"out{number}"))
                for number in range(ROUNDS)
            ]
    checks, audits = ([each[i] for each in rounds] for i in range(2))
    return {
        "captures": count,
        "bytes": size,
        "threads": threads,
        "engine_start": start,
        "check": statistics.median(checks),
        "audit": statistics.median(audits),
        "ratio": statistics.median(c / a for c, a in rounds),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, str(options.build / "bindings/python"))
    os.environ["PYTHONPATH"] = str(options.build / "bindings/python")  # for the workers
    found = measure(options.build, 200 if options.quick else 2000)
    if options.json:
        print(json.dumps(found))
        return 0
    print(
        f"{found['captures']:,} captures, {found['bytes'] / 1e9:.2f} GB, {found['threads']} cores"
    )
    print(f"carry check  {found['check']:.2f} s  {found['bytes'] / found['check'] / 1e9:.2f} GB/s")
    print(f"carry audit  {found['audit']:.2f} s  {found['bytes'] / found['audit'] / 1e9:.2f} GB/s")
    print(f"ratio        {found['ratio']:.2f}, the median of {ROUNDS} rounds")
    print(f"Ray took     {found['engine_start']:.1f} s to start, which is not in these times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
