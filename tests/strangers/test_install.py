# SPDX-License-Identifier: MIT
"""Installing, removing again, and what docs/explanation/architecture.md says of the ABI."""

from __future__ import annotations

import os
from pathlib import Path

from conftest import SOURCE, Strangers, ask


def make(target: str, root: Path) -> None:
    build = os.environ["CARRY_INSTALL_BUILD"]
    words = ["make", "--no-print-directory", target, f"BUILD={build}", "PREFIX=/usr"]
    done = ask(*words, f"DESTDIR={root}", cwd=SOURCE)
    assert done.returncode == 0, done.stdout


def files(root: Path) -> set[Path]:
    return {path.relative_to(root) for path in root.rglob("*") if not path.is_dir()}


def test_uninstall(strangers: Strangers, tmp_path: Path) -> None:
    root = tmp_path / "a carry"
    make("install", root)
    assert files(root) == files(strangers.folder / "glibc")
    foreign = root / "usr/include/carry/mine.h"
    foreign.write_text("")
    make("uninstall", root)
    assert files(root) == {foreign.relative_to(root)}
    assert [path.name for path in root.rglob("carry")] == ["carry"]
    foreign.unlink()
    make("uninstall", root)
    assert list(root.rglob("carry")) == []
    assert (root / "usr/include").is_dir()


def test_names_of_the_abi(strangers: Strangers) -> None:
    """The soname, and the version of all symbols: of a release x.y, 0.y while x is 0."""
    major, minor, _ = ask(SOURCE / "scripts/version").stdout.strip().split(".")
    abi = major if int(major) else f"0.{minor}"
    for name in ("libcarry", "libcarry-jit"):
        path = strangers.library("glibc").folder / f"{name}.so"
        said = ask("readelf", "--dynamic", "--version-info", path).stdout
        assert f"[{name}.so.0]" in said
        assert f"Name: {name.upper().replace('-', '_')}_{abi}" in said
