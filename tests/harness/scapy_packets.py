# SPDX-License-Identifier: MIT
"""Builds frames with scapy, and states which bytes the RFCs say their checksums cover.

A frame is built from the inside out. Each step passes an IP header and its content, up to the next
IP header, to scapy, and reads the sums that scapy stored. They are compared with the sums of the
RFCs, for which only scapy's arithmetic is used. Where they differ, DIFFERENCES must contain
the reason, and the sum of the RFC is stored.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from ipaddress import IPv4Address, IPv6Address
from operator import truediv
from random import Random
from typing import Any, ClassVar, NamedTuple

from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from scapy.contrib.chdlc import CHDLC
from scapy.contrib.eigrp import EIGRP, EIGRPParam
from scapy.contrib.erspan import ERSPAN_II, ERSPAN_III, ERSPAN_PlatformSpecific
from scapy.contrib.geneve import GENEVE, GeneveOptions
from scapy.contrib.gtp import GTP_U_Header, GTPPDUSessionContainer
from scapy.contrib.igmp import IGMP
from scapy.contrib.igmpv3 import IGMPv3, IGMPv3gr, IGMPv3mr
from scapy.contrib.mpls import MPLS, EoMCW
from scapy.contrib.nsh import NSH
from scapy.contrib.ospf import (
    OSPF_Hdr,
    OSPF_Hello,
    OSPF_LSUpd,
    OSPF_Router_LSA,
    OSPFv3_Hdr,
    OSPFv3_Hello,
)
from scapy.contrib.pim import PIMv2Hdr, PIMv2Hello, PIMv2HelloHoldtime
from scapy.contrib.rsvp import RSVP
from scapy.fields import (
    BitField,
    ByteField,
    IntField,
    ShortField,
    StrFixedLenField,
    StrLenField,
)
from scapy.layers.dot11 import Dot11, Dot11QoS, RadioTap
from scapy.layers.inet import (
    ICMP,
    IP,
    TCP,
    UDP,
    IPOption,
    IPOption_LSRR,
    IPOption_NOP,
    IPOption_Router_Alert,
    IPOption_RR,
    IPOption_SSRR,
)
from scapy.layers.inet6 import (
    HAO,
    MIP6MH_BU,
    HBHOptUnknown,
    ICMPv6EchoRequest,
    ICMPv6MLReport,
    ICMPv6ND_NS,
    ICMPv6NDOptSrcLLAddr,
    ICMPv6TimeExceeded,
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    IPv6ExtHdrSegmentRouting,
    MIP6MH_Generic,
    MIP6MH_HoT,
    _ICMPv6,
    _MobilityHeader,
)
from scapy.layers.ipsec import AH
from scapy.layers.l2 import (
    GRE,
    GRE_PPTP,
    LLC,
    SNAP,
    CookedLinux,
    CookedLinuxV2,
    Dot1AD,
    Dot1Q,
    Dot3,
    Ether,
    Loopback,
)
from scapy.layers.l2tp import L2TP
from scapy.layers.ppi import PPI
from scapy.layers.ppp import HDLC, PPP, PPPoE
from scapy.layers.sctp import SCTP, SCTPChunkData, crc32c
from scapy.layers.vrrp import VRRP, VRRPv3
from scapy.layers.vxlan import VXLAN
from scapy.packet import NoPayload, Packet, Raw
from scapy.utils import checksum

# --- Headers for which scapy has no class ---


class Own(Packet):
    """A header whose checksum scapy does not compute."""


class UDPLite(Own):
    fields_desc: ClassVar = [
        ShortField(name, 0) for name in ("sport", "dport", "coverage", "chksum")
    ]


class DCCP(Own):
    """DCCP-Data with a sequence number of 48 bits (RFC 4340, section 5.4)."""

    fields_desc: ClassVar = [
        *(ShortField("sport", 0), ShortField("dport", 0), ByteField("dataofs", 4)),
        *(BitField("ccval", 0, 4), BitField("cscov", 0, 4), ShortField("chksum", 0)),
        *(BitField("res", 0, 3), BitField("type", 2, 4), BitField("x", 1, 1)),
        *(ByteField("reserved", 0), BitField("seq", 0, 48)),
    ]


class PGM(Own):
    """The header of RFC 3208, section 8, with two sequence numbers, as in several types of
    packets."""

    fields_desc: ClassVar = [
        *(ShortField("sport", 0), ShortField("dport", 0), ByteField("type", 4)),
        *(ByteField("options", 0), ShortField("chksum", 0), StrFixedLenField("gsi", b"", 6)),
        *(ShortField("tsdu", 0), IntField("seq", 0), IntField("trail", 0)),
    ]


class HIP(Own):
    fields_desc: ClassVar = [
        *(ByteField("nh", 59), ByteField("len", 4), ByteField("type", 1), ByteField("ver", 0x21)),
        *(ShortField("chksum", 0), ShortField("controls", 0)),
        *(StrFixedLenField("hits", b"", 32), StrLenField("parameters", b"")),
    ]


class RPL(Own):
    """The routing header of RFC 6554; the first `elided` bytes of the last address are omitted."""

    fields_desc: ClassVar = [
        *(ByteField("nh", 59), ByteField("len", 0), ByteField("type", 3), ByteField("segleft", 0)),
        *(BitField("cmpri", 0, 4), BitField("elided", 0, 4), BitField("pad", 0, 4)),
        *(BitField("reserved", 0, 20), StrLenField("addresses", b"")),
    ]


class PIMRegister(Own):
    fields_desc: ClassVar = [IntField("flags", 0)]


class LISP(Own):
    fields_desc: ClassVar = [StrFixedLenField("bytes", b"", 8)]


class CAPWAP(Own):
    fields_desc: ClassVar = [IntField("first", 0x00100000), IntField("second", 0)]


class SCTPInUDP(Own):
    """A layer of no bytes that marks SCTP over UDP (RFC 6951)."""


class TeredoAuthentication(Own):
    fields_desc: ClassVar = [IntField("sizes", 0x00010000), StrFixedLenField("nonce", b"", 9)]


class TeredoOrigin(Own):
    fields_desc: ClassVar = [ShortField("kind", 0), StrFixedLenField("origin", b"", 6)]


# --- The rules of the RFCs ---

# Meanings of a stored 0. UNUSED applies to any value (OSPF with cryptographic authentication).
PLAIN, ABSENT, ILLEGAL, UNUSED = "plain", "absent", "illegal", "unused"
Range = tuple[int, int]  # offsets of the first byte and past the last, in the frame


class Rule(NamedTuple):
    """A checksum field: carry's name for its protocol, its offset in the header, and its
    properties."""

    protocol: str
    at: int
    pseudo: int = 0  # the protocol number in the pseudo-header (0: no pseudo-header)
    zero: str = PLAIN
    size: int = 2


RULES: dict[type[Packet], Rule] = {
    IP: Rule("ip", 10),
    TCP: Rule("tcp", 16, 6),
    UDP: Rule("udp", 6, 17, ABSENT),
    UDPLite: Rule("udplite", 6, 136, ILLEGAL),
    SCTP: Rule("sctp", 8, 0, ABSENT, 4),
    DCCP: Rule("dccp", 6, 33),
    ICMP: Rule("icmp", 2),
    _ICMPv6: Rule("icmpv6", 2, 58),
    IGMP: Rule("igmp", 2),
    GRE: Rule("gre", 4),
    PIMv2Hdr: Rule("pim", 2),
    VRRP: Rule("vrrp", 6),
    VRRPv3: Rule("vrrp", 6, 112),
    OSPF_Hdr: Rule("ospf", 12),
    OSPFv3_Hdr: Rule("ospf", 12, 89),
    EIGRP: Rule("eigrp", 2),
    RSVP: Rule("rsvp", 2, 0, ABSENT),
    PGM: Rule("pgm", 6, 0, ILLEGAL),
    _MobilityHeader: Rule("mipv6", 4, 135),
    HIP: Rule("hip", 4, 139),
}

# carry's names of all headers; "" for headers that carry counts as part of the header before them.
NAMES: dict[type[Packet], str] = {cls: rule.protocol for cls, rule in RULES.items()} | {
    **{Ether: "ethernet", Dot3: "ethernet", Dot1Q: "vlan", LLC: "llc", SNAP: ""},
    **{CookedLinux: "sll", CookedLinuxV2: "sll2", Loopback: "loopback", CHDLC: "chdlc"},
    **{HDLC: "ppp", PPP: "ppp", PPPoE: "pppoe", MPLS: "mpls", EoMCW: "", NSH: "nsh"},
    SCTPInUDP: "sctp_udp",
    **{RadioTap: "radiotap", PPI: "ppi", Dot11: "ieee80211", Dot11QoS: ""},
    **{IPv6: "ipv6", IPv6ExtHdrHopByHop: "ipv6_options", IPv6ExtHdrDestOpt: "ipv6_options"},
    **{IPv6ExtHdrRouting: "ipv6_routing", IPv6ExtHdrSegmentRouting: "ipv6_routing"},
    **{RPL: "ipv6_routing", IPv6ExtHdrFragment: "ipv6_fragment", AH: "ah"},
    **{ERSPAN_II: "erspan", ERSPAN_III: "erspan", ERSPAN_PlatformSpecific: ""},
    **{VXLAN: "vxlan", GENEVE: "geneve", GTP_U_Header: "gtp", GTPPDUSessionContainer: ""},
    **{L2TP: "l2tp", LISP: "lisp", CAPWAP: "capwap", PIMRegister: ""},
    **{TeredoAuthentication: "teredo", TeredoOrigin: "teredo"},
}
# Headers that carry counts as part of a header of the given type before them.
PARTS = {"mpls": "mpls", "ppp": "ppp", "teredo": "teredo", "ieee80211": "radiotap"}

# The protocol numbers by which IP announces the next header.
NUMBERS: dict[type[Packet], int] = {
    **{TCP: 6, UDP: 17, UDPLite: 136, SCTP: 132, DCCP: 33, ICMP: 1, _ICMPv6: 58, IGMP: 2},
    **{GRE: 47, PIMv2Hdr: 103, VRRP: 112, VRRPv3: 112, OSPF_Hdr: 89, OSPFv3_Hdr: 89},
    **{EIGRP: 88, RSVP: 46, PGM: 113, _MobilityHeader: 135, HIP: 139, MPLS: 137, AH: 51},
    **{IPv6ExtHdrHopByHop: 0, IPv6ExtHdrDestOpt: 60, IPv6ExtHdrFragment: 44},
    **{IPv6ExtHdrRouting: 43, IPv6ExtHdrSegmentRouting: 43, RPL: 43},
}
IP_NUMBERS = {4: 4, 6: 41}
ETHERTYPES = {4: 0x0800, 6: 0x86DD}
TUNNEL_PORTS = {4789, 4790, 8472, 6081, 2152, 3544, 1701, 4341, 6635, 5247}

# Header bytes that can be changed without changing how the following bytes are parsed.
FREE: dict[type[Packet], list[Range]] = {
    IP: [(4, 6), (8, 9), (12, 20)],
    IPv6: [(7, 40)],
    TCP: [(4, 12), (14, 16), (18, 20)],
    SCTP: [(4, 8)],
    DCCP: [(9, 16)],
    PGM: [(8, 14), (16, 24)],
    OSPF_Hdr: [(4, 12), (16, 24)],
    OSPFv3_Hdr: [(4, 12)],
    HIP: [(6, 40)],
    EIGRP: [(4, 20)],
}


def of_class(table: dict[type[Packet], Any], layer: Packet) -> Any:  # noqa: ANN401
    return next((table[cls] for cls in type(layer).__mro__ if cls in table), None)


@dataclass(frozen=True)
class Pseudo:
    """A pseudo-header, whose addresses are ranges of the frame."""

    version: int
    addresses: tuple[Range, ...]
    protocol: int
    size: int

    def moved(self, by: int) -> Pseudo:
        return replace(self, addresses=moved(self.addresses, by))

    def bytes(self, data: bytes, with_size: bool = True) -> bytes:
        size = self.size if with_size else 0
        tail = struct.pack(
            *((">HH", self.protocol, size) if self.version == 4 else (">LL", size, self.protocol))
        )
        return b"".join(data[start:end] for start, end in self.addresses) + tail

    def folded(self, data: bytes, with_size: bool = True) -> int:
        """Returns the partial sum that transmit offload leaves in the field."""
        return checksum(self.bytes(data, with_size)) ^ 0xFFFF


@dataclass(frozen=True)
class Sum:
    """A checksum field of a frame, and the bytes that it covers by the RFC of its protocol."""

    rule: Rule
    version: int  # of the IP header around it
    cover: Range
    pseudo: Pseudo | None = None
    gap: Range | None = None  # covered bytes that the sum leaves out
    zero: str = PLAIN
    quoted: bool = False  # whether an ICMP error quotes it
    other: Sum | None = None  # the same field, by another reading of the RFC

    @property
    def protocol(self) -> str:
        return self.rule.protocol

    @property
    def field(self) -> Range:
        return self.cover[0] + self.rule.at, self.cover[0] + self.rule.at + self.rule.size

    def moved(self, by: int) -> Sum:
        return replace(
            self,
            cover=moved([self.cover], by)[0],
            pseudo=self.pseudo and self.pseudo.moved(by),
            gap=self.gap and moved([self.gap], by)[0],
            other=self.other and self.other.moved(by),
        )

    def stored(self, data: bytes) -> int:
        return int.from_bytes(data[slice(*self.field)], "big")

    def store(self, data: bytes, value: int) -> bytes:
        start, end = self.field
        return data[:start] + value.to_bytes(end - start, "big") + data[end:]

    def covered(self, data: bytes) -> bytes:
        start, end = self.cover
        gap_start, gap_end = self.gap or (end, end)
        return data[start:gap_start] + data[gap_end:end]

    def computed(self, data: bytes) -> int:
        """Returns what the field should hold, by scapy's arithmetic."""
        body = self.covered(self.store(data, 0))
        if self.rule.size == 4:
            return int(crc32c(body))
        value = checksum((self.pseudo.bytes(data) if self.pseudo else b"") + body)
        return 0xFFFF if value == 0 and self.zero != PLAIN else int(value)

    def verifies(self, data: bytes) -> bool:
        if self.rule.size == 4:
            return self.stored(data) == self.computed(data)
        pseudo = self.pseudo.bytes(data) if self.pseudo else b""
        return checksum(pseudo + self.covered(data)) == 0


