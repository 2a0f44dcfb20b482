#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the captures in this folder: small, and the same bytes each time.

good.pcap       TCP, UDP, UDP-Lite, ICMP, ICMPv6 and IGMP, all sums right
good.snoop      the same, as Solaris and illumos write captures
good.erf        the same, as Endace's cards write them
netmon.cap      the same, as Network Monitor writes them
offload.pcapng  10.0.0.5 leaves its TCP sums to the network card: partial, not bad
broken.pcap     sums that are wrong, and a UDP datagram over IPv6 that lacks its sum
damaged.pcap    ends in the middle of a packet
network.pcapng  packets that 10.0.0.9 received through a network that breaks sums in several ways

causes/ has one capture for each situation of docs/howto/find-what-breaks-checksums.md that the
other captures do not show:

dhcp.pcapng     a virtual machine receives answers of DHCP with partial sums
overlay.pcap    two nodes of a container network send VXLAN
nat.pcap        NAT changed an address after the sums were left to a network card
replay.pcap     a tool rewrote addresses, and no sums
mirror.pcap     a virtual switch mirrors packets before a network card completes their sums
card.pcapng     three devices whose network cards or drivers compute wrong sums
"""

from __future__ import annotations

import argparse
import ipaddress
import struct
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
    finish,
    netmon,
    packet,
    pcap,
    pseudo,
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
    """Returns a TCP exchange. The client's checksums are as `sums` says; the server's are good."""
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


def good_netmon() -> bytes:
    return netmon(good_frames(), version=(2, 3))


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
    """Returns a capture of several senders. The checksums of each sender have a different fault, or
    none. All packets are flagged as received."""
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


# --- One situation each ---


def received(packets: list[bytes]) -> bytes:
    """Returns a capture of packets that the capturing machine received."""
    file = Pcapng().section().interface()
    for number, ip in enumerate(packets):
        file.packet(ethernet(ip), ticks=(START * 10 + number) * 100_000, flags=1)
    return file.bytes()


def sent_between(packets: list[bytes]) -> bytes:
    return pcap(timed([ethernet(ip) for ip in packets]))


def texts(count: int) -> list[bytes]:
    """Returns payloads of different lengths."""
    return [b"message %04d " % number * (number + 1) for number in range(count)]


def dhcp() -> bytes:
    server, offered = "192.168.122.1", "192.168.122.50"
    answers = [bytes((2, 1, 6, 0, 0, 0, 0, number)) + bytes(240) for number in range(3)]
    return received(
        [packet(UDP, each, src=server, dst=offered, ports=(67, 68), sums="partial")
         for each in answers]
    )  # fmt: skip


def vxlan(inner: bytes) -> bytes:
    return struct.pack(">LL", 8 << 24, 1 << 8) + ethernet(inner)


def overlay() -> bytes:
    """Returns packets of pods. NAT changes the port of the first node, and "updates" the sum of 0.
    The second node sends an outer sum, and leaves the inner sum to the network card."""
    packets = []
    for text in texts(4):
        pods = {"src": "10.42.0.5", "dst": "10.42.1.7", "ports": (39274, 80)}
        outer = packet(UDP, vxlan(packet(TCP, text, **pods)),
                       src="10.0.0.3", dst="10.0.0.4", ports=(7103, 4789))  # fmt: skip
        packets.append(put16(outer, 26, 0x5898))
        inner = vxlan(packet(TCP, text, **pods, sums="partial"))
        packets.append(packet(UDP, inner, src="10.0.0.8", dst="10.0.0.4", ports=(50078, 4789)))
    return sent_between(packets)


def changed(ip: bytes, src: str, *, header: bool) -> bytes:
    """Returns a packet with another source. Updates no sum, or only the sum of the IPv4 header."""
    ip = ip[:12] + ipaddress.ip_address(src).packed + ip[16:]
    return put16(ip, 10, finish(put16(ip, 10, 0)[:20])) if header else ip


def nat() -> bytes:
    client = {"src": "10.42.0.5", "dst": SERVER, "ports": (40000, 80), "sums": "partial"}
    return sent_between(
        [changed(packet(TCP, text, **client), "192.0.2.1", header=True) for text in texts(6)]
    )


def replay() -> bytes:
    return sent_between(
        [changed(packet(TCP, text, src=CLIENT, dst=SERVER), "198.51.100.7", header=False)
         for text in texts(4)]
    )  # fmt: skip


def mirror() -> bytes:
    """Returns packets that two virtual machines send, and the answers of a server."""
    ends = [("10.0.0.21", SERVER, "partial"), (SERVER, "10.0.0.21", "good"),
            ("10.0.0.22", SERVER, "partial"), (SERVER, "10.0.0.22", "good")]  # fmt: skip
    return sent_between(
        [packet(TCP, text, src=src, dst=dst, sums=sums)
         for text in texts(2) for src, dst, sums in ends]
    )  # fmt: skip


def padded(text: bytes, src: str) -> bytes:
    """Returns a UDP packet whose sum covers the bytes that pad its frame, too."""
    ip = packet(UDP, text, src=src, dst=SERVER, ports=(5000, 5000))
    whole = put16(ip, 26, 0) + b"\x11" * (46 - len(ip))
    return put16(whole, 26, finish(pseudo(src, SERVER, UDP, len(ip) - 20) + whole[20:]))


def card() -> bytes:
    """Returns packets of three devices in turn: TCP sums computed twice, TCP sums of 0, and UDP
    sums over padding."""
    packets = []
    for number, text in enumerate(texts(3)):
        meter, valve = (
            packet(TCP, text, src=src, dst=SERVER, ports=(5000, 5000))
            for src in ("10.0.0.31", "10.0.0.32")
        )
        packets += [put16(meter, 36, 0xFFFF), put16(valve, 36, 0)]
        packets += [padded(text[: 8 + 2 * number], "10.0.0.33")]
    return received(packets)


CAPTURES = {
    "good.pcap": good,
    "good.snoop": good_snoop,
    "good.erf": good_erf,
    "netmon.cap": good_netmon,
    "offload.pcapng": offload,
    "broken.pcap": broken,
    "damaged.pcap": damaged,
    "network.pcapng": network,
    "causes/dhcp.pcapng": dhcp,
    "causes/overlay.pcap": overlay,
    "causes/nat.pcap": nat,
    "causes/replay.pcap": replay,
    "causes/mirror.pcap": mirror,
    "causes/card.pcapng": card,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=HERE)
    folder = parser.parse_args().folder
    (folder / "causes").mkdir(exist_ok=True)
    for name, make in CAPTURES.items():
        (folder / name).write_bytes(make())


if __name__ == "__main__":
    main()
