#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the captures beside it: small, self-made, and the same bytes each time.

good.pcap       every protocol once or more, all sums right
good.snoop      the same, as Solaris and illumos write captures
good.erf        the same, as Endace's cards do
offload.pcapng  10.0.0.5 leaves its TCP sums to the network card: partial, not bad
broken.pcap     sums that are wrong, and a UDP datagram over IPv6 that lacks its sum
damaged.pcap    ends in the middle of a packet
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "python"))

from captures import (  # noqa: E402
    ICMP,
    ICMPV6,
    IGMP,
    TCP,
    UDP,
    UDPLITE,
    Pcapng,
    Record,
    erf,
    ethernet,
    packet,
    pcap,
    put16,
    snoop,
)

CLIENT, SERVER = "10.0.0.5", "10.0.0.9"
CLIENT6, SERVER6 = "2001:db8::5", "2001:db8::9"
START = 1_700_000_000


def frame(protocol: int, text: str = "", *, to_server: bool = True, six: bool = False,
          ports: tuple[int, int] = (40000, 80), sums: str = "good") -> bytes:  # fmt: skip
    ends = (CLIENT6, SERVER6) if six else (CLIENT, SERVER)
    src, dst = ends if to_server else ends[::-1]
    ports = ports if to_server else ports[::-1]
    ip = packet(protocol, text.encode(), src=src, dst=dst, ports=ports, sums=sums)
    return ethernet(ip)


def conversation(six: bool, sums: str = "good") -> list[bytes]:
    """A TCP exchange; `sums` are the client's, the server's are good."""
    lines = [f"GET /{n} HTTP/1.1\r\nHost: example.org\r\n\r\n" for n in range(4)]
    frames = []
    for line in lines:
        frames.append(frame(TCP, line, six=six, sums=sums))
        frames.append(frame(TCP, "HTTP/1.1 204 No Content\r\n\r\n", to_server=False, six=six))
    return frames


def queries(six: bool = False) -> list[bytes]:
    return [
        frame(UDP, "query", ports=(50000, 53), six=six),
        frame(UDP, "an answer of odd size", ports=(50000, 53), six=six, to_server=False),
    ]


def timed(frames: list[bytes]) -> list[Record]:
    return [
        Record(data, seconds=START + number // 10, fraction=number % 10 * 100_000)
        for number, data in enumerate(frames)
    ]


def good_frames() -> list[Record]:
    tagged = ethernet(packet(TCP, b"in VLAN 7", src=CLIENT, dst=SERVER), tags=[7])
    frames = conversation(six=False) + conversation(six=True) + queries() + queries(six=True)
    frames += [frame(ICMP, "ping"), frame(ICMP, "ping", to_server=False)]
    frames += [frame(ICMPV6, "ping", six=True), frame(IGMP), frame(UDPLITE, "audio"), tagged]
    return timed(frames)


def good() -> bytes:
    return pcap(good_frames())


def good_snoop() -> bytes:
    return snoop(good_frames())


def good_erf() -> bytes:
    frames = good_frames()
    parts = [(frame.fraction << 32) // 1_000_000 for frame in frames]
    return b"".join(
        erf(frame.data, seconds=frame.seconds, fraction=part)
        for frame, part in zip(frames, parts, strict=True)
    )


def offload() -> bytes:
    frames = conversation(six=False, sums="partial") + queries()
    file = Pcapng().section().interface()
    for number, data in enumerate(frames):
        file.packet(data, ticks=(START * 10 + number) * 100_000)
    return file.bytes()


def broken() -> bytes:
    frames = conversation(six=False)
    for at in (2, 4):
        frames[at] = frame(TCP, f"corrupted {at}", sums="bad")
    header = frames[5]
    frames[5] = put16(header, 14 + 10, 0xBEEF)
    frames += [
        frame(UDP, "query", ports=(50000, 53), sums="bad"),
        frame(UDP, "no sum: fine", ports=(50000, 53), sums="none"),
        frame(UDP, "no sum: not allowed", ports=(50000, 53), six=True, sums="none"),
    ]
    return pcap(timed(frames))


def damaged() -> bytes:
    return pcap(timed(conversation(six=False) + queries()))[:-40]


CAPTURES = {
    "good.pcap": good,
    "good.snoop": good_snoop,
    "good.erf": good_erf,
    "offload.pcapng": offload,
    "broken.pcap": broken,
    "damaged.pcap": damaged,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=HERE)
    folder = parser.parse_args().folder
    for name, make in CAPTURES.items():
        (folder / name).write_bytes(make())


if __name__ == "__main__":
    main()
