# SPDX-License-Identifier: MIT
"""Linkers that drop unused code keep the table of instructions that may fault: see faults.c."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import C11, FOLDER, Library, call

LINKS = {
    "plain": [],
    "gc": ["-Wl,--gc-sections"],
    "static gc": ["-static", "-Wl,--gc-sections"],
}


@pytest.mark.parametrize("linker", ["bfd", "gold", "lld"])
@pytest.mark.parametrize("name", LINKS)
def test_rows_are_kept(name: str, linker: str, library: Library, tmp_path: Path) -> None:
    flags = [*C11, "-O2", f"-fuse-ld={linker}", *LINKS[name]]
    call("clang", *flags, FOLDER / "faults.c", library.static, "-o", tmp_path / "faults")
    assert call(tmp_path / "faults") == "ok\n"