class Judgement(NamedTuple):
    verdict: str
    expected: int | None


def judge(item: Sum, data: bytes) -> Judgement:
    """Returns the verdict that carry should give for one sum, by docs/packet.md."""
    stored = item.stored(data)
    if item.zero == UNUSED or (stored == 0 and item.zero == ABSENT):
        return Judgement("absent", None)
    if stored == 0 and item.zero == ILLEGAL and not item.quoted:
        return Judgement("illegal", item.computed(data))
    if item.verifies(data) or (item.other and item.other.verifies(data)):
        return Judgement("good", stored)
    if item.pseudo and stored in (item.pseudo.folded(data), item.pseudo.folded(data, False)):
        return Judgement("partial", item.computed(data))
    return Judgement("unverifiable", None) if item.quoted else Judgement("bad", item.computed(data))


def judge_all(sums: Sequence[Sum], data: bytes) -> list[Judgement]:
    """Returns the verdicts for all sums of a frame, outer to inner. A bad sum that covers a partial
    sum is not damage, unless an ICMP error quotes the partial sum: no card completes it then."""
    found = [judge(item, data) for item in sums]
    partial = max(
        (i for i, item in enumerate(sums) if found[i].verdict == "partial" and not item.quoted),
        default=0,
    )
    complete = sums[partial].store(data, found[partial].expected or 0) if partial else data
    for i, item in enumerate(sums[:partial]):
        if found[i].verdict == "bad" and item.verifies(complete):
            found[i] = Judgement("partial", item.stored(data))
    return found


