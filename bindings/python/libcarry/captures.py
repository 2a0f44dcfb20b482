# SPDX-License-Identifier: MIT
"""Checks captures, reads their frames, and repairs them."""

from __future__ import annotations

import copyreg
import html
import json
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from . import _carry
from ._carry import Finding, PacketSum, PacketSums, Table
from .packets import flag_bits, packet_check, packet_check_many, selected_verdicts, verdict_set
from .sources import open_capture, open_target, printable, status_of, writer_of

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ._types import Path, Progress, Source, Writable

TableName = Literal["files", "counts", "findings"]
BATCH_PACKETS = 4096
BATCH_BYTES = 1 << 20
MOST_FINDINGS = 0x7FFFFFFF
MOST_THREADS = 256

# Styles that a notebook lacks. The page's bars and captions need more styles, so they are hidden.
_STYLE = """<style>
.libcarry .share, .libcarry caption { display: none }
.libcarry h2 { font-size: 1em; margin: 1em 0 .3em }
.libcarry th[scope=row] { text-align: left }
.libcarry td.number { text-align: right }
.libcarry .good { color: #1a7f37 }
.libcarry .partial { color: #8a5a00 }
.libcarry .bad { color: #c21c28 }
</style>"""


@dataclass(frozen=True, slots=True)
class Damage:
    """The offset from which on a capture could not be read, and the reason."""

    offset: int  # bytes of the capture, uncompressed, before the damage
    reason: str  # one line


def _reduce(error: _carry.CaptureError) -> tuple[Any, ...]:
    """Reduces an error for pickle, which transfers exceptions between processes. Drops the
    report."""
    return type(error), error.args, vars(error) | {"report": None}


for _class in (_carry.CaptureError, _carry.CaptureDamaged, _carry.NotACapture):
    copyreg.pickle(_class, _reduce)


class Findings(Sequence[Finding]):
    """The checksums that a report lists, in the order of the packets. `total` also counts the
    checksums that were not kept because of the limit."""

    def __init__(self, result: _carry.Result) -> None:
        self._result = result

    @property
    def total(self) -> int:
        """The number of listed checksums, including those that were not kept."""
        return self._result.listed()

    def __len__(self) -> int:
        return len(self._result)

    @overload
    def __getitem__(self, index: int) -> Finding: ...
    @overload
    def __getitem__(self, index: slice) -> list[Finding]: ...
    def __getitem__(self, index: int | slice) -> Finding | list[Finding]:
        if isinstance(index, slice):
            return [self._result[i] for i in range(*index.indices(len(self)))]
        return self._result[index]

    def __repr__(self) -> str:
        kept = "" if len(self) == self.total else f", the first of {self.total:,}"
        return f"<{len(self):,} findings{kept}>"


