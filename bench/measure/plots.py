# SPDX-License-Identifier: MIT
"""Draws plots for the report, as SVG that loads no other file."""

from __future__ import annotations

import io
import re
from itertools import cycle
from typing import Any

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, MaxNLocator

from measure.html import quiet, tag
from measure.result import Result, fastest, language_of, takes_part
from measure.text import join, show_bytes

# The page's style defines the colours: they differ between light and dark.
COLORS = {
    **{"#111111": "var(--ink)", "#222222": "var(--quiet)", "#333333": "var(--line)"},
    **{"#444444": "var(--ours)"},
    **{f"#55555{number}": f"var(--peer{number})" for number in range(9)},
}
INK, QUIET, GRID, OURS, *PEERS = COLORS
DASHES = {"c": "-", "rust": (0, (5, 1.5)), "go": (0, (1, 1)), "python": (0, (5, 1.5, 1, 1.5))}
BOUND_DASH, FLOOR_DASH = (0, (6, 3)), (0, (1, 3))

SMALL = 256  # bytes: sizes up to this have a plot of their own
LEAST, LARGEST = 64, 1 << 16  # bytes of the logarithmic plot
FAR = 10  # functions more than this many times as slow as the library everywhere are not drawn
HEIGHT, AXES_WIDTH, LETTER_WIDTH = 4.6, 4.6, 0.09  # inches
LABEL_GAP = 0.05  # a share of the height

Curves = dict[str, list[tuple[int, float]]]
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "carry",
    "font.family": "sans-serif",
    "font.size": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": QUIET,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


# --- Selection ---


def is_far(cells: list[dict[str, Any]], name: str) -> bool:
    speeds = [cell["speedup"][name][0] for cell in cells if name in cell["speedup"]]
    return bool(speeds) and min(speeds) > FAR


def choose(result: Result, cells: list[dict[str, Any]]) -> list[str]:
    """Returns the judged function, the empty function of C, the bounds, and the fastest variant of
    each peer, except variants that are far slower everywhere."""
    functions = result["functions"]
    timed = [name for name in functions if any(name in cell["ns"] for cell in cells)]
    peers: dict[str, list[str]] = {}
    chosen = []
    for name in timed:
        kind = functions[name]["kind"]
        if kind == "peer":
            peers.setdefault(functions[name]["peer"], []).append(name)
        elif kind == "bound" or name.endswith("@c") or takes_part(result, name):
            chosen.append(name)
    for variants in peers.values():
        chosen += (name for name in fastest(cells, variants) if not is_far(cells, name))
    return chosen


def caption(
    result: Result, cells: list[dict[str, Any]], drawn: list[str], lines: Curves, top: float
) -> str:
    """Returns a caption that explains which functions are not drawn, or not named in the first
    plot."""
    functions = result["functions"]
    timed = {name for cell in cells for name in cell["ns"]}
    left = [name for name in functions if name in timed - set(drawn)]
    far = [functions[name]["title"] for name in left if is_far(cells, name)]
    variants = sum(functions[name]["kind"] == "peer" for name in left) - len(far)
    parts = []
    if variants:
        parts.append("Of each peer the variant is drawn that is the fastest at most sizes.")
    if any(line[-1][1] > top for line in lines.values()):
        parts.append("Who leaves the first plot at its top is named in the second.")
    if far:
        parts.append(f"{join(far)}: not drawn, more than {FAR} times as slow everywhere.")
    return quiet(" ".join([*parts, "The tables have all."])) if parts else ""


def looks(result: Result, names: list[str]) -> dict[str, dict[str, Any]]:
    """Returns styles of lines: colours by peer, dashes by language, distinct for the library."""
    colors = cycle(PEERS)
    chosen = {}
    for name in names:
        kind = result["functions"][name]["kind"]
        if kind == "peer":
            dash = DASHES.get(language_of(result, name), "-")
            chosen[name] = {"color": next(colors), "lw": 1.6, "ls": dash, "zorder": 3}
        elif kind == "ours":
            chosen[name] = {"color": OURS, "lw": 3.2, "ls": "-", "zorder": 5}
        else:
            dash = FLOOR_DASH if kind == "floor" else BOUND_DASH
            chosen[name] = {"color": QUIET, "lw": 1.4, "ls": dash, "zorder": 1}
    return chosen


def curves(cells: list[dict[str, Any]], names: list[str], least: int, most: int) -> Curves:
    """Returns times by size for each function, from `least` or the next smaller size to `most`."""
    sizes = sorted({cell["size"] for cell in cells})
    start = max((size for size in sizes if size <= least), default=least)
    found: Curves = {}
    for cell in sorted(cells, key=lambda cell: cell["size"]):
        for name in names:
            if name in cell["ns"] and start <= cell["size"] <= most:
                found.setdefault(name, []).append((cell["size"], cell["ns"][name][0]))
    return found


# --- Drawing ---