# --- Frames and their description ---


@dataclass(frozen=True)
class Stack:
    """The bytes of a frame from one of its headers on, with their description."""

    data: bytes
    layers: tuple[tuple[str, int], ...] = ()  # carry's names, and offsets
    sums: tuple[Sum, ...] = ()  # outer to inner
    version: int = 0  # of its first IP header
    free: tuple[Range, ...] = ()  # ranges as in FREE
    unlike: frozenset[str] = frozenset()  # why scapy stores other sums here than the RFCs say
    link: int = 0  # the link type of a frame

    def after(self, head: bytes, pad: bytes = b"") -> Stack:
        """Returns the stack with the bytes `head` before it and `pad` after it."""
        by, end = len(head), len(head) + len(self.data)
        return replace(
            self,
            data=head + self.data + pad,
            layers=tuple((name, at + by) for name, at in self.layers),
            sums=tuple(item.moved(by) for item in self.sums),
            free=(*moved(self.free, by), (end, end + len(pad))),
        )

    def tagged(self, name: str) -> Stack:
        """Returns the stack with a layer of no bytes in front."""
        return replace(self, layers=((name, 0), *self.layers))

    def quoted(self) -> Stack:
        return replace(self, sums=tuple(replace(item, quoted=True) for item in self.sums))


def moved(ranges: Iterable[Range], by: int) -> tuple[Range, ...]:
    return tuple((start + by, end + by) for start, end in ranges)


def layers_of(packet: Packet) -> Iterator[Packet]:
    while not isinstance(packet, NoPayload):
        yield packet
        packet = packet.payload


def header_size(layer: Packet) -> int:
    size = len(layer.self_build())
    return size + -size % 4 if isinstance(layer, IP) else size


def announce(headers: Sequence[Packet], content_version: int) -> None:
    """Writes the number of the next header into each IP and extension header."""
    following = [of_class(NUMBERS, layer) for layer in headers[1:]]
    for layer, number in zip(headers, [*following, IP_NUMBERS.get(content_version)], strict=True):
        if number is not None and isinstance(layer, IP):
            layer.proto = number
        elif number is not None and "nh" in layer.fieldtype and not is_last(layer):
            layer.nh = number


def is_last(layer: Packet) -> bool:
    return isinstance(layer, (_MobilityHeader, HIP))


@dataclass
class Ends:
    """The addresses of a pseudo-header, collected on the way from the IP header."""

    version: int = 0
    src: tuple[Range, ...] = ()
    dst: tuple[Range, ...] = ()

    def pass_by(self, layer: Packet, start: int, size: int) -> None:
        end = start + size
        match layer:
            case IP():
                self.version = 4
                self.src, self.dst = ((start + 12, start + 16),), ((start + 16, start + 20),)
                self.follow_source_route(layer, start)
            case IPv6():
                self.version = 6
                self.src, self.dst = ((start + 8, start + 24),), ((start + 24, start + 40),)
            case IPv6ExtHdrRouting() if layer.segleft:
                self.dst = ((end - 16, end),)
            case IPv6ExtHdrSegmentRouting() if layer.segleft:
                self.dst = ((start + 8, start + 24),)
            case RPL() if layer.segleft:
                shared, last = self.dst[0][0], end - layer.pad
                self.dst = ((shared, shared + layer.elided), (last - 16 + layer.elided, last))
            case IPv6ExtHdrDestOpt():
                for option in layer.options:
                    if isinstance(option, HAO):
                        at = start + bytes(layer.self_build()).index(bytes(option)) + 2
                        self.src = ((at, at + 16),)

    def follow_source_route(self, layer: Packet, start: int) -> None:
        at = start + 20
        for option in layer.options:
            size = len(bytes(option))
            if isinstance(option, (IPOption_LSRR, IPOption_SSRR)) and option.pointer <= size:
                self.dst = ((at + size - 4, at + size),)
            at += size


def sum_of(layer: Packet, start: int, end: int, header: int, ends: Ends) -> Sum | None:
    """Returns the sum of a header, if it has one; its IP packet ends at `end`."""
    rule = of_class(RULES, layer)
    if not rule or (isinstance(layer, GRE) and not layer.chksum_present):
        return None
    number, zero, gap, cover, size = rule.pseudo, rule.zero, None, end, end - start
    match layer:
        case IP():
            cover = start + header
        case UDP() if ends.version == 6 and not {layer.sport, layer.dport} & TUNNEL_PORTS:
            zero = ILLEGAL
        case UDPLite() if layer.coverage:
            cover = start + layer.coverage
        case DCCP() if layer.cscov:
            cover = start + (layer.dataofs + layer.cscov - 1) * 4
        case PIMv2Hdr():
            number = 103 if ends.version == 6 else 0
            if layer.type == 1:
                cover, size = start + 8, 8
        case OSPF_Hdr():
            gap = (start + 16, start + 24)
            zero = UNUSED if layer.authtype == 2 else PLAIN
        case PGM() if layer.type not in (4, 5):
            zero = ABSENT
    pseudo = Pseudo(ends.version, ends.src + ends.dst, number, size) if number else None
    found = Sum(rule, ends.version, (start, cover), pseudo, gap, zero)
    if isinstance(layer, PIMv2Hdr) and layer.type == 1:
        whole = replace(pseudo, size=end - start) if pseudo else None
        return replace(found, other=replace(found, cover=(start, end), pseudo=whole))
    if isinstance(layer, VRRPv3) and ends.version == 4:
        return replace(found, other=replace(found, pseudo=None))
    return found


