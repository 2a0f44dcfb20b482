#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the captures in this folder: small, and the same bytes each time.

good.pcap       every protocol once or more, all sums right
good.snoop      the same, as Solaris and illumos write captures
good.erf        the same, as Endace's cards write them
offload.pcapng  10.0.0.5 leaves its TCP sums to the network card: partial, not bad
broken.pcap     sums that are wrong, and a UDP datagram over IPv6 that lacks its sum
damaged.pcap    ends in the middle of a packet
network.pcapng  what 10.0.0.9 received through a network that breaks sums in several ways
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests" / "harness"))

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
    """Returns a TCP exchange; `sums` are the client's, the server's are good."""
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


def off_by(ip: bytes, at: int, difference: int) -> bytes:
    """Returns an IP packet whose sum at `at` is off by a difference, in ones' complement."""
    return put16(ip, at, (int.from_bytes(ip[at : at + 2], "big") + difference) % 0xFFFF)


def network() -> bytes:
    """Returns packets of several senders, each with another kind of sums; all are flagged as
    received."""
    received = 1
    frames = []
    for number in range(4):
        text = f"GET /{number} HTTP/1.1\r\nHost: example.org\r\n\r\n".encode()
        machine = packet(TCP, text, src="10.0.0.7", dst=SERVER, ports=(40000, 80), sums="partial")
        # Sent from 10.0.0.8: the router changed the address, but not the sum.
        router = packet(TCP, text, src="192.0.2.8", dst=SERVER, ports=(40000, 80))
        meter = packet(UDP, text[:6], src="10.0.0.20", dst=SERVER, ports=(5000, 5000))
        frames += [
            (machine, received),
            (off_by(router, 36, 0xB800), received),
            (put16(meter, 26, int.from_bytes(meter[26:28], "big") ^ 0xFFFF), received),
            (packet(TCP, text, src=CLIENT, dst=SERVER, ports=(40000, 80)), received),
        ]
    old = packet(TCP, b"over an old router", src="198.51.100.3", dst=SERVER, ports=(40000, 80))
    frames += [(off_by(old, 10, -0x100), received)]
    frames += [(packet(TCP, b"torn", src=CLIENT, dst=SERVER, sums="bad"), received)]
    file = Pcapng().section().interface()
    for number, (ip, flags) in enumerate(frames):
        file.packet(ethernet(ip), ticks=(START * 10 + number) * 100_000, flags=flags)
    return file.bytes()


CAPTURES = {
    "good.pcap": good,
    "good.snoop": good_snoop,
    "good.erf": good_erf,
    "offload.pcapng": offload,
    "broken.pcap": broken,
    "damaged.pcap": damaged,
    "network.pcapng": network,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=HERE)
    folder = parser.parse_args().folder
    for name, make in CAPTURES.items():
        (folder / name).write_bytes(make())


if __name__ == "__main__":
    main()
