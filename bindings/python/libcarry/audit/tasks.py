# SPDX-License-Identifier: MIT
"""Does the work of one call: checks a batch of captures, and writes a part of the tables."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

import fsspec.config

from .. import _carry
from . import worker
from .listing import Capture, one_line
from .store import Store, part_writer

# The meaning of a capture's status for the exit status, as in `carry check`.
CLEAN, WRONG, DAMAGED, FAILED = range(4)
GRAVITY = {
    "clean": CLEAN,
    "unchecked": CLEAN,
    "wrong": WRONG,
    "damaged": DAMAGED,
    "limit": DAMAGED,
    "changed": FAILED,
    "failed": FAILED,
}


def gravity(file: str, status: str, named: bool = False) -> int:
    """Returns the severity of a status. A file that is not a capture is DAMAGED if it has the name
    of a capture, or if a source names it."""
    if status == "not_capture":
        return DAMAGED if named or _carry.is_capture_name(file) else CLEAN
    return GRAVITY[status]


@dataclass(frozen=True, slots=True)
class Shared:
    """Settings that all calls share."""

    out: str
    folder: str  # the folder of the parts of this attempt
    partition: str | None
    options: worker.Options
    split: int  # size from which on a capture is read in pieces; 0: never
    storage: dict[str, dict[str, object]]  # options of stores, by protocol


@dataclass(frozen=True, slots=True)
class Batch:
    """The captures of one call."""

    part: str
    captures: tuple[Capture, ...]
    tries: int = 0  # attempts that ended the worker, or raised


@dataclass(slots=True)
class Outcome:
    """The results of a call's captures."""

    part: str
    captures: int = 0
    bytes: int = 0  # bytes of the files, as compressed
    packets: int = 0
    findings: int = 0
    failed: int = 0
    worst: int = CLEAN
    seconds: float = 0.0
    peak: int = 0  # peak memory of the worker, in bytes
    errors: list[str] = field(default_factory=list)  # a line for each failed capture
    problem: str | None = None  # the reason why nothing could be written

    def add(self, capture: Capture, rows: worker.Rows) -> None:
        status = rows.value("status")
        self.captures += 1
        self.bytes += capture.size or 0
        self.packets += rows.value("packets")
        self.findings += rows.value("findings")
        self.worst = max(self.worst, gravity(capture.label, status, capture.named))
        if GRAVITY.get(status) == FAILED:
            self.failed += 1
            self.errors.append(f"{capture.label}: {rows.value('error')}")


def write(part: str, shared: Shared, found: Iterable[tuple[Capture, worker.Rows]]) -> Outcome:
    """Writes the rows of captures as a part; returns the outcome."""
    began = time.monotonic()
    outcome = Outcome(part)
    with part_writer(Store(shared.out), shared.folder, part, shared.partition) as writer:
        for capture, rows in found:
            writer.add(rows)
            outcome.add(capture, rows)
    outcome.seconds = time.monotonic() - began
    outcome.peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    return outcome


def check(batch: Batch, shared: Shared) -> Outcome:
    """Checks the captures of a batch, one after the other, and writes their rows. Repeats this if
    the store of the tables fails. A capture that cannot be read gets a row with the reason."""
    fsspec.config.conf.update(shared.storage)
    for left in reversed(range(shared.options.retries + 1)):
        found = ((capture, worker.read(capture, shared.options)) for capture in batch.captures)
        try:
            return write(batch.part, shared, found)
        except OSError as error:
            problem = one_line(error)
        if left:
            worker.pause(shared.options, shared.options.retries - left)
    return Outcome(batch.part, problem=problem)
