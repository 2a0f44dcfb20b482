# SPDX-License-Identifier: MIT
"""Tests installing, uninstalling, and the ABI that docs/explanation/architecture.md describes."""

from __future__ import annotations

import os
from pathlib import Path

from conftest import SOURCE, Strangers, ask, needs

PROGRAM = """
#include <carry/sum.h>
int main(void) { return carry_sum_finish(carry_sum("ab", 2, 0)) == 0; }
"""


def make(target: str, root: Path) -> None:
    build = os.environ["CARRY_INSTALL_BUILD"]
    words = ["make", "--no-print-directory", target, f"BUILD={build}", "PREFIX=/usr"]
    done = ask(*words, f"DESTDIR={root}", cwd=SOURCE)
    assert done.returncode == 0, done.stdout


def files(root: Path) -> set[Path]:
    return {path.relative_to(root) for path in root.rglob("*") if not path.is_dir()}


def test_uninstall(strangers: Strangers, tmp_path: Path) -> None:
    """Uninstalling removes what was installed, and keeps other files."""
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


def abi() -> str:
    major, minor, _ = ask(SOURCE / "scripts/version").stdout.strip().split(".")
    return major if int(major) else f"0.{minor}"


def test_names_of_the_abi(strangers: Strangers) -> None:
    """The soname ends in .so.0. The symbols have the version of the ABI: x for a release x.y.z, or
    0.y while x is 0."""
    for name in ("libcarry", "libcarry-capture", "libcarry-jit"):
        path = strangers.library("glibc").folder / f"{name}.so"
        said = ask("readelf", "--dynamic", "--version-info", path).stdout
        assert f"[{name}.so.0]" in said
        assert f"Name: {name.upper().replace('-', '_')}_{abi()}" in said


def test_another_abi_is_refused_at_the_start(strangers: Strangers, tmp_path: Path) -> None:
    """Another ABI is refused at the start, not at the call that differs (architecture.md)."""
    needs("gcc")
    library = strangers.library("glibc")
    source, program = tmp_path / "program.c", tmp_path / "program"
    source.write_text(PROGRAM)
    real = (library.folder / "libcarry.so").resolve()
    build = ask("gcc", f"-I{library.root / 'usr/include'}", source, real, "-o", program)
    assert program.is_file(), build.stdout
    own = f"LIBCARRY_{abi()}"
    for name, accepted in ((own, True), (own[:-1] + "x", False)):
        folder = tmp_path / name
        folder.mkdir()
        changed = real.read_bytes().replace(own.encode(), name.encode())
        (folder / "libcarry.so.0").write_bytes(changed)
        said = ask("env", f"LD_LIBRARY_PATH={folder}", program)
        assert (said.returncode == 0) == accepted
        assert (f"version `{own}' not found" in said.stdout) != accepted
