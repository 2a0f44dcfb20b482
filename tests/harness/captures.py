# SPDX-License-Identifier: MIT
"""Packets and captures made by hand, for tests, examples and benchmarks.

Sums are computed here byte by byte, independently of the library.
"""

from __future__ import annotations

import functools
import ipaddress
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

TCP, UDP, ICMP, IGMP, ICMPV6, UDPLITE = 6, 17, 1, 2, 58, 136
CHECK_AT = {TCP: 16, UDP: 6, UDPLITE: 6, ICMP: 2, IGMP: 2, ICMPV6: 2}
MAC = bytes.fromhex("020000000002020000000001")
ERF_ETHERNET = (2, 11, 16, 20)


def fold(data: bytes) -> int:
    """Returns the one's complement sum of 16-bit words, not inverted."""
    total = 0
    for at in range(0, len(data), 2):
        total += data[at] << 8
        if at + 1 < len(data):
            total += data[at + 1]
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def finish(data: bytes) -> int:
    """Returns the checksum of `data`, in which the checksum field must be 0."""
    return fold(data) ^ 0xFFFF


def put16(data: bytes, at: int, value: int) -> bytes:
    return data[:at] + struct.pack(">H", value) + data[at + 2 :]


def pseudo(src: str, dst: str, protocol: int, size: int) -> bytes:
    """Returns the pseudo-header of RFC 793 for IPv4, or of RFC 8200 for IPv6."""
    source, target = ipaddress.ip_address(src), ipaddress.ip_address(dst)
    if source.version == 4:
        return source.packed + target.packed + struct.pack(">BBH", 0, protocol, size)
    return source.packed + target.packed + struct.pack(">LHBB", size, 0, 0, protocol)


def transport(protocol: int, payload: bytes, ports: tuple[int, int] = (40000, 443)) -> bytes:
    """Returns a transport header with checksum 0, and its payload."""
    if protocol == TCP:
        return struct.pack(">HHLLBBHHH", *ports, 1, 2, 0x50, 0x18, 512, 0, 0) + payload
    if protocol in (UDP, UDPLITE):
        size = 8 + len(payload) if protocol == UDP else 0
        return struct.pack(">HHHH", *ports, size, 0) + payload
    kind = {ICMP: 8, ICMPV6: 128, IGMP: 0x16}[protocol]
    return struct.pack(">BBHL", kind, 0, 0, 0x00010002) + payload


def network(src: str, dst: str, protocol: int, payload: bytes) -> bytes:
    """Returns an IPv4 or IPv6 packet, according to the kind of address."""
    source, target = ipaddress.ip_address(src), ipaddress.ip_address(dst)
    if source.version == 6:
        head = struct.pack(">LHBB", 6 << 28, len(payload), protocol, 64)
        return head + source.packed + target.packed + payload
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(payload), 7, 0x4000, 64, protocol, 0)
    head += source.packed + target.packed
    return put16(head, 10, finish(head)) + payload


def packet(
    protocol: int,
    payload: bytes = b"payload!",
    *,
    src: str = "10.0.0.5",
    dst: str = "10.0.0.9",
    ports: tuple[int, int] = (40000, 443),
    sums: str = "good",
) -> bytes:
    """Returns an IP packet; `sums` is good, bad, partial or none."""
    segment = transport(protocol, payload, ports)
    head = b"" if protocol in (ICMP, IGMP) else pseudo(src, dst, protocol, len(segment))
    check = {
        "good": finish(head + segment),
        "bad": finish(head + segment) ^ 0x1234,
        "partial": fold(head),
        "none": 0,
    }[sums]
    if sums == "good" and check == 0 and protocol in (UDP, UDPLITE):
        check = 0xFFFF
    return network(src, dst, protocol, put16(segment, CHECK_AT[protocol], check))


def ethernet(ip: bytes, tags: Sequence[int] = ()) -> bytes:
    """Returns an Ethernet frame around `ip`, padded to the minimum size; `tags` are VLAN
    numbers."""
    kind = b"\x86\xdd" if ip[0] >> 4 == 6 else b"\x08\x00"
    vlans = b"".join(struct.pack(">HH", 0x8100, tag) for tag in tags)
    return (MAC + vlans + kind + ip).ljust(60, b"\0")


