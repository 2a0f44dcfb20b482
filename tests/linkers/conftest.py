# SPDX-License-Identifier: MIT
"""What the tests of compilers and linkers share: the library under test, and how to run tools."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
SOURCE = FOLDER.parent.parent

# Of C11 and C++17, as a program outside this project would compile; warnings are errors.
STRICT = ["-Wall", "-Wextra", "-Werror", f"-I{SOURCE / 'include'}", f"-I{FOLDER}", "-pthread"]
C11 = ["-std=c11", "-D_GNU_SOURCE", *STRICT]
CXX17 = ["-std=c++17", *STRICT, "-x", "c++"]


class Library:
    """The built library: CARRY_BUILD, or where `make` leaves it."""

    def __init__(self) -> None:
        folder = Path(os.environ.get("CARRY_BUILD", SOURCE / "build")).resolve() / "src"
        self.static = folder / "libcarry.a"
        self.shared = ["-L", str(folder), f"-Wl,-rpath,{folder}", "-lcarry"]
        assert self.static.is_file(), f"{self.static} is missing: build it, or set CARRY_BUILD"


@pytest.fixture(scope="session")
def library() -> Library:
    return Library()


def call(*command: str | Path, cwd: Path | None = None, seconds: int = 600) -> str:
    """What a command printed on both outputs; fails the test if its exit status is not 0."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=cwd, timeout=seconds, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, f"{' '.join(words)}: {done.returncode}\n{done.stdout}"
    return done.stdout
