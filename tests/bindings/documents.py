# SPDX-License-Identifier: MIT
"""What the tests of documents on the package share: the package as built, and captures."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
PACKAGE = Path(os.environ.get("CARRY_BUILD", SOURCE / "build")) / "bindings/python"


def obstacle() -> str:
    """Why no example can run here, or nothing."""
    built = (PACKAGE / "libcarry/_carry.abi3.so").is_file()
    return "" if built else "the package for Python was not built"


def environment() -> dict[str, str]:
    """In which another process imports the package."""
    paths = [str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}


def copy_captures(folder: Path) -> None:
    for path in SOURCE.glob("examples/*.pcap*"):
        shutil.copy(path, folder)