class Report:
    """The results of a check of one capture.

    `print(report)` shows what `carry check` prints; a notebook shows its tables. `report.findings`
    are named tuples. Consumers of Arrow read the findings without a Python object for each:
    `pyarrow.table(report)`, `polars.DataFrame(report)`, or DuckDB's `from report`.
    `report.table(name)` returns other tables.
    A report never changes, and threads may share it.
    """

    def __init__(self, result: _carry.Result) -> None:
        self._result = result
        self._data: dict[str, Any] = json.loads(result.json())

    # --- Summary ---

    @property
    def name(self) -> str:
        """The name of the capture."""
        return cast(str, self._data["file"])

    @property
    def packets(self) -> int:
        """The number of packets that were read."""
        return cast(int, self._data["packets"])

    @property
    def bytes(self) -> int:
        """The number of captured bytes of these packets."""
        return cast(int, self._data["bytes"])

    @property
    def ok(self) -> bool:
        """True if no checksum is wrong, some were checked, and all of the capture was read."""
        return self.status == "clean"

    @property
    def status(self) -> str:
        """The status: clean, wrong or unchecked; damaged if not all was read."""
        return self._result.status()

    @property
    def outcome(self) -> str:
        """The status in words: '4 bad and 1 illegal checksums'."""
        return self._result.outcome()

    @property
    def complete(self) -> bool:
        """True if everything was examined and verifiable, as `carry check --strict` demands."""
        return self._result.complete()

    @property
    def damage(self) -> Damage | None:
        """The place of the damage in the capture; None if all was read."""
        damage = self._data["damage"]
        return Damage(damage["offset"], damage["reason"]) if damage else None

    # --- Details ---

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """The numbers of checksums by protocol and verdict."""
        return cast(dict[str, dict[str, int]], self._data["protocols"])

    @property
    def reasons(self) -> dict[str, dict[str, int]]:
        """The numbers of unverifiable checksums by protocol and reason."""
        return cast(dict[str, dict[str, int]], self._data["reasons"])

    @property
    def causes(self) -> dict[str, dict[str, int]]:
        """The numbers of checksums with a known cause, by protocol and cause."""
        return cast(dict[str, dict[str, int]], self._data["causes"])

    @property
    def senders(self) -> dict[str, dict[str, list[dict[str, Any]]]]:
        """The top senders of bad, partial or illegal checksums, by protocol and verdict."""
        return cast(dict[str, dict[str, list[dict[str, Any]]]], self._data["senders"])

    @property
    def findings(self) -> Findings:
        """The listed checksums: their verdicts are in `listed` of check(), by default in
        `wrong`."""
        return Findings(self._result)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Returns the object that `carry check --json` prints."""
        return cast(dict[str, Any], json.loads(self._result.json()))

    # --- Tables ---

    def table(self, name: TableName = "findings") -> Table:
        """Returns a table for consumers of Arrow's C interface."""
        return self._result.table(name)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table().__arrow_c_stream__(requested_schema)

    def to_arrow(self, table: TableName = "findings") -> pyarrow.Table:
        """Returns a table as a `pyarrow.Table`."""
        import pyarrow

        return pyarrow.table(self.table(table))

    def to_pandas(self, table: TableName = "findings") -> pandas.DataFrame:
        """Returns a table as a `pandas.DataFrame`; needs pyarrow too."""
        return self.to_arrow(table).to_pandas()

    def to_polars(self, table: TableName = "findings") -> polars.DataFrame:
        """Returns a table as a `polars.DataFrame`."""
        import polars

        return polars.DataFrame(self.table(table))

    # --- Text and pages for people ---

    def __str__(self) -> str:
        return self._result.text()

    def __repr__(self) -> str:
        return self._result.text().rstrip("\n")

    def _repr_html_(self) -> str:
        head = f"<p><b>{html.escape(self.name)}</b>: {html.escape(self.outcome)}</p>"
        return f'<div class="libcarry">{_STYLE}{head}{self._result.html()}</div>'


def _protocols(names: Iterable[str] | None) -> tuple[int, ...]:
    if names is None:
        return ()
    numbers = []
    for name in [names] if isinstance(names, str) else names:
        if name not in _carry.PROTOCOLS:
            raise ValueError(f"{name!r} is no protocol: use {', '.join(_carry.PROTOCOLS)}")
        numbers.append(_carry.PROTOCOLS.index(name))
    if not numbers:
        raise ValueError("no protocol is selected")
    return tuple(numbers)


def within(option: str, value: int, most: int) -> None:
    if not 0 <= value <= most:
        raise ValueError(f"{option} must be from 0 to {most:,}")


@contextmanager
def _progress_of(progress: Progress | bool | None, source: object) -> Iterator[Progress | None]:
    """Yields the function to call with the progress. True selects tqdm's bar, if tqdm is
    installed."""
    if not isinstance(progress, bool):
        yield progress
        return
    bar = _bar(source) if progress else None
    if bar is None:
        yield None
        return
    with bar:
        yield lambda position, _packets, _wrong: bar.update(position - bar.n)


def _bar(source: object) -> Any:  # noqa: ANN401
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    is_file = isinstance(source, str | os.PathLike) and os.path.isfile(source)
    total = os.path.getsize(cast(str, source)) if is_file else None
    return tqdm(total=total, unit="B", unit_scale=True, leave=False)


