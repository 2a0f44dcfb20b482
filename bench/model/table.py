# SPDX-License-Identifier: MIT
"""Makes the tables of docs/models.md: cycles by models, and their ratio to measured cycles."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from model.mca import Cpu
from model.path import Function

MEASURED = Path(__file__).resolve().parent / "measured.toml"
# The marks of the tables for x86-64 and for AArch64.
BEGIN = "<!-- made by make models -->\n"
ARM_BEGIN = "<!-- made by make models-aarch64 -->\n"
END = "<!-- end of what is made -->\n"

# For each CPU, function and size: the cycles of overlapping calls and, if the function returns a
# result, the cycles of calls that wait for the previous result.
Figures = dict[tuple[Cpu, Function, int], tuple[float, ...]]


def show(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{value:,.0f}"


def show_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def head_lines(*columns: str, sizes: Iterable[int]) -> Iterator[str]:
    shown = [f"{size:,}" for size in sizes]
    yield show_row([*columns, *shown])
    yield f"|{'---|' * len(columns)}{'---:|' * len(shown)}"


def best_of(figures: Figures, cpu: Cpu, size: int) -> tuple[float, ...]:
    """Returns the least value of each figure."""
    values = [value for (one, _, at), value in figures.items() if (one, at) == (cpu, size)]
    return tuple(min(column) for column in zip(*values, strict=True))


def show_cell(value: tuple[float, ...] | None, best: tuple[float, ...]) -> str:
    if value is None:
        return "-"
    shown = [(show(own), show(least)) for own, least in zip(value, best, strict=True)]
    return " / ".join(f"**{own}**" if own == least else own for own, least in shown)


def table_lines(figures: Figures) -> Iterator[str]:
    sizes = sorted({size for _, _, size in figures})
    yield from head_lines("CPU", "function", sizes=sizes)
    before = None
    for cpu, function in dict.fromkeys((cpu, function) for cpu, function, _ in figures):
        places = ((cpu, function, size) for size in sizes)
        cells = [show_cell(figures.get(at), best_of(figures, cpu, at[2])) for at in places]
        yield show_row(["" if cpu is before else cpu.title, function.title, *cells])
        before = cpu


# --- Comparison with measured times ---


def read_measured(path: Path = MEASURED) -> list[dict[str, Any]]:
    return tomllib.loads(path.read_text())["measured"]


def compare(row: dict[str, Any], title: str, modelled: dict[tuple[str, int], float]) -> list[str]:
    """Returns measured cycles, each with the ratio of the model's cycles to them."""
    cells = []
    for size, ghz, ns in zip(row["sizes"], row["ghz"], row["ns"][title], strict=True):
        cycles = ns * ghz
        model = modelled.get((title, size))
        cells.append(f"{show(cycles)} ({model / cycles:.2f})" if model else show(cycles))
    return cells


def measured_lines(figures: Figures, rows: list[dict[str, Any]] | None = None) -> Iterator[str]:
    """Yields measured cycles of overlapping calls, each with the ratio of the model's cycles to
    them."""
    rows = read_measured() if rows is None else rows
    sizes = rows[0]["sizes"]
    yield from head_lines("measured on", "function", sizes=sizes)
    for row in rows:
        modelled = {
            (function.title, size): value[0]
            for (cpu, function, size), value in figures.items()
            if cpu.name == row["model"]
        }
        for place, title in enumerate(row["ns"]):
            yield show_row(["" if place else row["cpu"], title, *compare(row, title, modelled)])
    yield ""
    yield from (f"- {row['cpu']}, by the model of {row['model']}: {row['where']}." for row in rows)


def rewrite(document: str, lines: list[str], begin: str = BEGIN) -> str:
    made = "\n".join(["", *lines, "", ""])
    block = re.compile(f"(?<={re.escape(begin)}).*?(?={re.escape(END)})", re.DOTALL)
    return block.sub(lambda _: made, document)


# --- Instructions ---

Counts = dict[tuple[int, Function, int], int]  # by bits of vectors, function and size


def count_lines(counts: Counts) -> Iterator[str]:
    sizes = sorted({size for _, _, size in counts})
    yield from head_lines("vectors", "function", sizes=sizes)
    for bits, function in dict.fromkeys((bits, function) for bits, function, _ in counts):
        cells = (f"{counts[bits, function, size]:,}" for size in sizes)
        yield show_row([f"{bits} bits", function.title, *cells])
