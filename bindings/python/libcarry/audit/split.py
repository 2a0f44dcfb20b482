# SPDX-License-Identifier: MIT
"""Checks a large capture in pieces by several workers. The rows equal the rows of a single worker.

    pieces = plan(name, size, open_file, piece_size)
    results = [check_piece(piece, open_file, findings) for piece in pieces]  # anywhere
    whole = merge(results, findings)

No process reads all record headers first. The start of a piece is guessed from the bytes near the
intended boundary. A wrong guess is always found: some piece then does not end where its last record
ends. Packets that decide each other's verdicts are judged together, when the pieces are added up.
docs/explanation/scale.md explains why the rows are equal.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Protocol, cast

import pyarrow
import pyarrow.compute

from .. import _carry
from ..packets import selected_verdicts

if TYPE_CHECKING:
    from .._types import Progress

# WINDOW_BYTES are read to find a boundary in their first half. More than CHAIN_RECORDS records must
# follow each other from the boundary to the end of these bytes, unless the file ends there. The
# content of a packet may itself be a capture: its records form such a chain only if they end with
# the packet.
WINDOW_BYTES = 1 << 20
CHAIN_RECORDS = 16
HEAD_BYTES = 1 << 20  # read before the first packet

# Properties that the first record of a piece must have. At other offsets, a chain of records with
# all of them is unlikely. If a capture has packets without them, fewer pieces are found.
SNAPLEN_BYTES = 256 << 10  # the largest default of tcpdump and Wireshark
SECONDS_APART = 10 * 366 * 86_400  # largest distance from the time of the first packet

# Limits of capture/: CARRY_CAPTURE_PACKET_MAX, and FLOWS_MAX (the number of flows that are
# always counted separately).
PACKET_BYTES = 16 << 20
FLOWS = 256

# From this many bad checksums on, the causes that a flow shows may depend on whether a full table
# has dropped it.
FLOW_MAY_DIFFER = 2

# A piece with more bytes of related packets is not worth its cost.
RELATED_BYTES = 32 << 20

# The largest number of bad checksums of related packets whose flows are compared: memory holds a
# row of each. One worker that reads the whole capture needs no more memory for more bad checksums.
MOST_COMPARED = 100_000

_WRONG = selected_verdicts(("bad", "illegal"))
_FINDINGS_AT_FIRST = 10_000  # kept in a first check if all are requested


class File(Protocol):
    """The methods that the file of a capture must have."""

    def seek(self, offset: int, /) -> int: ...
    def read(self, size: int, /) -> bytes: ...


OpenFile = Callable[[], AbstractContextManager[File]]


class IndivisibleError(Exception):
    """Raised if the pieces cannot give the result of the whole, so that one worker must read the
    capture. The message gives the reason."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a capture, from the start of one record to the start of another."""

    name: str  # the name of the capture
    index: int
    count: int
    start: int
    end: int
    prefix: bytes  # headers that its records need; empty for the first piece, which contains them
    descriptions: int  # number of sections and interfaces in the prefix

    @property
    def is_last(self) -> bool:
        return self.index == self.count - 1

    @property
    def shift(self) -> int:
        """Returns the difference between offsets in the capture and offsets in the bytes read."""
        return self.start - len(self.prefix)


@dataclass(frozen=True, slots=True)
class PieceResult:
    """The result of one worker for a piece."""

    piece: Piece
    own: dict[str, pyarrow.Table]  # tables of packets judged alone; findings omit related packets
    related: bytes | None  # packets to be judged with packets of other pieces; None: too many
    descriptions: int

    def of_file(self, column: str) -> Any:  # noqa: ANN401
        """Returns a value of the row of *files*."""
        return self.own["files"][column][0].as_py()


@dataclass(frozen=True, slots=True)
class Whole:
    """The rows of a capture, as one worker would find them."""

    own: dict[str, pyarrow.Table]
    listed: int  # findings, including those not kept


# --- Records ---

# The size of a record whose end lies beyond the bytes read: larger than any record.
_CUT = 1 << 62


class _Format(Protocol):
    prefix: bytes
    descriptions: int
    first: int  # offset of the first packet
    step: int  # offsets of records are multiples of this number

    def begins(self, data: bytes, at: int) -> bool:
        """Checks whether a packet seems to begin at `at`."""
        ...

    def size(self, data: bytes, at: int) -> int:
        """Returns the size of the record at `at`: 0 if no record can be there, _CUT if its end is
        missing."""
        ...


