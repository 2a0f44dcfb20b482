# SPDX-License-Identifier: MIT
"""Plans calls for the pieces of large captures, and makes rows of the results of the pieces."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import fsspec.config

from ..sources import is_url
from . import split, tasks, worker
from .listing import Capture, is_same, refreshed, with_digest
from .split import Piece, PieceResult

# The largest size of the related packets of all pieces: one process holds them in memory.
_RELATED_BYTES = 64 << 20
# The least and the largest number of pieces, each of which is a call.
_PIECES = (4, 256)


@dataclass(frozen=True, slots=True)
class Call:
    """A piece of a capture to check."""

    capture: Capture
    piece: Piece


@contextmanager
def _file(name: str) -> Iterator[Any]:
    with worker.open_remote(name) if is_url(name) else open(name, "rb") as file:
        yield file


def plan(capture: Capture, shared: tasks.Shared) -> tuple[Capture, list[Piece]]:
    """Returns the capture as it is now, and its pieces; no pieces if one worker should read it."""
    fsspec.config.conf.update(shared.storage)
    now = with_digest(refreshed(capture))
    least, most = _PIECES
    size = max(1, shared.split // least, (now.size or 0) // most)
    pieces = split.plan(now.label, now.size or 0, lambda: _file(now.name), size)
    return now, pieces if len(pieces) > 1 else []


def check(call: Call, shared: tasks.Shared) -> tuple[PieceResult, float]:
    """Checks a piece; repeats this if a store fails. Returns the result, and the time in
    seconds."""
    fsspec.config.conf.update(shared.storage)
    began = time.monotonic()
    options = shared.options
    for attempt in range(options.retries + 1):
        try:
            result = split.check_piece(
                call.piece, lambda: _file(call.capture.name), options.findings
            )
            return result, time.monotonic() - began
        except Exception:  # stores may raise anything
            if attempt == options.retries:
                raise
            worker.pause(options, attempt)
    raise AssertionError


@dataclass(slots=True)
class Gathered:
    """The results for one capture so far."""

    capture: Capture
    count: int
    results: list[PieceResult] = field(default_factory=list)
    seconds: float = 0.0
    related: int = 0
    problem: str | None = None  # the reason why one worker must read the capture

    def add(self, result: PieceResult, seconds: float) -> None:
        self.seconds += seconds
        self.related += len(result.related or b"")
        self.problem = self.problem or split.contradiction(result)
        if self.related > _RELATED_BYTES:
            self.problem = "too many packets are related to those of other pieces"
        self.results = [] if self.problem else [*self.results, result]

    @property
    def is_whole(self) -> bool:
        return len(self.results) == self.count

    def rows(self, findings: int | None) -> worker.Rows | None:
        """Returns the rows of the capture, or None if the pieces do not fit together or the capture
        has changed since they were planned."""
        try:
            whole = split.merge(self.results, findings)
            if not is_same(self.capture, refreshed(self.capture)):
                return None
        except (split.IndivisibleError, OSError):
            return None
        return worker.of_pieces(self.capture, whole, self.count, self.seconds)


def planned(plans: Sequence[tuple[Capture, list[Piece]]]) -> list[Call]:
    """Returns the calls for captures, piece by piece."""
    return [Call(capture, piece) for capture, pieces in plans for piece in pieces]