@dataclass(frozen=True)
class Record:
    """A captured packet; `wire` is its size on the wire (the size of `data` by default)."""

    data: bytes
    wire: int | None = None
    seconds: int = 1_700_000_000
    fraction: int = 0
    interface: int = 0

    @property
    def wire_size(self) -> int:
        return len(self.data) if self.wire is None else self.wire


def pcap(
    records: Iterable[Record | bytes],
    *,
    order: str = "<",
    magic: int = 0xA1B2C3D4,
    link: int = 1,
    snaplen: int = 262144,
) -> bytes:
    """Returns a pcap file; magic 0xa1b2cd34 selects Kuznetzov's longer records."""
    parts = [struct.pack(order + "LHHlLLL", magic, 2, 4, 0, 0, snaplen, link)]
    for item in records:
        record = item if isinstance(item, Record) else Record(item)
        parts.append(
            struct.pack(
                order + "LLLL",
                record.seconds,
                record.fraction,
                len(record.data),
                record.wire_size,
            )
        )
        if magic == 0xA1B2CD34:
            parts.append(struct.pack(order + "LHBB", 1, 0x0800, 0, 0))
        parts.append(record.data)
    return b"".join(parts)


def snoop(
    packets: Iterable[bytes | Record],
    *,
    version: int = 2,
    link: int = 4,
    behind: bytes = b"",
) -> bytes:
    """Returns a snoop file (RFC 1761), with the bytes `behind` after each packet."""
    out = b"snoop\0\0\0" + struct.pack(">LL", version, link)
    for item in packets:
        record = item if isinstance(item, Record) else Record(item)
        body = pad4(record.data) + behind
        head = (record.wire_size, len(record.data), 24 + len(body), 0)
        out += struct.pack(">6L", *head, record.seconds, record.fraction) + body
    return out


def erf(
    payload: bytes,
    kind: int = 2,
    *,
    extensions: Sequence[bytes] = (),
    wire: int | None = None,
    seconds: int = 1_700_000_000,
    fraction: int = 0,
    flags: int = 4,
) -> bytes:
    """Returns an ERF record, padded to a multiple of 8 bytes like those of capture cards;
    `fraction` is in units of 2^-32 s."""
    head = b"".join(extensions)
    if kind & 0x7F in ERF_ETHERNET:
        head += bytes(2)
    body = head + payload
    body += bytes(-(16 + len(body)) % 8)
    size = len(payload) if wire is None else wire
    return struct.pack("<LLBB", fraction, seconds, kind, flags) + (
        struct.pack(">HHH", 16 + len(body), 0, size) + body
    )


SYSTEM_TIME = struct.pack("<8H", 2023, 11, 2, 14, 22, 13, 20, 0)  # 1,700,000,000 s
FILE_TIME = 116_444_736_000_000_000  # 1970 in units of 100 ns since 1601