# The formats of capture/magic.c, by magic number: bytes of a record's header, and ticks per second.
_PCAP = {0xA1B2C3D4: (16, 10**6), 0xA1B23C4D: (16, 10**9), 0xA1B2CD34: (24, 10**6)}


class _Pcap:
    step = 1
    descriptions = 0

    def __init__(self, head: bytes) -> None:
        self.prefix = head[:24]
        self.first = 24
        order = "<" if struct.unpack_from("<L", head)[0] in _PCAP else ">"
        magic, *version = struct.unpack_from(f"{order}LHH", head)
        self._header, self._ticks = _PCAP[magic]
        self._swaps = version < [2, 3] or version[0] == 543  # the two lengths are swapped
        self._words = struct.Struct(f"{order}LLLL")
        # The time of the first packet.
        self._seconds: int = self._words.unpack_from(head, self.first)[0]

    @staticmethod
    def knows(head: bytes) -> bool:
        return any(struct.unpack_from(f"{order}L", head)[0] in _PCAP for order in "<>")

    def begins(self, data: bytes, at: int) -> bool:
        return self.size(data, at) > 0

    def size(self, data: bytes, at: int) -> int:
        if len(data) - at < self._header:
            return _CUT
        seconds, fraction, captured, wire = self._words.unpack_from(data, at)
        if self._swaps:
            captured, wire = wire, captured
        if fraction >= self._ticks or not 0 < captured <= wire <= SNAPLEN_BYTES:
            return 0
        return self._header + captured if abs(seconds - self._seconds) <= SECONDS_APART else 0


_SECTION, _INTERFACE, _PACKETS = 0x0A0D0D0A, 1, (2, 3, 6)
_ORDERS = {b"\x4d\x3c\x2b\x1a": "<", b"\x1a\x2b\x3c\x4d": ">"}


class _Pcapng:
    step = 4

    def __init__(self, head: bytes) -> None:
        self._order = _ORDERS[head[8:12]]
        self.prefix = b""
        self.descriptions = 0
        self.first = 0
        while not self.begins(head, self.first) and self._describe(head):
            pass

    @staticmethod
    def knows(head: bytes) -> bool:
        return head[:4] == b"\x0a\x0d\x0d\x0a" and head[8:12] in _ORDERS

    def _describe(self, head: bytes) -> bool:
        """Skips a block before the first packet; returns False if there can be no block."""
        at, size = self.first, self.size(head, self.first)
        if size in (0, _CUT):
            return False
        if self._words(head, at, 1)[0] in (_SECTION, _INTERFACE):
            self.prefix += head[at : at + size]
            self.descriptions += 1
        self.first += size
        return True

    def _words(self, data: bytes, at: int, count: int) -> tuple[int, ...]:
        return struct.unpack_from(f"{self._order}{count}L", data, at)

    def begins(self, data: bytes, at: int) -> bool:
        return len(data) - at >= 12 and self._words(data, at, 1)[0] in _PACKETS

    def size(self, data: bytes, at: int) -> int:
        if len(data) - at < 12:
            return _CUT
        _, size = self._words(data, at, 2)
        if size % 4 or not 12 <= size <= PACKET_BYTES:
            return 0
        if len(data) - at < size:
            return _CUT
        return size if self._words(data, at + size - 4, 1)[0] == size else 0


def _format(head: bytes) -> _Format | None:
    """Returns the format of a capture that begins with `head`, or None if it cannot be split."""
    if len(head) < 48:
        return None
    if _Pcap.knows(head):
        return _Pcap(head)
    pcapng = _Pcapng(head) if _Pcapng.knows(head) else None
    return pcapng if pcapng and pcapng.begins(head, pcapng.first) else None


# --- Boundaries ---


def _read(file: File, start: int, size: int) -> bytes:
    """Returns `size` bytes from `start` on, or fewer at the end of the file."""
    file.seek(start)
    parts: list[bytes] = []
    while size and (data := file.read(size)):
        parts.append(data)
        size -= len(data)
    return b"".join(parts)


