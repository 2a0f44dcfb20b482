# SPDX-License-Identifier: MIT
"""Reports progress on standard error: by a bar on a terminal, otherwise by lines."""

from __future__ import annotations

import sys
import time
from typing import TextIO

BAR = 30
REDRAW_SECONDS = 0.2
CLEAR = "\r\x1b[K"


class Progress:
    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.is_terminal = self.stream.isatty()
        self.begin = self.drawn = 0.0
        self.last = ""

    def write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()

    def say(self, text: str) -> None:
        """Prints a line in place of the bar."""
        clear = CLEAR if self.drawn else ""
        self.drawn = 0.0
        self.write(f"{clear}bench: {text}\n")

    def step(self, share: float, what: str) -> None:
        """Reports that `share` of the work is done. The work begins with the first call."""
        now = time.monotonic()
        self.begin = self.begin or now
        if not self.is_terminal:
            if what != self.last:
                self.say(f"{what}, {now - self.begin:.0f} s")
            self.last = what
        elif now - self.drawn >= REDRAW_SECONDS:
            self.drawn = now
            self.write(f"{CLEAR}bench: {bar(share)} {what}{self.left(share, now)}")

    def left(self, share: float, now: float) -> str:
        spent = now - self.begin
        if share <= 0 or spent < 1:
            return ""
        seconds = round(spent * (1 - share) / share)
        return f", {seconds // 60}:{seconds % 60:02} left"


def bar(share: float) -> str:
    full = round(BAR * share)
    return f"[{'=' * full}{' ' * (BAR - full)}] {100 * share:3.0f} %"