def netmon(
    packets: Iterable[bytes | Record],
    *,
    version: tuple[int, int] = (2, 0),
    networks: Sequence[int] = (1,),
    gap: bytes = b"",
    order: Sequence[int] | None = None,
    start: bytes = SYSTEM_TIME,
    behind: bytes = b"",
) -> bytes:
    """Returns a file of Network Monitor. `networks` are the types of the packets in turn, `gap`
    lies before each packet, `order` is the order of packets in the table, and `behind` follows
    the table."""
    major, minor = version
    out, table = bytearray(), []
    for number, item in enumerate(packets):
        record = item if isinstance(item, Record) else Record(item)
        out += gap
        table.append(128 + len(out))
        sizes = (record.wire_size, len(record.data))
        since = (record.seconds - 1_700_000_000) * 1_000_000 + record.fraction
        head = (since // 1000, *sizes) if major == 1 else (since, *sizes)
        out += struct.pack("<LHH" if major == 1 else "<qLL", *head) + record.data
        trailer = struct.pack("<HL", networks[number % len(networks)], 7)
        trailer += struct.pack("<QB", FILE_TIME + 17 * 10**15 + 10 * since + 1, 0)
        out += trailer[: (0, 2, 6, 15)[min(minor, 3)]] if major == 2 else b""
    if order is not None:
        table = [table[number] for number in order]
    head = (b"RTSS" if major == 1 else b"GMBU") + bytes([minor, major])
    head += struct.pack("<H", networks[0]) + start
    head += struct.pack("<LL", 128 + len(out), 4 * len(table))
    return head.ljust(128, b"\0") + bytes(out) + struct.pack(f"<{len(table)}L", *table) + behind


def pad4(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def option(order: str, code: int, value: bytes) -> bytes:
    return struct.pack(order + "HH", code, len(value)) + pad4(value)


@dataclass
class Pcapng:
    """Builds a pcapng file, block by block."""

    order: str = "<"
    parts: list[bytes] = field(default_factory=list)

    def block(self, kind: int, body: bytes) -> Pcapng:
        size = struct.pack(self.order + "L", 12 + len(body))
        self.parts.append(struct.pack(self.order + "L", kind) + size + body + size)
        return self

    def section(self, options: bytes = b"") -> Pcapng:
        body = struct.pack(self.order + "LHHq", 0x1A2B3C4D, 1, 0, -1)
        return self.block(0x0A0D0D0A, body + options)

    def interface(self, link: int = 1, snaplen: int = 0, options: bytes = b"") -> Pcapng:
        return self.block(1, struct.pack(self.order + "HHL", link, 0, snaplen) + options)

    def packet(
        self,
        data: bytes,
        *,
        interface: int = 0,
        ticks: int = 0,
        captured: int | None = None,
        wire: int | None = None,
        flags: int = 0,
    ) -> Pcapng:
        """Appends an enhanced packet block; `flags` is the value of its flags option (0: no
        option)."""
        head = struct.pack(
            self.order + "LLLLL",
            interface,
            ticks >> 32,
            ticks & 0xFFFFFFFF,
            len(data) if captured is None else captured,
            len(data) if wire is None else wire,
        )
        return self.block(6, head + pad4(data) + self.flags(flags))

    def old_packet(self, data: bytes, *, interface: int = 0, flags: int = 0) -> Pcapng:
        head = struct.pack(self.order + "HHLLLL", interface, 0xFFFF, 0, 0, len(data), len(data))
        return self.block(2, head + pad4(data) + self.flags(flags))

    def flags(self, flags: int) -> bytes:
        words = option(self.order, 2, struct.pack(self.order + "L", flags))
        return words + option(self.order, 0, b"") if flags else b""

    def simple_packet(self, data: bytes, wire: int | None = None) -> Pcapng:
        size = len(data) if wire is None else wire
        return self.block(3, struct.pack(self.order + "L", size) + pad4(data))

    def bytes(self) -> bytes:
        return b"".join(self.parts)


# Flags of packets in pcapng.
RECEIVED, SENT, LEFT, VALID = 1, 2, 1 << 9, 1 << 10


def flagged(
    packets: list[tuple[bytes, int]], order: str = "<", link: int = 1, old: bool = False
) -> bytes:
    """Returns a pcapng file of packets with these flags; a packet with flags 0 gets no option."""
    file = Pcapng(order).section().interface(link=link)
    for data, flags in packets:
        (file.old_packet if old else file.packet)(data, flags=flags)
    return file.bytes()


# Packets with a good checksum, with a bad one, and with a partial one, as left by transmit offload.
GOOD = ethernet(packet(TCP))
WRONG = ethernet(packet(TCP, sums="bad"))
PARTIAL = ethernet(packet(TCP, sums="partial"))

# The addresses of an IPv6 packet.
V6 = {"src": "2001:db8::1", "dst": "2001:db8::2"}


@functools.cache
def mixture() -> bytes:
    """Returns a capture of many batches, whose report depends on the order of packets. The capture
    has more senders than the tool remembers, more unknown link types than the tool lists, and
    damage at the end."""
    file = Pcapng().section()
    for link in (1, *range(60000, 60025), 101):
        file.interface(link=link)
    frames = []
    for host in range(200):
        ends = {"src": f"10.1.{host % 7}.{host}", "dst": "10.9.9.9"}
        for number, kind in enumerate(("good", "good", "bad", "partial", "good", "none")):
            protocol = UDP if kind == "none" else TCP
            payload = bytes(range(host % 50)) * (1 + number * host % 20)
            frames.append(ethernet(packet(protocol, payload, sums=kind, **ends)))
    part = len(file.parts)
    for number, frame in enumerate(frames):
        file.packet(frame, ticks=number)
        if number % 3 == 0:
            file.packet(b"?", interface=1 + number * 7 % 26)
    repeated = b"".join(file.parts[part:])
    return b"".join(file.parts[:part]) + repeated * 6 + b"damage"