def below(layer: Packet) -> Iterator[Packet]:
    while layer.underlayer is not None:
        layer = layer.underlayer
        yield layer


def has_route_at_end(layer: Packet) -> bool:
    routes = (IPOption_LSRR, IPOption_SSRR)
    return isinstance(layer, IP) and any(
        isinstance(option, routes) and option.pointer > len(bytes(option))
        for option in layer.options
    )


class Difference(NamedTuple):
    """A case in which scapy stores another sum than the RFC says, and a piece that shows it."""

    reason: str
    piece: str
    applies: Callable[[Packet], bool]


def is_above(kind: type[Packet]) -> Callable[[Packet], bool]:
    return lambda layer: any(isinstance(header, kind) for header in below(layer))


def is_pim(layer: Packet, kind: int | None = None) -> bool:
    return isinstance(layer, PIMv2Hdr) and kind in (None, layer.type)


DIFFERENCES = [
    Difference("scapy has no class of it", "dccp", lambda layer: isinstance(layer, Own)),
    Difference(
        "scapy leaves the pseudo-header out (RFC 7761, section 4.9)",
        "pim",
        lambda layer: is_pim(layer) and is_above(IPv6)(layer),
    ),
    Difference(
        "scapy covers the packet in a Register (RFC 7761, section 4.9)",
        "pim register",
        lambda layer: is_pim(layer, 1),
    ),
    Difference(
        "scapy stores a sum of 0, which means that there is none (RFC 2205, section 3.1.1)",
        "rsvp",
        lambda layer: isinstance(layer, RSVP),
    ),
    Difference("scapy stores 0 after AH", "ip, ah", is_above(AH)),
    Difference("scapy has no class of this routing header (RFC 6554)", "ipv6 rpl", is_above(RPL)),
    Difference(
        "scapy overlooks a home address beside other options (RFC 6275, section 9.3.1)",
        "ipv6 home address",
        lambda layer: any(
            isinstance(header, IPv6ExtHdrDestOpt) and len(header.options) > 1
            for header in below(layer)
        ),
    ),
    Difference(
        "scapy takes the last hop of a route at its end for the destination (RFC 791)",
        "ip source route",
        lambda layer: any(has_route_at_end(header) for header in below(layer)),
    ),
]


def why_unlike(layer: Packet) -> str:
    for difference in DIFFERENCES:
        if difference.applies(layer):
            return difference.reason
    raise AssertionError(f"scapy stores another sum than the RFC says: {layer!r}")


def says_none(layer: Packet) -> bool:
    """Checks whether the fields of a layer request that scapy stores no sum."""
    return layer.fields.get("chksum") == 0 or (isinstance(layer, OSPF_Hdr) and layer.authtype == 2)


def build(headers: Sequence[Packet], content: Stack, pad: bytes = b"") -> Stack:
    """Puts headers in front of a stack and stores the sums of the RFCs; `pad` follows the stack."""
    headers = [header.copy() for header in headers]
    announce(headers, content.version)
    inner = content.after(b"", pad)
    packet = reduce(truediv, [*headers, Raw(inner.data)])
    data = bytes(packet)
    result = inner.after(data[: len(data) - len(inner.data)])
    result = replace(result, data=data, version=0)

    layers: list[tuple[str, int]] = []
    sums: list[Sum] = []
    free: list[Range] = []
    ends, at = Ends(), 0
    for layer in list(layers_of(packet))[: len(headers)]:
        size = header_size(layer)
        name = of_class(NAMES, layer)
        if name and not (layers and layers[-1][0] == PARTS.get(name)):
            layers.append((name, at))
        ends.pass_by(layer, at, size)
        free += moved(of_class(FREE, layer) or [], at)
        found = sum_of(layer, at, len(data) - len(pad), size, ends)
        if found:
            right = found.computed(result.data)
            if found.stored(result.data) != right and not says_none(layer):
                unlike = result.unlike | {why_unlike(layer)}
                result = replace(result, data=found.store(result.data, right), unlike=unlike)
            sums.append(found)
        at += size
    assert at == len(data) - len(inner.data), "every header has the size that scapy gave it"
    return replace(
        result,
        layers=(*layers, *result.layers),
        sums=(*sums, *result.sums),
        free=(*free, *result.free),
        version=ends.version,
    )


# --- Strategies: payloads, addresses, IP headers ---

seeds = st.integers(0, 2**32 - 1)
words = st.integers(0, 0xFFFF)
ports = st.integers(40000, 60000)  # includes no port of a tunnel
payloads = st.binary(max_size=40) | st.builds(
    lambda size, seed: Random(seed).randbytes(size), st.integers(0, 600), seeds
)
pads = st.binary(max_size=20)
addresses4 = st.integers(0x01000000, 0xDFFFFFFF).map(lambda number: str(IPv4Address(number)))
addresses6 = st.integers(0, 2**128 - 1).map(lambda number: str(IPv6Address(number)))


def ip(draw: DrawFn, **fields: object) -> Packet:
    ends = {"src": draw(addresses4), "dst": draw(addresses4)}
    rest = {"tos": draw(st.integers(0, 255)), "id": draw(words), "ttl": draw(st.integers(0, 255))}
    return IP(**ends, **rest, flags=draw(st.sampled_from(["", "DF"])), **fields)


def ip_options(draw: DrawFn) -> list[Packet]:
    route = st.builds(lambda hops: IPOption_RR(routers=hops), st.lists(addresses4, max_size=3))
    others = st.sampled_from([IPOption_NOP(), IPOption_Router_Alert()])
    unknown = st.binary(max_size=6).map(lambda value: IPOption(option=30, value=value))
    return [ip(draw, options=draw(st.lists(others | route | unknown, max_size=2)))]


def ip_source_route(draw: DrawFn) -> list[Packet]:
    hops = draw(st.lists(addresses4, min_size=1, max_size=4))
    kind = draw(st.sampled_from([IPOption_LSRR, IPOption_SSRR]))
    pointer = 4 + 4 * draw(st.integers(0, len(hops)))
    before = draw(st.lists(st.just(IPOption_NOP()), max_size=3))
    return [ip(draw, options=[*before, kind(routers=hops, pointer=pointer)])]


def ipv6(draw: DrawFn) -> Packet:
    ends = {"src": draw(addresses6), "dst": draw(addresses6)}
    return IPv6(**ends, fl=draw(st.integers(0, 0xFFFFF)), hlim=draw(st.integers(0, 255)))


def ipv6_options(draw: DrawFn) -> list[Packet]:
    unknown = st.binary(max_size=20).map(lambda data: HBHOptUnknown(otype=0x1E, optdata=data))
    some = st.lists(unknown, min_size=1, max_size=2)
    return [
        ipv6(draw),
        IPv6ExtHdrHopByHop(options=draw(some)),
        *draw(st.sampled_from([[], [IPv6ExtHdrDestOpt(options=draw(some))]])),
    ]


def ipv6_home_address(draw: DrawFn) -> list[Packet]:
    other = HBHOptUnknown(otype=0x1E, optdata=draw(st.binary(max_size=5)))
    others = draw(st.sampled_from([[], [], [other]]))
    return [ipv6(draw), IPv6ExtHdrDestOpt(options=[*others, HAO(hoa=draw(addresses6))])]


