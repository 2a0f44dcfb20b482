# SPDX-License-Identifier: MIT
"""Checksums of packets and captures: right, wrong, or just offloaded?

    >>> import libcarry
    >>> report = libcarry.check("trace.pcap")
    >>> report.ok
    True
    >>> hex(libcarry.checksum(header))
    '0xb1e6'

Checksums are numbers as packets show them: store 0xb1e6 as the bytes b1 e6. Partial sums are
opaque numbers: pass them to sum(), combine() or finish().
"""

from ._carry import (
    CAUSES,
    PROTOCOLS,
    REASONS,
    VERDICTS,
    CaptureDamaged,
    CaptureError,
    Finding,
    NotACapture,
    PacketSum,
    PacketSums,
    Table,
    __version__,
    checksum,
    checksum_many,
    combine,
    copy_sum,
    crc32c,
    finish,
    finish_nonzero,
    knows_link,
    pseudo4,
    pseudo6,
    schema,
    sum,
    sum_many,
    update,
)
from .captures import (
    Damage,
    Findings,
    Frame,
    FrameBatch,
    Repairs,
    Report,
    check,
    fix,
    frame_batches,
    frames,
)
from .packets import (
    packet_check,
    packet_check_many,
    packet_fill,
    packet_fill_many,
    packet_fix,
    packet_fix_many,
)

__all__ = [
    "CAUSES",
    "PROTOCOLS",
    "REASONS",
    "VERDICTS",
    "CaptureDamaged",
    "CaptureError",
    "Damage",
    "Finding",
    "Findings",
    "Frame",
    "FrameBatch",
    "NotACapture",
    "PacketSum",
    "PacketSums",
    "Repairs",
    "Report",
    "Table",
    "__version__",
    "check",
    "checksum",
    "checksum_many",
    "combine",
    "copy_sum",
    "crc32c",
    "finish",
    "finish_nonzero",
    "fix",
    "frame_batches",
    "frames",
    "knows_link",
    "packet_check",
    "packet_check_many",
    "packet_fill",
    "packet_fill_many",
    "packet_fix",
    "packet_fix_many",
    "pseudo4",
    "pseudo6",
    "schema",
    "sum",
    "sum_many",
    "update",
]