def check(
    source: Source,
    *,
    wrong: Iterable[str] = ("bad", "illegal"),
    listed: Iterable[str] | None = None,
    protocols: Iterable[str] | None = None,
    max_findings: int = 100_000,
    max_packets: int | None = None,
    threads: int = 0,
    reassemble: bool = True,
    tunnels: bool = True,
    udp6_zero_absent: bool = False,
    progress: Progress | bool | None = None,
    on_damage: Literal["raise", "report"] = "raise",
    name: str | None = None,
) -> Report:
    """Verifies every checksum of a capture.

    `source` is a path, a file object opened to read bytes, a URL that fsspec opens, such as
    s3://bucket/trace.pcap.zst, or the capture itself as bytes (also a memoryview or mmap): bytes
    are never a path. Formats and compression are recognised by content.

    Verdicts in `wrong` (of bad, partial and illegal) make the report's status 'wrong'. Checksums
    with a verdict in `listed` (by default the same verdicts) are its findings; at most
    `max_findings` are kept.

    `threads` is the number of threads; 0: one for each core. `progress` is called from time to time
    with the numbers of bytes of the file, packets, and wrong checksums so far; True shows tqdm's
    bar, if tqdm is installed. Ctrl-C ends the check.

    A damaged capture raises CaptureDamaged, whose `report` covers the packets before the damage;
    with on_damage='report', that report is returned. `name` is the name of the capture in the
    report (by default its path or URL).
    """
    if on_damage not in ("raise", "report"):
        raise ValueError(f"on_damage must be 'raise' or 'report', not {on_damage!r}")
    wrong_set = selected_verdicts(wrong)
    listed_set = wrong_set if listed is None else selected_verdicts(listed)
    selected = _protocols(protocols)
    if max_packets is not None and not 1 <= max_packets < 1 << 64:
        raise ValueError(f"max_packets must be from 1 to {(1 << 64) - 1:,}")
    within("max_findings", max_findings, MOST_FINDINGS)
    within("threads", threads, MOST_THREADS)
    flags = flag_bits(tunnels, udp6_zero_absent)
    raises = on_damage == "raise"
    with open_capture(source, name) as capture, _progress_of(progress, source) as function:
        try:
            result = capture.check(
                threads,
                wrong_set,
                listed_set,
                max_findings,
                max_packets or 0,
                flags,
                reassemble,
                selected,
                function,
                raises,
            )
        except _carry.CaptureError as error:
            error.report = None if error.report is None else Report(error.report)
            raise
    return Report(result)


# --- Frames ---


@dataclass(frozen=True, slots=True)
class Frame:
    """A packet of a capture, without its frame check sequence."""

    data: memoryview  # the bytes that were captured
    number: int  # the number of the packet, from 1
    time_ns: int  # nanoseconds since 1970, UTC; 0: unknown
    linktype: int  # the LINKTYPE_ number of the first header
    wire: int  # bytes that were on the wire

    def check(self) -> list[PacketSum]:
        """Calls packet_check() for this frame."""
        return packet_check(self.data, self.linktype, wire=self.wire)


class FrameBatch:
    """Packets of a capture in one buffer, for sum_many() and packet_check_many().

    `data` is bytes. `offsets`, `sizes`, `wires`, `numbers`, `times_ns` and `linktypes` are
    memoryviews of integers with one element for each packet.
    """

    __slots__ = ("data", "linktypes", "numbers", "offsets", "sizes", "times_ns", "wires")

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.data: bytes = parts[0]
        self.offsets: memoryview
        self.sizes: memoryview
        self.wires: memoryview
        self.numbers: memoryview
        self.times_ns: memoryview
        self.linktypes: memoryview
        _, self.offsets, self.sizes, self.wires, self.numbers, self.times_ns, self.linktypes = parts

    def __len__(self) -> int:
        return len(self.offsets)

    def __iter__(self) -> Iterator[Frame]:
        data = memoryview(self.data)
        rows = zip(
            self.offsets,
            self.sizes,
            self.numbers,
            self.times_ns,
            self.linktypes,
            self.wires,
            strict=True,
        )
        for offset, size, number, time_ns, linktype, wire in rows:
            yield Frame(data[offset : offset + size], number, time_ns, linktype, wire)

    def check(self) -> PacketSums:
        """Calls packet_check_many() for all frames, which must have the same link type."""
        linktypes = set(self.linktypes)
        if len(linktypes) > 1:
            raise ValueError(f"the frames have link types {sorted(linktypes)}: check them apart")
        return packet_check_many(
            self.data, self.offsets, self.sizes, linktypes.pop(), wires=self.wires
        )


def frame_batches(
    source: Source, *, packets: int = BATCH_PACKETS, size: int = BATCH_BYTES
) -> Iterator[FrameBatch]:
    """Yields the packets of a capture, many at once: at most `packets`, and about `size` bytes.

    A source that waits for a writer, such as a pipe, yields each packet as soon as it arrives. A
    damaged capture raises CaptureDamaged after the packets before the damage.
    """
    for name, value in (("packets", packets), ("size", size)):
        if not 1 <= value <= 1 << 30:
            raise ValueError(f"{name} must be from 1 to {1 << 30:,}")
    return _batches(source, packets, size)


