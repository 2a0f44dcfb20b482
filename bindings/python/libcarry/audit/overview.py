# SPDX-License-Identifier: MIT
"""Sums up an audit from its tables, in memory that does not grow with the audit.

Tables are read in batches, and each batch is summed up at once. The results are bounded: only a
limited number of folders, senders and captures is counted separately.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import pyarrow
import pyarrow.compute as compute

from .. import _carry
from . import tables
from .dataset import Batch, Column, Filter, First, Row, Tables, counted, folders_of, sums
from .words import WRONG

# Values of files.status, the most serious first.
STATUSES = ("wrong", "damaged", "failed", "changed", "limit", "not_capture", "unchecked", "clean")
NOT_READ = ("failed", "changed", "limit", "not_capture")

FOLDERS_MAX = 10_000  # counted separately while tables are read
FOLDERS_DETAILED = 30  # shown with a list of captures
CAPTURES_IN_FOLDER = 10
CAPTURES_DETAILED = 100
FINDINGS_SHOWN = 5  # number of findings listed for each capture
SENDERS_MAX = 20_000  # counted separately while tables are read
SENDERS_SHOWN = 20
TROUBLES_SHOWN = 50
SPANS_MAX = 100
VERSIONS_MAX = 10

# The number of captures whose times are kept in memory at once. With more captures, *counts* is
# read several times.
_TIMES_MAX = 500_000
_SAMPLES_MAX = 4_096

# The units of time in seconds, from the shortest: the first unit that gives few spans is used.
_UNITS = {"minute": 60, "hour": 3600, "day": 86_400, "month": 2_629_746, "year": 31_556_952}

Verdicts: TypeAlias = Counter[str]


@dataclass(slots=True)
class Folder:
    """The captures of a folder."""

    captures: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    verdicts: Verdicts = field(default_factory=Counter)

    def add(self, other: Folder) -> None:
        self.captures += other.captures
        self.statuses.update(other.statuses)
        self.verdicts.update(other.verdicts)

    @property
    def wrong(self) -> int:
        return sum(self.verdicts[verdict] for verdict in WRONG)


@dataclass(slots=True)
class Sender:
    """A sender of bad and illegal checksums, by the findings that were kept."""

    address: str | None
    checksums: int = 0
    captures: int = 0
    causes: Counter[tuple[str, str, str | None]] = field(default_factory=Counter)


@dataclass(slots=True)
class Capture:
    """A row of *files*, with the capture's rows of *counts* and its first rows of *findings*."""

    row: Row
    counts: list[Row] = field(default_factory=list)
    findings: list[Row] = field(default_factory=list)


@dataclass(slots=True)
class Overview:
    """The content of the text and the page of an audit."""

    destination: str
    captures: int = 0
    packets: int = 0
    bytes: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    misnamed: int = 0  # files with names of captures that are not captures
    versions: set[str] = field(default_factory=set)
    counts: Counter[tuple[str, str, str | None, str | None]] = field(default_factory=Counter)
    begin: datetime.datetime | None = None  # time of the first packet in the earliest capture
    end: datetime.datetime | None = None  # time of the first packet in the latest capture
    unit: str = "day"
    spans: dict[datetime.datetime, Verdicts] = field(default_factory=dict)
    timeless: Verdicts = field(default_factory=Counter)
    timeless_captures: int = 0
    folders: dict[str, Folder] = field(default_factory=dict)
    # The most slashes in a counted folder: folders with more are counted in the folder above them.
    # None: no limit; negative: all are counted as one.
    depth: int | None = None
    detailed: dict[str, list[Row]] = field(default_factory=dict)  # the captures of some folders
    shown: dict[str, Capture] = field(default_factory=dict)
    damaged: list[Row] = field(default_factory=list)
    not_read: list[Row] = field(default_factory=list)
    worst: list[Row] = field(default_factory=list)  # captures that are not clean
    senders: list[Sender] = field(default_factory=list)
    senders_more: int = 0
    senders_exact: bool = True
    findings: int = 0  # wrong checksums that the audit kept

    @property
    def verdicts(self) -> Verdicts:
        return _sum_by(self.counts, lambda key: key[1])

    @property
    def wrong(self) -> int:
        return sum(self.verdicts[verdict] for verdict in WRONG)


def rate(verdicts: Verdicts) -> float | None:
    """Returns the rate of corruption: the share of bad checksums among good and bad ones. Returns
    None if there are neither. Partial, absent and unverifiable checksums do not indicate
    corruption."""
    judged = verdicts["good"] + verdicts["bad"]
    return verdicts["bad"] / judged if judged else None


