#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares libcarry for Python, on this machine, with other code that programs in Python use.

usage: bench/python.py [--build BUILD] [--quick] [--json]

Contenders alternate; each figure is the median of several rounds, with its ratio to the first
contender's. Contenders that are not installed are omitted. The capture for whole files is made in
the folder for temporary files: 1 GiB, or 64 MiB with --quick.
"""

from __future__ import annotations

import argparse
import array
import contextlib
import ctypes
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCE / "tests/harness"))

Contenders = dict[str, Callable[[], object]]


@dataclass
class Row:
    """A task, the ways to do it, and how many times each is done in a round."""

    name: str
    unit: str
    scale: float  # the figure, in `unit`, of a call that takes a second
    contenders: Contenders
    repeat: int = 1
    rounds: int = 15
    seconds: dict[str, list[float]] = field(default_factory=dict)

    def measure(self) -> None:
        self.seconds = {name: [] for name in self.contenders}
        for _ in range(self.rounds):
            for name, call in self.contenders.items():
                begin = time.perf_counter()
                for _ in range(self.repeat):
                    call()
                self.seconds[name].append((time.perf_counter() - begin) / self.repeat)

    def medians(self) -> dict[str, float]:
        return {name: statistics.median(s) * self.scale for name, s in self.seconds.items()}


# --- Sums ---


def plain_sums(data: bytes) -> Contenders:
    """Returns ways to compute a checksum, and an empty call: the cost of measuring."""
    import libcarry

    ways: Contenders = {"libcarry": lambda: libcarry.checksum(data), "no call": lambda: None}
    with contextlib.suppress(ImportError):
        from scapy.utils import checksum

        ways["scapy"] = lambda: checksum(data)
    with contextlib.suppress(ImportError):
        from dpkt.dpkt import in_cksum

        ways["dpkt"] = lambda: in_cksum(data)
    with contextlib.suppress(ImportError):
        import numpy

        def with_numpy() -> int:
            total = int(numpy.frombuffer(data, ">u2").sum(dtype=numpy.uint64))
            while total >> 16:
                total = (total & 0xFFFF) + (total >> 16)
            return total ^ 0xFFFF

        ways["numpy"] = with_numpy
    return ways


class Slice(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("size", ctypes.c_size_t))


def many_sums(build: Path, count: int, size: int) -> Contenders:
    """Returns ways to sum many packets in one buffer; carry_sum_burst() is the loop in C."""
    import libcarry

    buffer = bytearray(count * size)
    offsets = array.array("Q", range(0, count * size, size))
    sizes = array.array("I", [size] * count)
    start = ctypes.addressof(ctypes.c_char.from_buffer(buffer))
    slices = (Slice * count)(*((start + at, size) for at in offsets))
    out, sums = array.array("I", bytes(4 * count)), (ctypes.c_uint32 * count)()
    burst = ctypes.CDLL(str(build / "src/libcarry.so")).carry_sum_burst
    burst.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    return {
        "libcarry": lambda: libcarry.sum_many(buffer, offsets, sizes, out=out),
        "C": lambda: burst(slices, count, sums),
        "a call each": lambda: [libcarry.sum(memoryview(buffer)[at : at + size]) for at in offsets],
    }


# --- Captures ---


def write_capture(path: Path, size: int, *, bad: bool) -> int:
    """Writes TCP packets of 1,514 bytes; returns their number."""
    import captures

    segment = captures.packet(captures.TCP, bytes(1460), sums="bad" if bad else "good")
    record = captures.pcap([captures.ethernet(segment)])
    count = size // (len(record) - 24)
    chunk = record[24:] * 512
    with path.open("wb") as file:
        file.write(record[:24])
        for _ in range(count // 512):
            file.write(chunk)
        file.write(record[24:] * (count % 512))
    return count


def write_small_bad(path: Path, count: int) -> None:
    import captures

    frame = captures.ethernet(captures.packet(captures.UDP, sums="bad"))
    record = captures.pcap([frame])
    path.write_bytes(record[:24] + record[24:] * count)


def whole_files(build: Path, path: Path) -> Contenders:
    import libcarry

    command = [build / "tools/carry/carry", "check", "--quiet", path]
    return {
        "libcarry": lambda: libcarry.check(path),
        "carry check": lambda: subprocess.run(command, check=True),
    }


def frames_of(path: Path) -> Contenders:
    """Returns ways to read each frame in a loop, and, if possible, to check it."""
    import libcarry

    def batches() -> int:
        return sum(len(batch.check()) for batch in libcarry.frame_batches(path))

    ways: Contenders = {
        "libcarry, frames()": lambda: sum(len(frame.check()) for frame in libcarry.frames(path)),
        "libcarry, batches": batches,
    }
    with contextlib.suppress(ImportError):
        import dpkt

        def with_dpkt() -> int:
            with path.open("rb") as file:
                return sum(len(data) for _, data in dpkt.pcap.Reader(file))

        ways["dpkt, only read"] = with_dpkt
    with contextlib.suppress(ImportError):
        from scapy.layers.inet import TCP
        from scapy.utils import PcapReader

        def with_scapy() -> int:
            wrong = 0
            with PcapReader(str(path)) as reader:
                for packet in reader:
                    stored = packet[TCP].chksum
                    del packet[TCP].chksum
                    wrong += type(packet)(bytes(packet))[TCP].chksum != stored
            return wrong

        ways["scapy"] = with_scapy
    return ways


class Findings:
    """Checks a capture. The contender reads an Arrow stream with up to `count` findings to its
    end."""

    def __init__(self, path: Path, count: int) -> None:
        import libcarry

        self.report = libcarry.check(path, max_findings=count)

    def contenders(self) -> Contenders:
        with contextlib.suppress(ImportError):
            import pyarrow

            return {"libcarry, to pyarrow": lambda: pyarrow.table(self.report)}
        return {}


# --- All measurements ---


def rows(build: Path, folder: Path, quick: bool) -> Iterator[Row]:
    most = 7 if quick else 31
    for size in (64, 1500):
        ways = plain_sums((bytes(range(256)) * 6)[:size])
        yield Row(f"checksum of {size:,} bytes", "ns a call", 1e9, ways, 200, most)
    count = 10_000
    ways = many_sums(build, count, 1500)
    yield Row("10,000 sums of 1,500 bytes", "ns a sum", 1e9 / count, ways, 1, most)
    big, small, bad = folder / "big.pcap", folder / "small.pcap", folder / "bad.pcap"
    size = (64 if quick else 1024) << 20
    write_capture(big, size, bad=False)
    ways = whole_files(build, big)
    yield Row(f"check of {size >> 20:,} MiB", "s", 1, ways, 1, 3 if quick else 7)
    big.unlink()
    packets = write_capture(small, 1 << 20, bad=False)
    ways = frames_of(small)
    yield Row(f"{packets:,} frames", "us a frame", 1e6 / packets, ways, 1, 3 if quick else 7)
    rows_of_findings = 100_000 if quick else 1_000_000
    write_small_bad(bad, rows_of_findings)
    ways = Findings(bad, rows_of_findings).contenders()
    yield Row(f"{rows_of_findings:,} findings", "s", 1, ways, 1, 3 if quick else 7)


def show(row: Row) -> None:
    medians = row.medians()
    print(f"\n{row.name} ({row.unit})")
    first = next(iter(medians.values()), 0)
    for name, median in medians.items():
        ratio = "" if median == first else f"  {median / first:8.2f}"
        print(f"  {name:<22}{median:12,.2f}{ratio}")
    if not medians:
        print("  nothing that reads it is installed")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--build", type=Path, default=SOURCE / "build")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, smaller files")
    parser.add_argument("--json", action="store_true", help="print one object")
    options = parser.parse_args()
    sys.path.insert(0, str(options.build / "bindings/python"))
    results = []
    with tempfile.TemporaryDirectory() as folder:
        for row in rows(options.build, Path(folder), options.quick):
            row.measure()
            results.append({"name": row.name, "unit": row.unit, "medians": row.medians()})
            if not options.json:
                show(row)
    if options.json:
        print(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