def ipv6_routing(draw: DrawFn) -> list[Packet]:
    kind = draw(st.sampled_from([0, 2]))
    hops = draw(st.lists(addresses6, min_size=1, max_size=3 if kind == 0 else 1))
    left = draw(st.integers(0, len(hops)))
    return [ipv6(draw), IPv6ExtHdrRouting(type=kind, addresses=hops, segleft=left)]


def ipv6_segments(draw: DrawFn) -> list[Packet]:
    hops = draw(st.lists(addresses6, min_size=1, max_size=3))
    left = draw(st.integers(0, len(hops) - 1))
    return [ipv6(draw), IPv6ExtHdrSegmentRouting(addresses=hops, segleft=left)]


def ipv6_rpl(draw: DrawFn) -> list[Packet]:
    """Draws IPv6 with an RPL header: its addresses omit the bytes that they share with the
    destination."""
    shared, elided, hops = *draw(st.tuples(*[st.integers(0, 15)] * 2)), draw(st.integers(1, 3))
    size = (hops - 1) * (16 - shared) + 16 - elided
    pad = -size % 8
    addresses = draw(st.binary(min_size=size, max_size=size)) + bytes(pad)
    left = draw(st.integers(0, hops))
    fields = {"cmpri": shared, "elided": elided, "pad": pad, "segleft": left}
    return [ipv6(draw), RPL(len=(size + pad) // 8, addresses=addresses, **fields)]


def atomic_fragment(draw: DrawFn) -> list[Packet]:
    return [ipv6(draw), IPv6ExtHdrFragment(id=draw(seeds))]


def authenticated(draw: DrawFn, network: Packet) -> list[Packet]:
    icv = draw(st.binary(min_size=12, max_size=12))
    return [network, AH(payloadlen=4, spi=draw(seeds), seq=draw(seeds), icv=icv)]


class Network(NamedTuple):
    version: int
    headers: Callable[[DrawFn], list[Packet]]


NETWORKS = {
    "ip": Network(4, lambda draw: [ip(draw)]),
    "ip options": Network(4, ip_options),
    "ip source route": Network(4, ip_source_route),
    "ip, ah": Network(4, lambda draw: authenticated(draw, ip(draw))),
    "ipv6": Network(6, lambda draw: [ipv6(draw)]),
    "ipv6 options": Network(6, ipv6_options),
    "ipv6 home address": Network(6, ipv6_home_address),
    "ipv6 routing": Network(6, ipv6_routing),
    "ipv6 segment routing": Network(6, ipv6_segments),
    "ipv6 rpl": Network(6, ipv6_rpl),
    "ipv6 atomic fragment": Network(6, atomic_fragment),
    "ipv6, ah": Network(6, lambda draw: authenticated(draw, ipv6(draw))),
}

# --- Strategies: what IP carries ---


def tcp(draw: DrawFn) -> list[Packet]:
    options = [[], [("MSS", 1460)], [("NOP", None), ("Timestamp", (draw(seeds), draw(seeds)))]]
    return [
        TCP(
            sport=draw(ports),
            dport=draw(ports),
            seq=draw(seeds),
            ack=draw(seeds),
            flags=draw(st.integers(0, 511)),
            options=draw(st.sampled_from(options)),
        )
    ]


def udp(draw: DrawFn) -> list[Packet]:
    return [UDP(sport=draw(ports), dport=draw(ports))]


def udplite(draw: DrawFn, payload: bytes) -> list[Packet]:
    coverage = draw(st.just(0) | st.integers(8, 8 + len(payload)))
    return [UDPLite(sport=draw(ports), dport=draw(ports), coverage=coverage)]


def dccp(draw: DrawFn, payload: bytes) -> list[Packet]:
    coverage = draw(st.integers(0, min(15, 1 + len(payload) // 4)))
    return [DCCP(sport=draw(ports), dport=draw(ports), cscov=coverage, seq=draw(seeds))]


def sctp(draw: DrawFn) -> list[Packet]:
    chunk = SCTPChunkData(tsn=draw(seeds), data=draw(payloads))
    return [SCTP(sport=draw(ports), dport=draw(ports), tag=draw(seeds)), chunk]


def sctp_udp(draw: DrawFn) -> list[Packet]:
    source, destination = draw(st.permutations([9899, draw(ports)]))
    return [UDP(sport=source, dport=destination), SCTPInUDP(), *sctp(draw)]


def icmp(draw: DrawFn) -> list[Packet]:
    return [ICMP(type=draw(st.sampled_from([0, 8, 13])), id=draw(words), seq=draw(words))]


def icmpv6(draw: DrawFn) -> list[Packet]:
    solicitation = [ICMPv6ND_NS(tgt=draw(addresses6)), ICMPv6NDOptSrcLLAddr(lladdr=MACS["src"])]
    echo = [ICMPv6EchoRequest(id=draw(words), seq=draw(words))]
    return draw(st.sampled_from([solicitation, echo, [ICMPv6MLReport(mladdr=draw(addresses6))]]))


def igmp(draw: DrawFn) -> list[Packet]:
    record = IGMPv3gr(rtype=2, maddr="224.1.2.3", srcaddrs=draw(st.lists(addresses4, max_size=3)))
    report = [IGMPv3(type=0x22), IGMPv3mr(records=[record])]
    return draw(st.sampled_from([[IGMP(type=0x16, gaddr=draw(addresses4))], report]))


def pim(draw: DrawFn) -> list[Packet]:
    holdtime = PIMv2HelloHoldtime(holdtime=draw(words))
    return [PIMv2Hdr(type=0), PIMv2Hello(option=[holdtime])]


def ospf(draw: DrawFn) -> list[Packet]:
    head = {"src": draw(addresses4), "area": draw(addresses4)}
    secret = draw(st.integers(0, 2**64 - 1))
    kind = draw(st.sampled_from([{}, {"authtype": 1, "authdata": secret}, {"authtype": 2}]))
    body = draw(
        st.sampled_from(
            [
                OSPF_Hello(
                    router=draw(addresses4), neighbors=draw(st.lists(addresses4, max_size=2))
                ),
                OSPF_LSUpd(lsalist=[OSPF_Router_LSA(id=draw(addresses4))]),
            ]
        )
    )
    return [OSPF_Hdr(**head, **kind), body]


def ospf3(draw: DrawFn) -> list[Packet]:
    neighbours = draw(st.lists(addresses4, max_size=2))
    return [OSPFv3_Hdr(src=draw(addresses4)), OSPFv3_Hello(neighbors=neighbours)]


def vrrp2(draw: DrawFn) -> list[Packet]:
    routers = draw(st.lists(addresses4, min_size=1, max_size=3))
    return [VRRP(vrid=draw(st.integers(1, 255)), addrlist=routers, auth1=draw(seeds))]


def vrrp3(draw: DrawFn, addresses: st.SearchStrategy[str]) -> list[Packet]:
    routers = draw(st.lists(addresses, min_size=1, max_size=3))
    return [VRRPv3(vrid=draw(st.integers(1, 255)), addrlist=routers)]


def eigrp(draw: DrawFn) -> list[Packet]:
    return [EIGRP(asn=draw(words), seq=draw(seeds), tlvlist=[EIGRPParam(holdtime=draw(words))])]


def rsvp(draw: DrawFn) -> list[Packet]:
    return [RSVP(TTL=draw(st.integers(0, 255)))]


def pgm(draw: DrawFn) -> list[Packet]:
    kind = draw(st.sampled_from([0, 4, 5]))
    gsi = draw(st.binary(min_size=6, max_size=6))
    return [PGM(sport=draw(ports), dport=draw(ports), type=kind, gsi=gsi, seq=draw(seeds))]


def mobility(draw: DrawFn) -> list[Packet]:
    cookie = draw(st.binary(min_size=8, max_size=8))
    size = 2 + 8 * draw(st.integers(0, 3))
    message = draw(st.binary(min_size=size, max_size=size))
    kinds = [
        MIP6MH_BU(seq=draw(words), res=0),
        MIP6MH_HoT(cookie=cookie, token=cookie, index=draw(words), res=0),
        MIP6MH_Generic(mhtype=200, res=0, msg=message),
    ]
    return [draw(st.sampled_from(kinds))]


def hip(draw: DrawFn) -> list[Packet]:
    hits = draw(st.binary(min_size=32, max_size=32))
    parameters = draw(
        st.integers(0, 3).flatmap(lambda n: st.binary(min_size=8 * n, max_size=8 * n))
    )
    return [HIP(len=4 + len(parameters) // 8, hits=hits, parameters=parameters)]


class Transport(NamedTuple):
    versions: frozenset[int]
    headers: Callable[..., list[Packet]]  # takes draw and the payload
    carries: bool = True  # whether it carries any payload
    alone: bool = False  # whether it must follow an IP header without options


V4, V6, BOTH = frozenset([4]), frozenset([6]), frozenset([4, 6])

TRANSPORTS = {
    "tcp": Transport(BOTH, tcp),
    "udp": Transport(BOTH, udp),
    "udp without a sum": Transport(V4, lambda draw: [UDP(sport=draw(ports), chksum=0)]),
    "udplite": Transport(BOTH, udplite),
    "dccp": Transport(BOTH, dccp),
    "sctp": Transport(BOTH, sctp, carries=False),
    "sctp in udp": Transport(BOTH, sctp_udp, carries=False),
    "icmp": Transport(V4, icmp),
    "icmpv6": Transport(V6, icmpv6),
    "igmp": Transport(V4, igmp),
    "pim": Transport(BOTH, pim),
    "ospf": Transport(V4, ospf, carries=False),
    "ospfv3": Transport(V6, ospf3, carries=False),
    "vrrp": Transport(V4, vrrp2, carries=False, alone=True),
    "vrrpv3 over ip": Transport(
        V4, lambda draw: vrrp3(draw, addresses4), carries=False, alone=True
    ),
    "vrrpv3 over ipv6": Transport(
        V6, lambda draw: vrrp3(draw, addresses6), carries=False, alone=True
    ),
    "eigrp": Transport(BOTH, eigrp, carries=False),
    "rsvp": Transport(BOTH, rsvp),
    "pgm": Transport(BOTH, pgm),
    "mobility": Transport(V6, mobility, carries=False),
    "hip": Transport(BOTH, hip, carries=False),
}
NEED_PAYLOAD = {udplite, dccp}


def packet(draw: DrawFn, network: list[Packet], transport: str) -> Stack:
    kind = TRANSPORTS[transport]
    payload = draw(payloads) if kind.carries else b""
    needed = [payload] if kind.headers in NEED_PAYLOAD else []
    headers = [*network, *kind.headers(draw, *needed)]
    content = Stack(payload, free=((0, len(payload)),))
    built = build(headers, content)
    if len(payload) > 1 and draw(st.booleans()):
        built = build(headers, zeroing(built, content))
    return built


def zeroing(built: Stack, content: Stack) -> Stack:
    """Returns the content with a first word for which the innermost sum is 0 (stored as 0x0000 or
    0xffff), or unchanged where no such word exists."""
    item = built.sums[-1]
    at = len(built.data) - len(content.data)
    if item.rule.size != 2 or (at - item.cover[0]) % 2:
        return content
    word = int.from_bytes(content.data[:2], "big") + item.stored(built.data)
    word = (word & 0xFFFF) + (word >> 16)
    return replace(content, data=word.to_bytes(2, "big") + content.data[2:])


# --- Strategies: headers between a link, or a tunnel, and IP ---

MACS = {"dst": "02:00:00:00:00:02", "src": "02:00:00:00:00:01"}
Shim = Callable[[DrawFn, int], list[Packet]]  # takes draw and the ethertype of what follows


def qinq(draw: DrawFn, kind: int) -> list[Packet]:
    vlans = draw(st.tuples(*[st.integers(0, 4095)] * 2))
    tags = [Dot1AD(vlan=vlans[0], type=0x8100), Dot1Q(vlan=vlans[1], type=kind)]
    return [Ether(**MACS, type=0x88A8), *tags]


def labels(draw: DrawFn) -> list[Packet]:
    stack = draw(st.lists(st.integers(16, 2**20 - 1), min_size=1, max_size=3))
    return [MPLS(label=label, s=0, ttl=9) for label in stack[1:]] + [MPLS(label=stack[0], s=1)]


def pseudowire(draw: DrawFn, kind: int) -> list[Packet]:
    control_word = draw(st.sampled_from([[], [EoMCW(seq=draw(words))]]))
    outer = [Ether(**MACS, type=0x8847), *labels(draw)]
    return [*outer, *control_word, Ether(**MACS, type=kind)]


def pppoe(draw: DrawFn, kind: int) -> list[Packet]:
    return [Ether(**MACS, type=0x8864), PPPoE(sessionid=draw(words)), PPP(proto=PPP_NUMBERS[kind])]


PPP_NUMBERS = {0x0800: 0x0021, 0x86DD: 0x0057}
NSH_NUMBERS = {0x0800: 1, 0x86DD: 2, 0x6558: 3}

ETHERNETS: dict[str, Shim] = {
    "ethernet": lambda draw, kind: [Ether(**MACS, type=kind)],
    "vlan": lambda draw, kind: [
        *(Ether(**MACS, type=0x8100), Dot1Q(vlan=draw(st.integers(0, 4095)), type=kind))
    ],
    "qinq": qinq,
    "llc": lambda draw, kind: [Dot3(**MACS), LLC(dsap=0xAA, ssap=0xAA, ctrl=3), SNAP(code=kind)],
    "mpls": lambda draw, kind: [Ether(**MACS, type=0x8847), *labels(draw)],
    "pseudowire": pseudowire,
    "pppoe": pppoe,
    "nsh": lambda draw, kind: [
        *(Ether(**MACS, type=0x894F), NSH(nextproto=NSH_NUMBERS[kind], context_header=bytes(16)))
    ],
}


def ethernet(draw: DrawFn, content: Stack, name: str | None = None) -> Stack:
    """Draws an Ethernet frame around IP, often with bytes after the packet."""
    shim = ETHERNETS[name or draw(st.sampled_from(sorted(ETHERNETS)))]
    return build(shim(draw, ETHERTYPES[content.version]), content, draw(pads))


def filled_ethernet(draw: DrawFn, content: Stack) -> Stack:
    """Draws an Ethernet frame that IP fills."""
    shim = ETHERNETS[draw(st.sampled_from(["ethernet", "vlan"]))]
    return build(shim(draw, ETHERTYPES[content.version]), content)


class Link(NamedTuple):
    number: int
    frame: Callable[[DrawFn, Stack], Stack]


def headers_link(number: int, headers: Callable[[DrawFn, int], list[Packet]]) -> Link:
    def frame(draw: DrawFn, content: Stack) -> Stack:
        return build(headers(draw, content.version), content, draw(pads))

    return Link(number, frame)


def snap(kind: int) -> list[Packet]:
    return [LLC(dsap=0xAA, ssap=0xAA, ctrl=3), SNAP(code=kind)]


def data_frame(draw: DrawFn, version: int) -> list[Packet]:
    ends = {"addr1": MACS["dst"], "addr2": MACS["src"], "addr3": MACS["dst"]}
    plain = [Dot11(type=2, subtype=0, FCfield="to-DS", **ends)]
    quality = [Dot11(type=2, subtype=8, FCfield="from-DS", **ends), Dot11QoS()]
    return [*draw(st.sampled_from([plain, quality])), *snap(ETHERTYPES[version])]


FAMILIES = {4: [2], 6: [24, 28, 30]}

LINKS = {
    **{
        name: Link(1, lambda draw, content, name=name: ethernet(draw, content, name))
        for name in ETHERNETS
    },
    "raw": Link(101, lambda draw, content: content.after(b"", draw(pads)).tagged("raw")),
    "sll": headers_link(113, lambda draw, version: [CookedLinux(proto=ETHERTYPES[version])]),
    "sll2": headers_link(276, lambda draw, version: [CookedLinuxV2(proto=ETHERTYPES[version])]),
    "null": headers_link(
        0, lambda draw, version: [Loopback(type=draw(st.sampled_from(FAMILIES[version])))]
    ),
    "ppp": headers_link(
        9, lambda draw, version: [HDLC(), PPP(proto=PPP_NUMBERS[ETHERTYPES[version]])]
    ),
    "chdlc": headers_link(104, lambda draw, version: [CHDLC(proto=ETHERTYPES[version])]),
    "802.11": headers_link(105, data_frame),
    "radiotap": headers_link(
        127, lambda draw, version: [RadioTap(present=0), *data_frame(draw, version)]
    ),
    "ppi": headers_link(192, lambda draw, version: [PPI(dlt=105), *data_frame(draw, version)]),
}

# --- Strategies: tunnels ---


def over_udp(draw: DrawFn, port: int) -> Packet:
    """Draws a UDP header to or from the port of a tunnel; it may lack a sum."""
    ends = draw(st.sampled_from([("sport", "dport"), ("dport", "sport")]))
    none = draw(st.sampled_from([{}, {}, {"chksum": 0}]))
    return UDP(**dict(zip(ends, (draw(ports), port), strict=True)), **none)


def gre(draw: DrawFn, kind: int) -> Packet:
    flags = [draw(st.integers(0, 1)) for _ in range(3)]
    names = ("chksum_present", "key_present", "seqnum_present")
    return GRE(
        **dict(zip(names, flags, strict=True)),
        proto=kind,
        key=draw(seeds),
        sequence_number=draw(seeds),
    )


Wrapped = tuple[list[Packet], Stack]  # the headers after IP, and what they carry


def gre_ip(draw: DrawFn, content: Stack) -> Wrapped:
    return [gre(draw, ETHERTYPES[content.version])], content


def gre_ethernet(draw: DrawFn, content: Stack) -> Wrapped:
    return [gre(draw, 0x6558)], ethernet(draw, content)


def gre_mpls(draw: DrawFn, content: Stack) -> Wrapped:
    return [gre(draw, 0x8847), *labels(draw)], content


def gre_nsh(draw: DrawFn, content: Stack) -> Wrapped:
    inner = NSH(mdtype=2, nextproto=NSH_NUMBERS[ETHERTYPES[content.version]], length=2, vlch=[])
    return [gre(draw, 0x894F), inner], content


def pptp(draw: DrawFn, content: Stack) -> Wrapped:
    head = GRE_PPTP(seqnum_present=1, acknum_present=draw(st.integers(0, 1)))
    return [head, PPP(proto=PPP_NUMBERS[ETHERTYPES[content.version]])], content


def erspan1(draw: DrawFn, content: Stack) -> Wrapped:
    return [GRE(proto=0x88BE)], ethernet(draw, content)


def erspan2(draw: DrawFn, content: Stack) -> Wrapped:
    head = GRE(seqnum_present=1, sequence_number=draw(seeds), proto=0x88BE)
    return [head, ERSPAN_II(ver=1, vlan=draw(st.integers(0, 4095)))], ethernet(draw, content)


def erspan3(draw: DrawFn, content: Stack) -> Wrapped:
    head = GRE(seqnum_present=1, sequence_number=draw(seeds), proto=0x22EB)
    more = draw(st.integers(0, 1))
    mirror = ERSPAN_III(timestamp=draw(seeds), o=more, ft=0)
    return [head, mirror, *[ERSPAN_PlatformSpecific()] * more], ethernet(draw, content)


def vxlan(draw: DrawFn, content: Stack) -> Wrapped:
    flags = draw(st.sampled_from([{"flags": 0x08}, {"flags": 0x88, "gpid": draw(words)}]))
    port = draw(st.sampled_from([4789, 8472]))
    return [over_udp(draw, port), VXLAN(**flags, vni=draw(words))], ethernet(draw, content)


def vxlan_reserved(draw: DrawFn, content: Stack) -> Wrapped:
    flags = draw(st.sampled_from([0x0C, 0x18, 0x48, 0x7F, 0xF8]))
    head = VXLAN(flags=flags, vni=draw(words), reserved2=draw(st.integers(1, 255)))
    return [over_udp(draw, 4789), head], filled_ethernet(draw, content)


def vxlan_gpe(draw: DrawFn, content: Stack) -> Wrapped:
    number = {4: 1, 6: 2}[content.version]
    return [over_udp(draw, 4790), VXLAN(flags=0x0C, NextProtocol=number, vni=7)], content


def vxlan_nsh(draw: DrawFn, content: Stack) -> Wrapped:
    heads = [VXLAN(flags=0x0C, NextProtocol=4), NSH(nextproto=3, context_header=bytes(16))]
    return [over_udp(draw, 4790), *heads], ethernet(draw, content)


def geneve(draw: DrawFn, content: Stack) -> Wrapped:
    option = GeneveOptions(classid=draw(words), data=draw(st.sampled_from([b"", b"abcdefgh"])))
    options = draw(st.sampled_from([[], [option]]))
    head = over_udp(draw, 6081)
    if draw(st.booleans()):
        return [head, GENEVE(proto=0x6558, options=options)], ethernet(draw, content)
    return [head, GENEVE(proto=ETHERTYPES[content.version], options=options)], content


def gtp(draw: DrawFn, content: Stack) -> Wrapped:
    head, teid = over_udp(draw, 2152), draw(seeds)
    plain = [GTP_U_Header(gtp_type=255, teid=teid)]
    numbered = [GTP_U_Header(gtp_type=255, teid=teid, S=1, seq=draw(words))]
    session = [
        *(GTP_U_Header(gtp_type=255, teid=teid, E=1, next_ex=0x85), GTPPDUSessionContainer(QFI=9))
    ]
    return [head, *draw(st.sampled_from([plain, numbered, session]))], content


def gtp_ethernet(draw: DrawFn, content: Stack) -> Wrapped:
    return gtp(draw, content)[0], filled_ethernet(draw, content)


def teredo(draw: DrawFn, content: Stack) -> Wrapped:
    """Draws Teredo. The inner addresses identify it, so they are not free."""
    authentication = TeredoAuthentication(nonce=draw(st.binary(min_size=9, max_size=9)))
    origin = TeredoOrigin(origin=draw(st.binary(min_size=6, max_size=6)))
    heads = draw(st.sampled_from([[], [origin], [authentication], [authentication, origin]]))
    content = replace(content, free=tuple(span for span in content.free if span[0] >= 40))
    return [over_udp(draw, 3544), *heads], content if heads else content.tagged("teredo")


def l2tp(draw: DrawFn, content: Stack) -> Wrapped:
    head = L2TP(hdr=draw(st.sampled_from(["", "length", "length+sequence"])), tunnel_id=draw(words))
    return [
        *(over_udp(draw, 1701), head, HDLC(), PPP(proto=PPP_NUMBERS[ETHERTYPES[content.version]]))
    ], content


def lisp(draw: DrawFn, content: Stack) -> Wrapped:
    return [over_udp(draw, 4341), LISP(bytes=draw(st.binary(min_size=8, max_size=8)))], content


def capwap(draw: DrawFn, content: Stack) -> Wrapped:
    return [over_udp(draw, 5247), CAPWAP()], ethernet(draw, content)


def mpls_udp(draw: DrawFn, content: Stack) -> Wrapped:
    below = build(labels(draw), content)
    return [over_udp(draw, 6635)], replace(below, layers=(("mpls_udp", 0), *below.layers[1:]))


def pim_register(draw: DrawFn, content: Stack) -> Wrapped:
    return [PIMv2Hdr(type=1), PIMRegister()], content.tagged("raw")


def icmp_error(draw: DrawFn, content: Stack) -> Wrapped:
    kind = draw(st.sampled_from([3, 4, 11, 12]))
    return [ICMP(type=kind, code=0)], content.quoted()


def icmpv6_error(draw: DrawFn, content: Stack) -> Wrapped:
    return [ICMPv6TimeExceeded()], content.quoted()


class Tunnel(NamedTuple):
    outer: frozenset[int]
    inner: frozenset[int]
    wrap: Callable[[DrawFn, Stack], Wrapped]


TUNNELS = {
    "ip in ip": Tunnel(BOTH, BOTH, lambda draw, content: ([], content)),
    "gre": Tunnel(BOTH, BOTH, gre_ip),
    "gre, ethernet": Tunnel(BOTH, BOTH, gre_ethernet),
    "gre, mpls": Tunnel(BOTH, BOTH, gre_mpls),
    "gre, nsh": Tunnel(BOTH, BOTH, gre_nsh),
    "gre, pptp": Tunnel(BOTH, BOTH, pptp),
    "erspan I": Tunnel(BOTH, BOTH, erspan1),
    "erspan II": Tunnel(BOTH, BOTH, erspan2),
    "erspan III": Tunnel(BOTH, BOTH, erspan3),
    "vxlan": Tunnel(BOTH, BOTH, vxlan),
    "vxlan, reserved bits": Tunnel(BOTH, BOTH, vxlan_reserved),
    "vxlan-gpe": Tunnel(BOTH, BOTH, vxlan_gpe),
    "vxlan-gpe, nsh": Tunnel(BOTH, BOTH, vxlan_nsh),
    "geneve": Tunnel(BOTH, BOTH, geneve),
    "gtp": Tunnel(BOTH, BOTH, gtp),
    "gtp, ethernet": Tunnel(BOTH, BOTH, gtp_ethernet),
    "teredo": Tunnel(BOTH, V6, teredo),
    "l2tp": Tunnel(BOTH, BOTH, l2tp),
    "lisp": Tunnel(BOTH, BOTH, lisp),
    "capwap": Tunnel(BOTH, BOTH, capwap),
    "mpls in ip": Tunnel(BOTH, BOTH, lambda draw, content: (labels(draw), content)),
    "mpls over udp": Tunnel(BOTH, BOTH, mpls_udp),
    "pim register": Tunnel(BOTH, BOTH, pim_register),
    "icmp error": Tunnel(V4, V4, icmp_error),
    "icmpv6 error": Tunnel(V6, V6, icmpv6_error),
}

# --- Strategies: frames ---


def choose(draw: DrawFn, piece: str | None, names: Iterable[str]) -> str:
    names = sorted(names)
    return piece if piece in names else draw(st.sampled_from(names))


def networks(versions: frozenset[int]) -> list[str]:
    return [name for name, network in NETWORKS.items() if network.version in versions]


def tunnels(draw: DrawFn, piece: str | None) -> list[str]:
    names = draw(st.lists(st.sampled_from(sorted(TUNNELS)), max_size=2))
    if piece in TUNNELS:
        names[draw(st.integers(0, len(names))) :] = [piece]
    return names


def network_headers(draw: DrawFn, name: str, tunnel: str) -> list[Packet]:
    """Draws the IP header and its extensions, inside `tunnel`; Teredo is recognised by the source
    address."""
    headers = NETWORKS[name].headers(draw)
    if tunnel == "teredo":
        headers[0].src = "2001::1"
    return headers


@st.composite
def frames(draw: DrawFn, piece: str | None = None) -> Stack:
    """Draws a frame that contains `piece`: a link, tunnel, kind of IP header or transport."""
    outside, versions = tunnels(draw, piece), BOTH
    networks_outside = []
    for name in outside:
        tunnel = TUNNELS[name]
        assume(versions & tunnel.outer)
        network = choose(draw, piece, networks(versions & tunnel.outer))
        networks_outside.append(network)
        versions = tunnel.inner

    fitting = [name for name, kind in TRANSPORTS.items() if kind.versions & versions]
    transport = choose(draw, piece, fitting)
    assume(piece not in TRANSPORTS or transport == piece)
    versions &= TRANSPORTS[transport].versions
    names = networks(versions)
    if TRANSPORTS[transport].alone:
        names = [name for name in names if name in ("ip", "ipv6")]
    inside = choose(draw, piece, names)
    assume(piece not in NETWORKS or piece in (*networks_outside, inside))

    around = ["", *outside]
    content = packet(draw, network_headers(draw, inside, around.pop()), transport)
    for network in reversed(networks_outside):
        headers, content = TUNNELS[outside.pop()].wrap(draw, content)
        content = build([*network_headers(draw, network, around.pop()), *headers], content)
    link = LINKS[choose(draw, piece, LINKS)]
    return replace(link.frame(draw, content), link=link.number)


PIECES = [*LINKS, *TUNNELS, *NETWORKS, *TRANSPORTS]
assert len(set(PIECES)) == len(PIECES)
