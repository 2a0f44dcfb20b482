# SPDX-License-Identifier: MIT
"""Helpers for the tests of documents on the package: the built package, and captures."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[3]
PACKAGE = Path(os.environ.get("CARRY_BUILD", SOURCE / "build")) / "bindings/python"


def obstacle() -> str:
    """Returns the reason why no example can run here, or ""."""
    built = (PACKAGE / "libcarry/_carry.abi3.so").is_file()
    return "" if built else "the package for Python was not built"


def environment() -> dict[str, str]:
    """Returns an environment in which another process can import the package."""
    paths = [str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}


def copy_captures(folder: Path) -> None:
    for path in SOURCE.glob("examples/*.pcap*"):
        shutil.copy(path, folder)