def _sum_by(counts: Counter[Any], key: Callable[[Any], Any]) -> Counter[Any]:
    summed: Counter[Any] = Counter()
    for each, count in counts.items():
        summed[key(each)] += count
    return summed


# --- Files ---

_FILES = ["file", "folder", "status", "packets", "bytes", "first_time", "findings"]
_FILES += ["damage_offset", "damage_reason", "error", "version"]


def _rank(row: Row) -> tuple[int, int, str]:
    """Returns the sort key of captures, worst first."""
    status = row["status"]
    place = STATUSES.index(status) if status in STATUSES else 0
    return -(row["findings"] or 0), place, row["file"]


def _worst_rows(table: Batch, most: int) -> list[Row]:
    """Returns the worst rows of a batch, in the order of _rank()."""
    place = compute.index_in(table["status"], value_set=pyarrow.array(STATUSES))
    ranked = table.append_column("place", compute.fill_null(place, 0))
    order = [("findings", "descending"), ("place", "ascending"), ("file", "ascending")]
    first = compute.select_k_unstable(ranked, k=min(most, len(ranked)), sort_keys=order)
    return table.take(first).to_pylist()  # type: ignore[no-any-return]


class _Files:
    """Sums up *files* in one pass."""

    def __init__(self, overview: Overview) -> None:
        self.overview = overview
        self._damaged: First[Row] = First(TROUBLES_SHOWN, lambda row: row["file"])
        self._not_read: First[Row] = First(
            TROUBLES_SHOWN, lambda row: (STATUSES.index(row["status"]), row["file"])
        )
        self._worst: First[Row] = First(CAPTURES_DETAILED, _rank)
        self.samples: list[str] = []  # names, evenly spread over the rows
        self._stride = 1
        self._until_sample = 0

    def add(self, table: Batch) -> None:
        to = self.overview
        to.captures += len(table)
        to.packets += compute.sum(table["packets"]).as_py() or 0
        to.bytes += compute.sum(table["bytes"]).as_py() or 0
        if len(to.versions) < VERSIONS_MAX:
            to.versions.update(compute.unique(table["version"]).to_pylist())
        to.timeless_captures += table["first_time"].null_count
        self._add_times(table["first_time"])
        for folder, status, count in counted(table, ("folder", "status")):
            to.statuses[status] += count
            place = _folder(to, folder)
            place.captures += count
            place.statuses[status] += count
        _join_folders(to)
        self._keep_first(self._damaged, table, ("damaged",))
        self._keep_first(self._not_read, table, NOT_READ)
        others = table.filter(compute.equal(table["status"], "not_capture"))["file"].to_pylist()
        to.misnamed += sum(map(_carry.is_capture_name, others))
        unclean = table.filter(compute.not_equal(table["status"], "clean"))
        if len(unclean):
            self._worst.add(_worst_rows(unclean, CAPTURES_DETAILED))
        self._sample(table["file"])

    def _add_times(self, times: Column) -> None:
        ends, to = compute.min_max(times).as_py(), self.overview
        if ends["min"] is not None:
            to.begin = min(to.begin or ends["min"], ends["min"])
            to.end = max(to.end or ends["max"], ends["max"])

    @staticmethod
    def _keep_first(kept: First[Row], table: Batch, statuses: Sequence[str]) -> None:
        found = table.filter(compute.is_in(table["status"], value_set=pyarrow.array(statuses)))
        kept.add(found.take(compute.sort_indices(found["file"])[: kept.most]).to_pylist())

    def _sample(self, names: Column) -> None:
        chosen = range(self._until_sample, len(names), self._stride)
        self.samples += names.take(pyarrow.array(chosen, pyarrow.int64())).to_pylist()
        self._until_sample += len(chosen) * self._stride - len(names)
        if len(self.samples) > _SAMPLES_MAX:
            self.samples = self.samples[::2]
            self._stride *= 2

    def finish(self) -> None:
        self.overview.damaged = self._damaged.get()
        self.overview.not_read = self._not_read.get()
        self.overview.worst = self._worst.get()


def _parent(folder: str) -> str:
    """Returns the folder that contains `folder`, or a root such as "s3://bucket" or "/data"
    itself."""
    above = folder.rpartition("/")[0]
    return folder if not above or above.endswith("/") else above


def _counted_folder(overview: Overview, folder: str) -> str:
    """Returns the folder that counts the captures of `folder`: itself, or a folder above it."""
    if overview.depth is None:
        return folder
    while folder.count("/") > overview.depth and _parent(folder) != folder:
        folder = _parent(folder)
    return folder if overview.depth >= 0 else ""


