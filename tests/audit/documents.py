# SPDX-License-Identifier: MIT
"""What documents show of audits: code in Python, with what it prints, and captures for it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from conftest import SOURCE

EXAMPLE = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```)?", re.M | re.DOTALL)


def examples(document: str, heading: str) -> list[tuple[str, str]]:
    """Code below a heading, and what it prints if that is shown."""
    _, _, text = (SOURCE / "docs" / document).read_text().partition(f"# {heading}\n")
    return EXAMPLE.findall(text)


def copy_captures(folder: Path) -> None:
    """Gives a folder one of captures."""
    (folder / "captures").mkdir()
    for path in SOURCE.glob("examples/*.pcap*"):
        shutil.copy(path, folder / "captures")
