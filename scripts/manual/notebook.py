# SPDX-License-Identifier: MIT
"""Notebooks as documents: their text, their code, and the stored output of cells."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Cell = dict[str, Any]


def fenced(language: str, text: str) -> str:
    return f"```{language}\n{text.rstrip()}\n```"


def printed(cell: Cell) -> str:
    """Returns the output of a cell, as a terminal shows it."""
    outputs = (each.get("text") or each["data"]["text/plain"] for each in cell["outputs"])
    return "\n".join("".join(lines).rstrip() for lines in outputs)


def parts(cells: list[Cell]) -> Iterator[str]:
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield source
        else:
            yield fenced("python", source)
            if output := printed(cell):
                yield fenced("text", output)


def text(path: Path) -> str:
    """Returns a notebook in Markdown."""
    return "\n\n".join(parts(json.loads(path.read_text())["cells"])) + "\n"