def _batches(source: Source, packets: int, size: int) -> Iterator[FrameBatch]:
    with open_capture(source) as capture:
        while (parts := capture.batch(packets, size)) is not None:
            yield FrameBatch(parts)


def frames(source: Source) -> Iterator[Frame]:
    """Yields the packets of a capture, one by one; frame_batches() is faster.

    `source` is as in check(). The frames remain valid.
    """
    return (frame for batch in _batches(source, BATCH_PACKETS, BATCH_BYTES) for frame in batch)


# --- Repairing ---


class Repairs:
    """The results of fix(): the checksums that were repaired, and the checksums that were left."""

    def __init__(self, data: dict[str, Any]) -> None:
        self._data = data

    @property
    def packets(self) -> int:
        """The number of packets that were read."""
        return cast(int, self._data["packets"])

    @property
    def changed_packets(self) -> int:
        """The number of packets in which a checksum was repaired."""
        return cast(int, self._data["changed_packets"])

    @property
    def repaired(self) -> dict[str, dict[str, int]]:
        """The numbers of repaired checksums, by protocol and by their verdict before the repair."""
        return cast(dict[str, dict[str, int]], self._data["repaired"])

    @property
    def left(self) -> dict[str, dict[str, int]]:
        """The numbers of bad, partial and illegal checksums that were left, by protocol and by
        their verdict in the copy."""
        return cast(dict[str, dict[str, int]], self._data["left"])

    @property
    def damage(self) -> Damage | None:
        """The place of the damage in the capture; None if all was read. The copy holds the rest
        unchanged."""
        damage = self._data["damage"]
        return Damage(damage["offset"], damage["reason"]) if damage else None

    def to_dict(self) -> dict[str, Any]:
        """Returns the object that `carry fix --json` prints; `output` is None for a file object."""
        return self._data

    def __repr__(self) -> str:
        def total(counts: dict[str, dict[str, int]]) -> int:
            return sum(sum(verdicts.values()) for verdicts in counts.values())

        return (
            f"<{total(self.repaired):,} checksums repaired in {self.changed_packets:,} of "
            f"{self.packets:,} packets, {total(self.left):,} left>"
        )


def _is_same(source: os.stat_result | None, target: object) -> bool:
    """Checks whether the target is the source file, or the same pipe. A socket may be both source
    and target, since it has two directions."""
    there = status_of(target)
    if source is None or there is None or not os.path.samestat(source, there):
        return False
    return stat.S_ISREG(source.st_mode) or stat.S_ISFIFO(source.st_mode)


def _permissions(source: os.stat_result | None) -> int:
    """Returns the permissions of a copy: as for the source if it is a regular file, else 0o666."""
    if source is None or not stat.S_ISREG(source.st_mode):
        return 0o666
    return source.st_mode & 0o666


def fix(
    source: Source,
    target: Path | Writable | None,
    *,
    verdicts: Iterable[str] = (),
    tunnels: bool = True,
    udp6_zero_absent: bool = False,
    progress: Progress | bool | None = None,
) -> Repairs:
    """Writes a copy of a capture with repaired checksums; all other bytes of packets are unchanged.

    `target` is one of these:

    - a path: the file appears once it is complete, with the permissions of a source that is a file;
      a pipe or device is written to directly
    - a file object opened to write bytes, which gets them in order
    - None: nothing is written, and the result shows what would be repaired

    `verdicts` selects the checksums to repair (bad, partial and illegal ones by default):
    ('partial',) repairs what a network card fills in, and leaves real damage visible. A compressed
    capture is written uncompressed.
    """
    flags, fix_set = flag_bits(tunnels, udp6_zero_absent), verdict_set(verdicts)
    is_path = isinstance(target, str | os.PathLike)
    write = None if target is None or is_path else writer_of(target)
    status = status_of(source)
    with open_capture(source) as capture, _progress_of(progress, source) as function:
        if target is not None and _is_same(status, target):
            raise ValueError(f"{target}: the target is the source")
        if not is_path:
            return Repairs(json.loads(capture.fix(-1, write, flags, fix_set, function, None)))
        path = os.fsdecode(cast("Path", target))
        with open_target(path, _permissions(status)) as to:
            text = capture.fix(*to, flags, fix_set, function, printable(path))
        return Repairs(json.loads(text))
