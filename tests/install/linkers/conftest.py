# SPDX-License-Identifier: MIT
"""Fixtures of the tests of compilers and linkers: the library under test, and tools."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
SOURCE = FOLDER.parent.parent.parent

# Options of C11 and C++17 that other projects use; warnings are errors.
STRICT = ["-Wall", "-Wextra", "-Werror", f"-I{SOURCE / 'include'}", f"-I{FOLDER}", "-pthread"]
C11 = ["-std=c11", "-D_GNU_SOURCE", *STRICT]
CXX17 = ["-std=c++17", *STRICT, "-x", "c++"]


class Library:
    """The built library: CARRY_BUILD, or the folder of `make`."""

    def __init__(self) -> None:
        folder = Path(os.environ.get("CARRY_BUILD", SOURCE / "build")).resolve() / "src"
        self.static = folder / "libcarry.a"
        self.shared = ["-L", str(folder), f"-Wl,-rpath,{folder}", "-lcarry"]
        self.tool = Path(os.environ.get("CARRY_TOOL", folder.parent / "tools/carry/carry"))
        assert self.static.is_file(), f"{self.static} is missing: build it, or set CARRY_BUILD"


@pytest.fixture(scope="session")
def library() -> Library:
    return Library()


def check_sites(library: Library, path: Path) -> None:
    """Checks a file with `carry sites --check`. Skips the test if the tool was not built."""
    if not library.tool.is_file():
        pytest.skip(f"{library.tool} is missing: build it (-Dtool=enabled)")
    *found, summary = map(
        json.loads, call(library.tool, "sites", "--check", "--json", path).splitlines()
    )
    assert summary["sites"] and {each["type"] for each in found} <= {"note"}


def call(*command: str | Path, cwd: Path | None = None, seconds: int = 600) -> str:
    """Returns the output of a command, with its standard error. Fails the test if its exit status
    is not 0."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, cwd=cwd, timeout=seconds, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert done.returncode == 0, f"{' '.join(words)}: {done.returncode}\n{done.stdout}"
    return done.stdout


# --- Shared by all workers of a run ---


def shared_folder(tmp_path_factory: pytest.TempPathFactory, name: str) -> Path:
    """Returns the same folder in each worker of pytest-xdist, whose own folders are siblings."""
    own = tmp_path_factory.getbasetemp()
    return (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / name


def make_once(folder: Path, make: Callable[[Path], object]) -> None:
    """Fills a folder once, in one worker or thread; all others wait until it is filled."""
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / "made"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not mark.exists():
            make(folder)
            mark.touch()


# --- AArch64 ---

EMULATOR = ["timeout", "-s", "KILL", "60", "qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
PACKAGES = {
    "aarch64-linux-gnu-g++": "g++-aarch64-linux-gnu",
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
    "clang++": "clang",
    "clang++-19": "clang-19",
    "ld.lld": "lld",
    "qemu-aarch64": "qemu-user",
    "qemu-aarch64_be": "qemu-user",
}


def need(*tools: str) -> None:
    """Skips the test if a tool is absent, and names its Debian package."""
    for tool in tools:
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed (Debian package {PACKAGES.get(tool, tool)})")


def build_core(folder: Path) -> None:
    sources = [*(SOURCE / "src").glob("*/*.c"), *(SOURCE / "src").glob("*/aarch64/*.[cS]")]
    flags = ["-O2", "-fPIC", "-fvisibility=hidden"]
    flags += [f"-I{SOURCE / name}" for name in ("include", "src")]
    call("aarch64-linux-gnu-gcc", *flags, "-r", "-nostdlib", *sources, "-o", folder / "carry.o")
    shared = ["-shared", "-Wl,-z,nodelete", folder / "carry.o", "-o", folder / "libcarry.so"]
    call("aarch64-linux-gnu-gcc", *shared)


@pytest.fixture(scope="session")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with the library, built as in README.md without the build system."""
    need("aarch64-linux-gnu-gcc", "qemu-aarch64")
    folder = shared_folder(tmp_path_factory, "aarch64")
    make_once(folder, build_core)
    return folder