def _is_chain(data: bytes, at: int, form: _Format, is_end: bool, broken: set[int]) -> bool:
    """Checks whether records follow each other from `at` to the end of the bytes. If `is_end` (the
    file ends there), any number of complete records suffices. Otherwise, or if the last record is
    cut, there must be more than CHAIN_RECORDS. Adds offsets without such a chain to `broken`."""
    chain = []
    while at < len(data) and at not in broken and (size := form.size(data, at)):
        chain.append(at)
        at += size
    if at == len(data) and is_end:
        return True
    broken.update(chain)
    return at >= len(data) and len(chain) > CHAIN_RECORDS


def boundary(file: File, target: int, size: int, form: _Format) -> int | None:
    """Returns the first offset from `target` on where a packet seems to begin, or None."""
    start = target + -target % form.step
    data = _read(file, start, WINDOW_BYTES)
    is_end = start + len(data) >= size
    broken: set[int] = set()
    for at in range(0, min(len(data), WINDOW_BYTES // 2), form.step):
        if form.begins(data, at) and _is_chain(data, at, form, is_end, broken):
            return start + at
    return None


def _starts(file: File, size: int, form: _Format, piece_size: int) -> Iterator[int]:
    last = form.first
    yield 0
    for target in range(piece_size, size - piece_size // 2, piece_size):
        found = boundary(file, target, size, form)
        if found is not None and found > last:
            last = found
            yield found


def plan(name: str, size: int, open_file: OpenFile, piece_size: int) -> list[Piece]:
    """Returns the pieces of a capture, or no pieces if it is small, compressed, or in another
    format."""
    if size < 2 * piece_size:
        return []
    with open_file() as file:
        form = _format(_read(file, 0, HEAD_BYTES))
        starts = list(_starts(file, size, form, piece_size)) if form else []
    if form is None or len(starts) < 2:
        return []
    ends = [*starts[1:], size]
    return [
        Piece(
            name,
            index,
            len(starts),
            start,
            end,
            form.prefix if index else b"",
            form.descriptions,
        )
        for index, (start, end) in enumerate(zip(starts, ends, strict=True))
    ]


# --- A piece ---


class _Reader:
    """Reads the prefix of a piece, and then the piece."""

    def __init__(self, piece: Piece, file: File) -> None:
        self._piece = piece
        self._file = file
        self.rewind()

    def rewind(self) -> None:
        self._file.seek(self._piece.start)
        self._prefix = self._piece.prefix
        self._left = self._piece.end - self._piece.start

    def read(self, size: int) -> bytes:
        if self._prefix:
            data, self._prefix = self._prefix[:size], self._prefix[size:]
            return data
        data = self._file.read(min(size, self._left))
        if self._left and not data:
            raise OSError(f"the file ended {self._left:,} bytes before a piece of it")
        self._left -= len(data)
        return data


def _check(
    piece: Piece, open_file: OpenFile, kept: int, progress: Progress | None
) -> tuple[_carry.Result, PieceResult]:
    with open_file() as file:
        reader = _Reader(piece, file)
        capture = _carry.open_object(reader.read, piece.name, reader.rewind, 0)
        try:
            result, related = capture.check_part(_WRONG, _WRONG, kept, 0, RELATED_BYTES, progress)
            descriptions = capture.descriptions()
        finally:
            capture.close()
    return result, PieceResult(piece, _tables(result), related, descriptions)


def check_piece(
    piece: Piece, open_file: OpenFile, findings: int | None, progress: Progress | None = None
) -> PieceResult:
    """Checks each packet of a piece alone. Keeps at most `findings` findings; for all (None), it
    may read the piece twice. Raises what the file raises, and OSError if the file is too short."""
    kept = _FINDINGS_AT_FIRST if findings is None else findings
    result, found = _check(piece, open_file, kept, progress)
    if findings is None and len(result) == kept:
        result, found = _check(piece, open_file, result.listed(), progress)
    return found


def _tables(result: _carry.Result) -> dict[str, pyarrow.Table]:
    names = ("files", "counts", "findings")
    return {name: pyarrow.table(result.table(name)) for name in names}


# --- Counts ---

_Key = tuple[int, int, int, int]  # protocol, verdict, cause, reason: indices in _carry's tuples


def _counts(table: pyarrow.Table) -> Counter[_Key]:
    lists = (_carry.PROTOCOLS, _carry.VERDICTS, _carry.CAUSES, _carry.REASONS)
    columns = ("protocol", "verdict", "cause", "reason")
    counts: Counter[_Key] = Counter()
    for row in table.to_pylist():
        key = (
            0 if row[column] is None else names.index(row[column])
            for names, column in zip(lists, columns, strict=True)
        )
        counts[cast(_Key, tuple(key))] += row["checksums"]
    return counts


def _counts_table(name: str, counts: Counter[_Key]) -> pyarrow.Table:
    """Returns the table of counts in the order of _carry's numbers."""
    rows = [
        {
            "file": name,
            "protocol": _carry.PROTOCOLS[protocol],
            "verdict": _carry.VERDICTS[verdict],
            "reason": _carry.REASONS[reason] if reason else None,
            "cause": _carry.CAUSES[cause] if cause else None,
            "checksums": count,
        }
        for (protocol, verdict, cause, reason), count in sorted(counts.items())
        if count
    ]
    return pyarrow.Table.from_pylist(rows, pyarrow.schema(_carry.schema("counts")))


def _outcome(verdicts: Counter[str]) -> str:
    if _count_wrong(verdicts):
        return "wrong"
    return "clean" if verdicts["good"] + verdicts["partial"] else "unchecked"


def _count_wrong(verdicts: Counter[str]) -> int:
    return verdicts["bad"] + verdicts["illegal"]


# --- Related packets ---


class _Related:
    """The related packets of all pieces, with two counts of their checksums: if the packets are
    judged together, and if each packet is judged alone."""

    def __init__(self, results: Sequence[PieceResult]) -> None:
        self._name = results[0].piece.name
        self._parts = [
            (cast(bytes, result.related), packets, result.piece.shift)
            for result, packets in zip(results, _packets_before(results), strict=True)
        ]
        alone, together = self._check(0, alone=True), self._check(0)
        self._counts_alone = pyarrow.table(alone.table("counts"))
        self._counts_together = pyarrow.table(together.table("counts"))
        if _flow_causes(self._counts_together) != _flow_causes(self._counts_alone):
            raise IndivisibleError("bad checksums of a flow may have one cause")
        if together.listed() > MOST_COMPARED:
            raise IndivisibleError(f"more than {MOST_COMPARED:,} bad checksums may belong to flows")
        if together.listed() > FLOWS and _may_show_flows(self.findings(together.listed())):
            raise IndivisibleError(f"more than {FLOWS} flows have bad checksums")

    def _check(self, kept: int, *, alone: bool = False) -> _carry.Result:
        return _carry.check_related(self._parts, _WRONG, _WRONG, kept, 0, alone, self._name)

    def change(self, counts: Counter[_Key]) -> None:
        """Replaces the counts of packets judged alone with the counts of packets judged
        together."""
        counts.update(_counts(self._counts_together))
        counts.subtract(_counts(self._counts_alone))

    def findings(self, kept: int) -> pyarrow.Table:
        return pyarrow.table(self._check(kept).table("findings"))


def _flow_causes(counts: pyarrow.Table) -> Counter[_Key]:
    """Returns the counts of causes that flows may show; a packet alone may show some of them."""
    causes = pyarrow.array(_carry.FLOW_CAUSES.split(), pyarrow.string())
    shown = pyarrow.compute.is_in(counts["cause"], value_set=causes)
    return _counts(counts.filter(shown))


def _may_show_flows(findings: pyarrow.Table) -> bool:
    """Checks whether there are more flows than a table of the library holds, and a flow with at
    least FLOW_MAY_DIFFER bad sums. The flows that the table drops then depend on the order of all
    packets, and so do the causes that a flow, or the pair of its addresses, shows. A bad sum may be
    part of a flow if it has no cause, or the cause "one_bit", "twice", "zero" or
    "address_changed"."""
    compute = pyarrow.compute
    causes = pyarrow.array([None, "one_bit", "twice", "zero", "address_changed"], pyarrow.string())
    bad = findings.filter(compute.is_in(findings["cause"], value_set=causes))
    flow = ["protocol", "src_ip", "dst_ip", "src_port", "dst_port"]
    if len(bad.group_by(flow).aggregate([])) <= FLOWS:
        return False
    sums = bad.group_by(flow).aggregate([([], "count_all")])
    return bool(compute.max(sums["count_all"]).as_py() >= FLOW_MAY_DIFFER)


# --- All pieces ---


def _packets_before(results: Sequence[PieceResult]) -> list[int]:
    """Returns the number of packets of the capture before each piece."""
    packets = (result.of_file("packets") for result in results[:-1])
    return list(accumulate(packets, initial=0))


def contradiction(result: PieceResult) -> str | None:
    """Returns the reason why a piece cannot give the capture's result, so that the other pieces are
    useless. Returns None if it can."""
    if result.related is None:
        return f"more than {RELATED_BYTES >> 20} MiB of packets are related to others"
    if result.descriptions != result.piece.descriptions:
        return "it describes sections or interfaces"
    if not result.piece.is_last and result.of_file("status") == "damaged":
        return f"damaged: {result.of_file('damage_reason')}"
    return None


def _check_that_pieces_fit(results: Sequence[PieceResult]) -> None:
    """Checks that the pieces fit together. By induction: if a piece begins with a record and
    contains whole records, so does the next piece."""
    places = [result.piece.index for result in results]
    if places != list(range(results[0].piece.count)):
        raise ValueError(f"pieces {places} are not all of {results[0].piece.count}")
    for result in results:
        if reason := contradiction(result):
            piece = result.piece
            raise IndivisibleError(f"piece {piece.index + 1} of {piece.count}: {reason}")


def _shift_findings(result: PieceResult, packets: int) -> pyarrow.Table:
    """Returns the findings of a piece with frame numbers and offsets in the whole capture."""
    table = result.own["findings"]
    for name, more in (("frame_number", packets), ("file_offset", result.piece.shift)):
        moved = pyarrow.compute.add(table[name], pyarrow.scalar(more, pyarrow.uint64()))
        table = _set_column(table, name, moved)
    return table


def _set_column(table: pyarrow.Table, name: str, column: Any) -> pyarrow.Table:  # noqa: ANN401
    at = table.schema.get_field_index(name)
    return table.set_column(at, table.schema.field(at), column)


def _findings(
    results: Sequence[PieceResult], related: pyarrow.Table, findings: int | None
) -> pyarrow.Table:
    """Returns the first `findings` findings (None: all), in the order of frames. `related` has the
    findings of related packets."""
    pieces = [
        _shift_findings(result, packets)
        for result, packets in zip(results, _packets_before(results), strict=True)
    ]
    table = pyarrow.concat_tables([*pieces, related]).sort_by("frame_number")
    return table.slice(0, findings).combine_chunks()


def _files(results: Sequence[PieceResult], status: str) -> pyarrow.Table:
    compute = pyarrow.compute
    last = results[-1]
    table = last.own["files"]
    all_rows = pyarrow.concat_tables([result.own["files"] for result in results])
    values: dict[str, Any] = {"size": last.piece.end}
    if last.of_file("status") == "damaged":
        values["damage_offset"] = last.of_file("damage_offset") + last.piece.shift
    else:
        values["status"] = status
    for name in ("packets", "bytes"):
        values[name] = compute.sum(all_rows[name]).as_py()
    for name, value in values.items():
        table = _set_column(table, name, pyarrow.array([value], table.schema.field(name).type))
    for name, which in (("first_time", "min"), ("last_time", "max")):
        time = compute.min_max(all_rows[name].cast("int64"))[which].as_py()
        table = _set_column(table, name, pyarrow.array([time], table.schema.field(name).type))
    return table


def merge(results: Sequence[PieceResult], findings: int | None) -> Whole:
    """Returns the rows of a capture whose pieces were all checked with the limit `findings`. Raises
    IndivisibleError if they do not give the capture's result."""
    results = sorted(results, key=lambda result: result.piece.index)
    _check_that_pieces_fit(results)
    related = _Related(results)
    counts: Counter[_Key] = Counter()
    for result in results:
        counts.update(_counts(result.own["counts"]))
    related.change(counts)
    verdicts = Counter[str]()
    for (_, verdict, _, _), count in counts.items():
        verdicts[_carry.VERDICTS[verdict]] += count
    listed = _count_wrong(verdicts)
    kept = max(_FINDINGS_AT_FIRST, listed) if findings is None else findings
    own = {
        "files": _files(results, _outcome(verdicts)),
        "counts": _counts_table(results[0].piece.name, counts),
        "findings": _findings(results, related.findings(kept), findings),
    }
    return Whole(own, listed)
