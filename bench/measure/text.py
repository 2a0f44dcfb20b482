# SPDX-License-Identifier: MIT
"""Formats numbers for people."""

from __future__ import annotations

LANGUAGE_TITLES = {"c": "C", "rust": "Rust", "go": "Go", "python": "Python"}


def join(names: list[str]) -> str:
    """Returns a list, separated by semicolons if a name has a comma, otherwise by commas."""
    return ("; " if any("," in name for name in names) else ", ").join(names)


def show_bytes(size: float) -> str:
    for unit, bytes_each in (("Mi", 1 << 20), ("Ki", 1 << 10)):
        if size >= bytes_each and size % bytes_each == 0:
            return f"{size / bytes_each:.0f} {unit}"
    return f"{size:,.0f}"


def show_ns(value: float) -> str:
    """Returns a time with three significant digits; longer times are rounded to nanoseconds."""
    return f"{value:#.3g}".removesuffix(".") if value < 999.5 else f"{value:,.0f}"


def show_added(value: float) -> str:
    """Returns a difference of times, with a sign and useful decimals."""
    decimals = 2 if abs(value) < 99.5 else 0
    return f"{round(value, decimals) + 0.0:+,.{decimals}f}"  # avoids -0.00


def show_speed(value: float) -> str:
    """Returns a speed as a multiple."""
    return f"{value:.2f}" if value < 9.995 else f"{value:,.0f}"
