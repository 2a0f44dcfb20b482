# SPDX-License-Identifier: MIT
"""Asserts in tests that the checksums of captures, frames, and packets of scapy and dpkt are right.

    from libcarry.testing import assert_checksums

    def test_reply(stack):
        assert_checksums(stack.reply(IP() / UDP() / b"ping"))

The message of a failure names the frame, the layer, the values and the cause.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, cast

from . import _carry
from .captures import Report, check
from .packets import ETHERNET, RAW_IP
from .sources import has_bytes

if TYPE_CHECKING:
    from ._carry import Finding
    from ._types import Buffer, Source

SHOWN = 10

# Block types of pcapng, the byte-order magic of a section, and its length for "unspecified"
# (draft-ietf-opsawg-pcapng).
_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_BYTE_ORDER, _ANY_SIZE = 0x1A2B3C4D, 2**64 - 1


# --- Packets of scapy and dpkt ---


def _scapy_linktype(packet: Any) -> int:  # noqa: ANN401
    from scapy.config import conf
    from scapy.layers.inet import IP
    from scapy.layers.inet6 import IPv6

    if isinstance(packet, IP | IPv6):
        return RAW_IP
    numbers = conf.l2types.layer2num
    dlt = next((numbers[base] for base in type(packet).__mro__ if base in numbers), None)
    if dlt is None:
        raise ValueError(f"scapy's {type(packet).__name__} begins no frame: give its link type")
    return cast(int, dlt)


def _dpkt_linktype(packet: Any) -> int:  # noqa: ANN401
    import dpkt

    if isinstance(packet, dpkt.ip.IP | dpkt.ip6.IP6):
        return RAW_IP
    if isinstance(packet, dpkt.sll.SLL):
        return 113
    if isinstance(packet, dpkt.sll2.SLL2):
        return 276
    if isinstance(packet, dpkt.loopback.Loopback):
        return 0
    if isinstance(packet, dpkt.ethernet.Ethernet):
        return ETHERNET
    raise ValueError(f"dpkt's {type(packet).__name__} begins no frame: give its link type")


def _is_packet(item: object) -> bool:
    """Checks whether `item` is a packet of scapy or dpkt, or of a class derived from theirs. A list
    of packets is not a packet."""
    modules = {base.__module__.partition(".")[0] for base in type(item).__mro__}
    return hasattr(type(item), "__bytes__") and not modules.isdisjoint({"scapy", "dpkt"})


def to_frame(packet: Any, linktype: int | None = None) -> tuple[bytes, int]:  # noqa: ANN401
    """Converts a packet of scapy or dpkt, or bytes, to the bytes of a frame and its link type.

    scapy fills in the checksums that are None, and dpkt the checksums that are 0: the frame holds
    the checksums that they would send. `linktype` is for bytes (1, Ethernet, by default), and for
    packets whose first layer does not imply a link type.
    """
    if _is_packet(packet) and hasattr(packet, "getlayer"):
        return bytes(packet), _scapy_linktype(packet) if linktype is None else linktype
    if _is_packet(packet):
        return bytes(packet), _dpkt_linktype(packet) if linktype is None else linktype
    view = memoryview(packet)
    if view.ndim != 1:
        raise TypeError(f"a frame has one dimension, not {view.ndim}")
    return bytes(view), ETHERNET if linktype is None else linktype


def to_capture(packets: Iterable[Any], linktype: int | None = None) -> bytes:
    """Converts packets to a capture in memory (pcapng), for check(), frames() and fix(); see
    to_frame()."""
    interfaces: dict[int, int] = {}
    blocks = [_block(_SECTION, struct.pack("=IHHQ", _BYTE_ORDER, 1, 0, _ANY_SIZE))]
    for packet in packets:
        frame, link = to_frame(packet, linktype)
        if not 0 <= link <= 0xFFFF:
            raise ValueError(f"linktype must be from 0 to {0xFFFF:,}")
        if link not in interfaces:
            interfaces[link] = len(interfaces)
            blocks.append(_block(_INTERFACE, struct.pack("=HHI", link, 0, 0)))
        head = struct.pack("=IIIII", interfaces[link], 0, 0, len(frame), len(frame))
        blocks.append(_block(_PACKET, head + frame))
    return b"".join(blocks)


def _block(kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    size = struct.pack("=I", len(body) + 12)
    return struct.pack("=I", kind) + size + body + size


# --- Assertions ---


def _endpoint(address: str | None, port: int | None) -> str:
    if address is None:
        return "?"
    if port is None:
        return address
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _describe(finding: Finding) -> str:
    digits = 8 if finding.protocol == "sctp" else 4
    expected = "not 0" if finding.expected is None else f"0x{finding.expected:0{digits}x}"
    text = (
        f"frame {finding.frame_number}: {finding.protocol} {finding.verdict}: "
        f"stored 0x{finding.stored:0{digits}x}, expected {expected}, "
        f"{_endpoint(finding.src_ip, finding.src_port)} -> "
        f"{_endpoint(finding.dst_ip, finding.dst_port)}"
    )
    if finding.cause:
        words = _carry.CAUSE_WORDS[_carry.CAUSES.index(finding.cause)]
        text += f"; {finding.cause}: it {words}"
    return text


def _lines(report: Report) -> Iterator[str]:
    yield f"{report.name}: {report.outcome}"
    for finding in report.findings[:SHOWN]:
        yield f"  {_describe(finding)}"
    if report.findings.total > SHOWN:
        yield f"  and {report.findings.total - SHOWN:,} more"


def _report_of(packets: Any, linktype: int | None, wrong: Iterable[str]) -> Report:  # noqa: ANN401
    if isinstance(packets, Report):
        return packets
    is_source = isinstance(packets, str | os.PathLike) or hasattr(packets, "read")
    if is_source and not _is_packet(packets):
        return check(cast("Source", packets), wrong=wrong, max_findings=SHOWN)
    if _is_packet(packets) or has_bytes(packets):
        packets = [packets]
    capture = to_capture(packets, linktype)
    return check(capture, wrong=wrong, max_findings=SHOWN, name="<packets>")


def assert_checksums(
    packets: Report | Source | Buffer | Iterable[Any],
    *,
    linktype: int | None = None,
    partial: bool = True,
    complete: bool = False,
) -> Report:
    """Raises AssertionError unless all checksums are right; its message names each frame, layer,
    value and cause. Returns the report.

    `packets` is a path, a URL or a file object of a capture, a Report, one packet (bytes, or an
    object of scapy or dpkt), or any number of packets. Bytes are a frame here, never a capture: for
    a capture in memory, pass the Report that check(data) returns. Without `partial`, a checksum
    that is left to a network card is wrong, too. With `complete`, nothing may be unverifiable or
    unexamined; otherwise, packets without any checksum pass.
    """
    wrong = ("bad", "illegal") if partial else ("bad", "illegal", "partial")
    report = _report_of(packets, linktype, wrong)
    if report.status in ("wrong", "damaged"):
        raise AssertionError("\n".join(_lines(report)))
    if complete and not report.complete:
        raise AssertionError(f"{report.name}: not all checksums could be verified\n{report}")
    return report
