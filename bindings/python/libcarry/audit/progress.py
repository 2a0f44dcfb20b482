# SPDX-License-Identifier: MIT
"""Shows the progress of a job: as a line that is redrawn on a terminal, or as lines in a log."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import TextIO

from .tasks import Outcome

_REDRAW_SECONDS = 0.5
_LOG_SECONDS = 30.0
_UNITS = ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def size_text(size: float) -> str:
    """Returns a size in the format of the command."""
    for unit, name in _UNITS:
        if size >= unit:
            return f"{size / unit:.2f} {name}"
    return f"{size:.0f} bytes"


def time_text(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


class Progress:
    """Counts captures and bytes, and shows the counts on a stream inside a `with` block."""

    def __init__(self, stream: TextIO | None = None, is_quiet: bool = False) -> None:
        self._stream = stream or sys.stderr
        self._is_quiet = is_quiet
        self._is_terminal = self._stream.isatty()
        self._mutex = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)
        self._began = time.monotonic()
        self.captures = self.captures_done = 0
        self.bytes = self.bytes_done = 0
        self.findings = self.failed = 0

    def __enter__(self) -> Progress:
        if not self._is_quiet:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()
        self._clear()

    # --- Events of a job ---

    def say(self, text: str) -> None:
        if not self._is_quiet:
            with self._mutex:
                self._clear()
                print(f"carry audit: {text}", file=self._stream, flush=True)

    def expect(self, captures: int, size: int) -> None:
        if not self.captures:
            self._began = time.monotonic()
        self.captures += captures
        self.bytes += size

    def done(self, outcome: Outcome) -> None:
        self.captures_done += outcome.captures
        self.bytes_done += outcome.bytes
        self.findings += outcome.findings
        self.failed += outcome.failed
        for error in outcome.errors:
            self.say(error)

    # --- Output ---

    def line(self) -> str:
        """Returns text such as: 12 of 100 captures, 1.20 GB of 9.80 GB, 512.00 MB/s, 17 s left, 3
        wrong."""
        seconds = max(1e-9, time.monotonic() - self._began)
        rate = self.bytes_done / seconds
        parts = [
            f"{self.captures_done:,} of {self.captures:,} captures",
            f"{size_text(self.bytes_done)} of {size_text(self.bytes)}",
            f"{size_text(rate)}/s",
        ]
        if self.bytes_done:
            parts.append(f"{time_text((self.bytes - self.bytes_done) / rate)} left")
        for count, word in ((self.findings, "wrong"), (self.failed, "failed")):
            if count:
                parts.append(f"{count:,} {word}")
        return ", ".join(parts)

    def _show(self) -> None:
        while not self._end.wait(_REDRAW_SECONDS if self._is_terminal else _LOG_SECONDS):
            if not self.captures:
                continue
            with self._mutex:
                start, end = ("\r\033[K", "") if self._is_terminal else ("carry audit: ", "\n")
                print(start + self.line(), end=end, file=self._stream, flush=True)

    def _clear(self) -> None:
        if self._is_terminal and not self._is_quiet:
            print("\r\033[K", end="", file=self._stream, flush=True)