def spread(places: list[float], gap: float, top: float = 1.0) -> list[float]:
    """Returns ascending places, moved until they are at least `gap` apart and at most `top`."""
    moved: list[float] = []
    for place in places:
        moved.append(max(place, moved[-1] + gap) if moved else place)
    for index in reversed(range(len(moved))):
        moved[index] = min(moved[index], top)
        top = moved[index] - gap
    return moved


def label(axes: plt.Axes, lines: Curves, titles: dict[str, str], look: dict[str, Any]) -> None:
    """Writes names at the right ends of lines; lines that leave through the top get no name."""
    to_axes = axes.transData + axes.transAxes.inverted()
    ends = sorted((*reversed(to_axes.transform(line[-1])), name) for name, line in lines.items())
    ends = [end for end in ends if end[0] <= 1]
    places = spread([height for height, _, _ in ends], LABEL_GAP)
    for (height, end, name), place in zip(ends, places, strict=True):
        color = look[name]["color"]
        weight = "bold" if color == OURS else "normal"
        axes.plot(
            *([end + 0.005, 1.03], [height, place]),
            **{"color": color, "lw": 0.8, "transform": axes.transAxes, "clip_on": False},
        )
        axes.text(
            *(1.04, place, titles[name]),
            **{"transform": axes.transAxes, "va": "center", "color": color, "weight": weight},
        )


def plot(lines: Curves, look: dict[str, Any], least: int) -> plt.Axes:
    """Draws lines from `least` to the largest size."""
    _, axes = plt.subplots(figsize=(AXES_WIDTH, HEIGHT))
    for name, line in lines.items():
        sizes, times = zip(*line, strict=True)
        axes.plot(sizes, times, **look[name])
    axes.set_xlim(least, max(size for line in lines.values() for size, _ in line))
    axes.set_xlabel("bytes")
    axes.set_title("nanoseconds a call", loc="left", fontsize=STYLE["font.size"])
    axes.grid(True, color=GRID, lw=0.7)
    return axes


def small_plot(lines: Curves, look: dict[str, Any], top: float) -> plt.Axes:
    axes = plot(lines, look, 0)
    axes.set_ylim(0, top)
    axes.xaxis.set_major_locator(MaxNLocator(8, steps=(1, 1.6, 3.2, 6.4, 10), integer=True))
    return axes


def wide_plot(lines: Curves, look: dict[str, Any]) -> plt.Axes:
    axes = plot(lines, look, LEAST)
    most = axes.get_xlim()[1]
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks([1 << power for power in range(6, 17, 2) if 1 << power <= most + 1])
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: show_bytes(value)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    return axes


def finish(axes: plt.Axes, lines: Curves, look: dict[str, Any], titles: dict[str, str]) -> str:
    """Returns the plot as an element, with space beside it for the longest title."""
    room = LETTER_WIDTH * max(map(len, titles.values())) + 0.3
    width = AXES_WIDTH + room
    axes.figure.set_size_inches(width, HEIGHT)
    axes.figure.subplots_adjust(0.62 / width, 0.5 / HEIGHT, 1 - room / width, 1 - 0.32 / HEIGHT)
    label(axes, lines, titles, look)
    return tag("div", to_svg(axes.figure), class_="plot")


def plot_sizes(result: Result, cells: list[dict[str, Any]], ours: str) -> str:
    """Returns plots of time against size, and their caption. One plot is linear, up to SMALL bytes;
    the second is logarithmic, from LEAST to LARGEST bytes."""
    cells = [cell for cell in cells if cell["size"] <= LARGEST]
    names = choose(result, cells)
    look = looks(result, names)
    titles = {name: result["functions"][name]["title"] for name in names}
    small, wide = curves(cells, names, 0, SMALL), curves(cells, names, LEAST, LARGEST)
    top = 3.2 * max((time for _, time in small.get(ours, [])), default=1.0)
    shown = ""
    with mpl.rc_context(STYLE):
        if small:
            shown += finish(small_plot(small, look, top), small, look, titles)
        if any(size > SMALL for line in wide.values() for size, _ in line):
            shown += finish(wide_plot(wide, look), wide, look, titles)
    return tag("div", shown, class_="plots") + caption(result, cells, names, small, top)


def to_svg(figure: plt.Figure) -> str:
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None}, transparent=True)
    plt.close(figure)
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :]
    # Removes the metadata: it contains URLs of vocabularies, and the report must load nothing.
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Removes names of groups, which would be the same in several plots of a page.
    svg = re.sub(r' id="[a-z0-9.A-Z]+_\d+"', "", svg)
    svg = re.sub(r"(\d+\.\d{2})\d+", r"\1", svg)
    for drawn, shown in COLORS.items():
        svg = svg.replace(drawn, shown)
    # Without a height and a width, the plot scales with the page.
    return re.sub(r'<svg ([^>]*?)height="[^"]*" ([^>]*?)width="[^"]*"', r"<svg \1\2", svg, count=1)
