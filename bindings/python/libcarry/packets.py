# SPDX-License-Identifier: MIT
"""Checks, repairs and fills in checksums of frames in memory."""

from __future__ import annotations

from collections.abc import Iterable

from . import _carry
from ._carry import PacketSum, PacketSums
from ._types import Buffer, Numbers

ETHERNET = 1
RAW_IP = 101
VERDICT_BITS = {name: 1 << number for number, name in enumerate(_carry.VERDICTS)}


def verdict_set(names: Iterable[str]) -> int:
    """Returns the set of bits for verdicts by name."""
    bits = 0
    for name in [names] if isinstance(names, str) else names:
        if name not in VERDICT_BITS:
            raise ValueError(f"{name!r} is no verdict: use {', '.join(_carry.VERDICTS)}")
        bits |= VERDICT_BITS[name]
    return bits


def selected_verdicts(names: Iterable[str]) -> int:
    """Returns the set of bits for at least one verdict. Raises ValueError for none: the library
    would use its default."""
    bits = verdict_set(names)
    if not bits:
        raise ValueError("no verdict is selected")
    return bits


def flag_bits(tunnels: bool, udp6_zero_absent: bool, ip_zero_partial: bool = False) -> int:
    """Returns the flags of struct carry_packet_options in <carry/packet.h>."""
    return (not tunnels) | udp6_zero_absent << 1 | ip_zero_partial << 2


def packet_check(
    frame: Buffer,
    linktype: int = ETHERNET,
    *,
    wire: int | None = None,
    tunnels: bool = True,
    udp6_zero_absent: bool = False,
    ip_zero_partial: bool = False,
) -> list[PacketSum]:
    """Finds the checksums of a frame and judges each, from the outermost header inwards.

    `linktype` is the LINKTYPE_ number of the first header: 1 for Ethernet, 101 for raw IP. `wire`
    is how many bytes were on the wire, if the capture cut the frame. Without `tunnels`, no IP
    header inside another is examined. With `udp6_zero_absent`, a UDP checksum of 0 over IPv6 is the
    sender's choice. With `ip_zero_partial`, the sender leaves the checksums of IPv4 headers to its
    network card.
    """
    flags = flag_bits(tunnels, udp6_zero_absent, ip_zero_partial)
    return _carry.packet_check(frame, linktype, wire, flags, 0)


def packet_fix(
    frame: Buffer,
    linktype: int = ETHERNET,
    *,
    wire: int | None = None,
    verdicts: Iterable[str] = (),
    tunnels: bool = True,
) -> list[PacketSum]:
    """Repairs the checksums of a frame in place; returns the changed ones as they were before.

    `frame` must be writable, such as a bytearray or a NumPy array. `verdicts` selects the checksums
    to repair (bad, partial and illegal ones by default).
    """
    return _carry.packet_fix(
        frame, linktype, wire, flag_bits(tunnels, False), verdict_set(verdicts)
    )


def packet_fill(
    frame: Buffer,
    linktype: int = ETHERNET,
    *,
    wire: int | None = None,
    verdicts: Iterable[str] = (),
    tunnels: bool = True,
) -> list[PacketSum]:
    """Fills in all checksums of a frame about to be sent, including absent ones. Otherwise works
    like packet_fix()."""
    return _carry.packet_fill(
        frame, linktype, wire, flag_bits(tunnels, False), verdict_set(verdicts)
    )


def packet_check_many(
    frames: Buffer,
    offsets: Numbers,
    sizes: Numbers,
    linktype: int = ETHERNET,
    *,
    wires: Numbers | None = None,
    tunnels: bool = True,
    udp6_zero_absent: bool = False,
    ip_zero_partial: bool = False,
) -> PacketSums:
    """Checks many frames in one buffer, like packet_check(): frame i has sizes[i] bytes, from
    offsets[i] on.

    The arrays hold integers of 4 or 8 bytes, such as NumPy arrays, array.array('Q'), or the members
    of a FrameBatch.
    """
    flags = flag_bits(tunnels, udp6_zero_absent, ip_zero_partial)
    return _carry.packet_check_many(frames, offsets, sizes, linktype, wires, flags, 0)


def packet_fix_many(
    frames: Buffer,
    offsets: Numbers,
    sizes: Numbers,
    linktype: int = ETHERNET,
    *,
    wires: Numbers | None = None,
    verdicts: Iterable[str] = (),
    tunnels: bool = True,
) -> PacketSums:
    """Repairs the checksums of many frames in one writable buffer, like packet_fix(). Returns the
    sums that changed."""
    flags, fix = flag_bits(tunnels, False), verdict_set(verdicts)
    return _carry.packet_fix_many(frames, offsets, sizes, linktype, wires, flags, fix)


def packet_fill_many(
    frames: Buffer,
    offsets: Numbers,
    sizes: Numbers,
    linktype: int = ETHERNET,
    *,
    wires: Numbers | None = None,
    verdicts: Iterable[str] = (),
    tunnels: bool = True,
) -> PacketSums:
    """Fills in the checksums of many frames in one writable buffer, like packet_fill(). Returns
    the sums that changed."""
    flags, fix = flag_bits(tunnels, False), verdict_set(verdicts)
    return _carry.packet_fill_many(frames, offsets, sizes, linktype, wires, flags, fix)