def _folder(overview: Overview, name: str) -> Folder:
    """Returns the entry that counts the captures of the folder `name`; creates it if needed."""
    name = _counted_folder(overview, name)
    if name not in overview.folders:
        overview.folders[name] = Folder()
    return overview.folders[name]


def _join_folders(overview: Overview) -> None:
    """Adds the counts of the deepest folders to the counts of the folders above, until at most
    FOLDERS_MAX folders remain."""
    while len(overview.folders) > max(1, FOLDERS_MAX):
        depths = (name.count("/") for name in overview.folders if _parent(name) != name)
        overview.depth = max(depths, default=0) - 1
        folders: dict[str, Folder] = {}
        for name, folder in overview.folders.items():
            folders.setdefault(_counted_folder(overview, name), Folder()).add(folder)
        overview.folders = folders


# --- Counts ---


def _count(overview: Overview, table: Batch) -> None:
    keys = ("protocol", "verdict", "reason", "cause")
    for *key, checksums in sums(table, keys, "checksums"):
        protocol, verdict, reason, cause = key
        overview.counts[protocol, verdict, reason, cause] += checksums
    table = table.append_column("folder", folders_of(table["file"]))
    for folder, verdict, checksums in sums(table, ("folder", "verdict"), "checksums"):
        _folder(overview, folder).verdicts[verdict] += checksums


# --- Over time ---


def _unit(first: datetime.datetime, last: datetime.datetime) -> str:
    seconds = (last - first).total_seconds()
    fits = (unit for unit, length in _UNITS.items() if seconds / length < SPANS_MAX - 1)
    return next(fits, "year")


