# SPDX-License-Identifier: MIT
"""Examples of audits in documents: Python code, its output, and captures for the code."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from conftest import SOURCE

EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.M | re.DOTALL)


def examples(document: str, heading: str) -> list[tuple[str, str]]:
    """Returns the blocks of Python code after a heading, each with the output that the document
    shows ("" if none)."""
    _, _, text = (SOURCE / "docs" / document).read_text().partition(f"# {heading}\n")
    return EXAMPLE.findall(text)


def copy_captures(folder: Path) -> None:
    """Creates a folder of captures in `folder`."""
    (folder / "captures").mkdir()
    for path in SOURCE.glob("examples/*.pcap*"):
        shutil.copy(path, folder / "captures")
