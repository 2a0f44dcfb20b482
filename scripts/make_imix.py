#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a large IMIX capture with valid checksums, to measure `carry check` on.

Frames of 64, 594 and 1,518 bytes (with frame check sequence) are in the ratio 7:4:1; two in
three are TCP, one in four is IPv6. Frames of 64 bytes are longer if their headers need more. A pool
of different packets is repeated until the file has at least the size.

    scripts/make_imix.py imix.pcap 1G
    scripts/make_imix.py - 200M | build/tools/carry/carry check -
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path
from typing import BinaryIO

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "harness"))

import captures

FRAME_SIZES = [60] * 7 + [590] * 4 + [1514]
POOL_PACKETS = 24000
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def parse_size(text: str) -> int:
    unit = UNITS.get(text[-1:].upper())
    return int(text[:-1]) * unit if unit else int(text)


def make_packet(rng: random.Random, size: int) -> bytes:
    six = rng.random() < 0.25
    protocol = captures.TCP if rng.random() < 2 / 3 else captures.UDP
    host = rng.randrange(1, 250)
    src, dst = (f"2001:db8::{host:x}", "2001:db8::1") if six else (f"10.0.0.{host}", "10.0.1.1")
    overhead = 14 + (40 if six else 20) + (20 if protocol == captures.TCP else 8)
    payload = rng.randbytes(max(0, size - overhead))
    ports = (rng.randrange(1024, 65536), 443)
    ip = captures.packet(protocol, payload, src=src, dst=dst, ports=ports)
    return captures.ethernet(ip)


def make_pool(seed: int) -> bytes:
    rng = random.Random(seed)
    packets = []
    while len(packets) < POOL_PACKETS:
        rng.shuffle(FRAME_SIZES)
        packets += [make_packet(rng, size) for size in FRAME_SIZES]
    return captures.pcap(packets)


def write_capture(out: BinaryIO, size: int, seed: int) -> None:
    pool = make_pool(seed)
    header, records = pool[:24], pool[24:]
    out.write(header)
    for _ in range(0, size, len(records)):
        out.write(records)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", help="where to write it; - is standard output")
    parser.add_argument("size", type=parse_size, help="at least this many bytes: 1G, 200M")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()

    if arguments.file == "-":
        write_capture(sys.stdout.buffer, arguments.size, arguments.seed)
    else:
        with open(arguments.file, "wb") as out:
            write_capture(out, arguments.size, arguments.seed)


if __name__ == "__main__":
    main()
