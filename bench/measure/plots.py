# SPDX-License-Identifier: MIT
"""Plots for the report, as SVG that needs nothing from elsewhere."""

from __future__ import annotations

import io
import re
from itertools import cycle
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter

from measure.text import show_bytes, show_ns

OURS_COLOR = "#0b5cad"
QUIET_COLOR = "#8a8f98"
PEER_COLORS = [
    *("#d1495b", "#2e933c", "#b8860b", "#7b4fa3", "#00838f", "#c2185b", "#5d4037", "#6b8e23"),
    *("#ef6c00", "#455a64"),
]
DASHES = ["-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2))]
TICKS = [1 << power for power in range(4, 27, 2)]
SMALL = 256

Curves = dict[str, list[tuple[int, float]]]
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "carry",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#6b7280",
    "xtick.color": "#374151",
    "ytick.color": "#374151",
}


def styles(functions: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A colour for each peer, dashes for its variants; the library and bounds stand apart."""
    colors = cycle(PEER_COLORS)
    by_peer: dict[str, str] = {}
    seen: dict[str, int] = {}
    chosen = {}
    for name, row in functions.items():
        variant = seen[row["peer"]] = seen.get(row["peer"], -1) + 1
        if row["kind"] in ("floor", "bound"):
            dash = ":" if row["kind"] == "floor" else (0, (4, 2))
            chosen[name] = {"color": QUIET_COLOR, "lw": 1.3, "ls": dash, "zorder": 1}
        elif row["kind"] == "ours":
            dash = DASHES[variant % len(DASHES)]
            chosen[name] = {"color": OURS_COLOR, "lw": 2.6, "ls": dash, "zorder": 5}
        else:
            color = by_peer.setdefault(row["peer"], "") or next(colors)
            by_peer[row["peer"]] = color
            dash = DASHES[variant % len(DASHES)]
            chosen[name] = {"color": color, "lw": 1.4, "ls": dash, "zorder": 3}
    return chosen


def curves(cells: list[dict[str, Any]]) -> Curves:
    """Time against size, by function."""
    found: Curves = {}
    for cell in sorted(cells, key=lambda cell: cell["size"]):
        for name, (median, _, _) in cell["ns"].items():
            found.setdefault(name, []).append((cell["size"], median))
    return found


def draw(axes: plt.Axes, lines: Curves, functions: dict[str, Any], least: int, most: int) -> None:
    """Sizes from `least` to `most`."""
    look = styles({name: row for name, row in functions.items() if name in lines})
    # The legend is read from the top, as the lines end on the right.
    for name in sorted(lines, key=lambda name: -lines[name][-1][1]):
        sizes, times = zip(*lines[name], strict=True)
        axes.plot(sizes, times, label=functions[name]["title"], **look[name])
    axes.set_xlim(least, most)
    axes.set_xlabel("bytes")
    axes.grid(True, color="#e5e7eb", lw=0.7)


def plot_sizes(cells: list[dict[str, Any]], functions: dict[str, Any]) -> str:
    """Time against size, for all functions: small sizes, and all by logarithms."""
    lines = curves(cells)
    largest = max(cell["size"] for cell in cells)
    ours = [
        time
        for name, line in lines.items()
        if functions[name]["kind"] == "ours"
        for size, time in line
        if size <= SMALL
    ]
    with mpl.rc_context(STYLE):
        figure, (small, all_sizes) = plt.subplots(1, 2, figsize=(12.5, 4.6))
        draw(small, lines, functions, 0, SMALL)
        small.set_ylim(0, 3.2 * max(ours, default=1.0))
        small.set_ylabel("nanoseconds a call")
        draw(all_sizes, lines, functions, 16, largest)
        all_sizes.set_xscale("log", base=2)
        all_sizes.set_yscale("log")
        ticks = [tick for tick in TICKS if tick <= largest]
        all_sizes.set_xticks(ticks[:: 1 + (len(ticks) > 8)])
        all_sizes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: show_bytes(value)))
        all_sizes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: show_ns(value)))
        all_sizes.minorticks_off()
        all_sizes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=9)
        return to_svg(figure)


def to_svg(figure: plt.Figure) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    # It scales with the page. Metadata name vocabularies by addresses, which nobody needs to load.
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return re.sub(r'<svg ([^>]*?)height="[^"]*" ([^>]*?)width="[^"]*"', r"<svg \1\2", svg, count=1)