def _ranges(samples: list[str], captures: int) -> Iterator[Filter]:
    """Yields filters that divide the names into ranges of about equally many captures."""
    names, parts = sorted(samples), -(-captures // _TIMES_MAX)
    cuts = sorted({names[len(names) * part // parts] for part in range(1, parts)})
    file = compute.field("file")
    if not cuts:
        yield None
        return
    yield file < cuts[0]
    for low, high in pairwise(cuts):
        yield (file >= low) & (file < high)
    yield file >= cuts[-1]


def _sum_spans(overview: Overview, source: Tables, samples: list[str]) -> None:
    """Sums the verdicts of the captures that begin in each span of time."""
    if overview.begin is None or overview.end is None:
        overview.timeless = overview.verdicts
        return
    overview.unit = _unit(overview.begin, overview.end)
    for only in _ranges(samples, overview.captures):
        spans = _Spans(overview.unit)
        for table in source.batches("files", ("file", "first_time"), only):
            spans.learn(table)
        for table in source.batches("counts", ("file", "verdict", "checksums"), only):
            for time, verdict, checksums in spans.count(table):
                if time is None:
                    overview.timeless[verdict] += checksums
                else:
                    overview.spans.setdefault(time, Counter())[verdict] += checksums


class _Spans:
    """The spans of time in which captures begin. Names are kept as hashes, to save memory: each
    entry takes about 100 bytes."""

    def __init__(self, unit: str) -> None:
        self._unit = unit
        self._spans: dict[datetime.datetime, int] = {}
        self._span_of: dict[int, int] = {}

    def learn(self, table: Batch) -> None:
        times = compute.floor_temporal(table["first_time"], unit=self._unit)
        times = times.combine_chunks().dictionary_encode()
        places = [
            self._spans.setdefault(time, len(self._spans)) for time in times.dictionary.to_pylist()
        ]
        for name, code in zip(table["file"].to_pylist(), times.indices.to_pylist(), strict=True):
            if code is not None:
                self._span_of[hash(name)] = places[code]

    def count(self, table: Batch) -> Iterator[tuple[datetime.datetime | None, str, int]]:
        """Yields each span and verdict, with the number of checksums."""
        names = table["file"].combine_chunks().dictionary_encode()
        known = [self._span_of.get(hash(name)) for name in names.dictionary.to_pylist()]
        places = pyarrow.array(known, pyarrow.int32()).take(names.indices)
        times = [*self._spans]
        table = table.append_column("place", places)
        for place, verdict, checksums in sums(table, ("place", "verdict"), "checksums"):
            yield None if place is None else times[place], verdict, checksums


# --- Senders ---


class _Senders:
    """Counts the senders of findings. The rows of a capture are consecutive."""

    def __init__(self) -> None:
        self.senders: dict[str | None, Sender] = {}
        self.exact = True
        self.rows = 0
        self._file: str | None = None
        self._of_file: set[str | None] = set()  # senders in the last capture of the last batch

    def add(self, table: Batch) -> None:
        table = table.filter(compute.is_in(table["verdict"], value_set=pyarrow.array(WRONG)))
        self.rows += len(table)
        if not len(table):
            return
        keys = ("src_ip", "protocol", "verdict", "cause")
        for address, protocol, verdict, cause, count in counted(table, keys):
            sender = self.senders.get(address)
            if sender is None:
                sender = self.senders[address] = Sender(address)
            sender.checksums += count
            sender.causes[protocol, verdict, cause] += count
        last = table["file"][len(table) - 1].as_py()
        of_last: set[str | None] = set()
        for address, file, _ in counted(table, ("src_ip", "file")):
            known = file == self._file and address in self._of_file
            self.senders[address].captures += not known
            if file == last:
                of_last.add(address)
        self._of_file = of_last | self._of_file if last == self._file else of_last
        self._file = last
        if len(self.senders) > SENDERS_MAX:
            self._drop()

    def order(self) -> list[Sender]:
        """Returns the senders, from the most checksums to the fewest."""
        return sorted(self.senders.values(), key=lambda each: (-each.checksums, str(each.address)))

    def _drop(self) -> None:
        """Keeps only the SENDERS_MAX / 2 senders with the most checksums. If a dropped sender
        occurs again, its count starts at 0."""
        self.exact = False
        self.senders = {each.address: each for each in self.order()[: SENDERS_MAX // 2]}
        self._of_file &= self.senders.keys()


# --- Details of captures ---


def _is_any(column: str, names: list[str]) -> Filter:
    return compute.field(column).isin(pyarrow.array(names, pyarrow.string()))


def worst_folders(overview: Overview) -> list[str]:
    """Returns all folders, worst first: by wrong checksums, then by the number of captures that are
    not clean."""

    def key(item: tuple[str, Folder]) -> tuple[int, int, str]:
        name, folder = item
        return -folder.wrong, folder.statuses["clean"] - folder.captures, name

    return [name for name, _ in sorted(overview.folders.items(), key=key)]


def _detail_folders(overview: Overview, source: Tables) -> None:
    names = worst_folders(overview)[:FOLDERS_DETAILED]
    kept: dict[str, First[Row]] = {name: First(CAPTURES_IN_FOLDER, _rank) for name in names}
    only = _is_any("folder", names)
    for table in source.batches("files", _FILES, only):
        for name in compute.unique(table["folder"]).to_pylist():
            inside = table.filter(compute.equal(table["folder"], name))
            kept[name].add(_worst_rows(inside, CAPTURES_IN_FOLDER))
    overview.detailed = {name: each.get() for name, each in kept.items()}


def _detail_captures(overview: Overview, source: Tables) -> None:
    listed = [row for rows in overview.detailed.values() for row in rows]
    listed += overview.damaged + overview.not_read + overview.worst
    unclean = {row["file"]: row for row in listed if row["status"] != "clean"}
    for row in sorted(unclean.values(), key=_rank)[:CAPTURES_DETAILED]:
        overview.shown[row["file"]] = Capture(row)
    if not overview.shown:
        return
    only = _is_any("file", [*overview.shown])
    for table in source.batches("counts", tables.schema("counts").names, only):
        for row in table.to_pylist():
            overview.shown[row["file"]].counts.append(row)
    first: dict[str, First[Row]] = {
        name: First(FINDINGS_SHOWN, lambda row: row["frame_number"]) for name in overview.shown
    }
    for table in source.batches("findings", tables.schema("findings").names, only):
        for name in compute.unique(table["file"]).to_pylist():
            rows = table.filter(compute.equal(table["file"], name))
            first[name].add(rows.slice(0, FINDINGS_SHOWN).to_pylist())
    for name, kept in first.items():
        overview.shown[name].findings = kept.get()


def read(destination: str) -> Overview:
    """Returns the overview of the audit in a folder, or at a URL of fsspec."""
    source, overview = Tables(destination), Overview(destination)
    files, senders = _Files(overview), _Senders()
    for table in source.batches("files", _FILES):
        files.add(table)
    files.finish()
    for table in source.batches("counts", tables.schema("counts").names):
        _count(overview, table)
    _sum_spans(overview, source, files.samples)
    for table in source.batches("findings", ("file", "protocol", "verdict", "cause", "src_ip")):
        senders.add(table)
    ordered = senders.order()
    overview.senders, overview.findings = ordered[:SENDERS_SHOWN], senders.rows
    overview.senders_more = len(ordered) - len(overview.senders)
    overview.senders_exact = senders.exact
    _detail_folders(overview, source)
    _detail_captures(overview, source)
    return overview
