# SPDX-License-Identifier: MIT
"""Numbers as people read them."""

from __future__ import annotations

LANGUAGE_TITLES = {"c": "C", "rust": "Rust", "go": "Go", "python": "Python"}


def join(names: list[str]) -> str:
    """A list: by semicolons where names have commas."""
    return ("; " if any("," in name for name in names) else ", ").join(names)


def show_bytes(size: float) -> str:
    for unit, bytes_each in (("Mi", 1 << 20), ("Ki", 1 << 10)):
        if size >= bytes_each and size % bytes_each == 0:
            return f"{size / bytes_each:.0f} {unit}"
    return f"{size:,.0f}"


def show_ns(value: float) -> str:
    """Three digits, or whole."""
    return f"{value:#.3g}".removesuffix(".") if value < 999.5 else f"{value:,.0f}"


def show_added(value: float) -> str:
    """A difference of times: with a sign, and as many decimals as tell something."""
    decimals = 2 if abs(value) < 99.5 else 0
    return f"{round(value, decimals) + 0.0:+,.{decimals}f}"  # not -0.00


def show_speed(value: float) -> str:
    """How many times as fast."""
    return f"{value:.2f}" if value < 9.995 else f"{value:,.0f}"
