#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Copies the crates for Rust as `cargo package` would pack them: with the sources in C that they
compile, which are links in the repository.

usage: package_crates.py FOLDER      FOLDER gets the workspace, and anything else in it goes
"""

import shutil
import subprocess
import sys
from pathlib import Path

CRATES = Path(__file__).resolve().parent.parent / "bindings/rust"
NAMES = ("libcarry", "libcarry-sys")
# What cargo makes here, and what is no part of the workspace.
LEFT_OUT = shutil.ignore_patterns("Cargo.lock", "peers", "target")


def packed(folder: Path) -> set[Path]:
    """The files of a crate that its package holds."""
    command = ["cargo", "package", "--offline", "--list", "--allow-dirty"]
    listed = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return {folder / line for line in listed.stdout.splitlines()}


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: package_crates.py FOLDER", file=sys.stderr)
        return 2
    folder = Path(sys.argv[1]).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(CRATES, folder, ignore=LEFT_OUT)
    for name in NAMES:
        kept = packed(folder / name)
        for path in (folder / name).rglob("*"):
            if path.is_file() and path not in kept:
                path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
