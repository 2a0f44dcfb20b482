# SPDX-License-Identifier: MIT
"""Contexts in programs with sanitizers, which keep data for each stack."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import CXX17, FOLDER, Library, call

COMPILERS = ["g++", "clang++"]
pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64"), reason="no contexts on this architecture"
)


def build(compiler: str, sanitizer: str, carry: list[str], folder: Path) -> Path:
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    program = folder / "contexts"
    flags = ["-O1", "-g", f"-fsanitize={sanitizer}"] if sanitizer else ["-O1", "-g"]
    source = [*CXX17, FOLDER / "contexts.cc", "-x", "none"]
    call(compiler, *flags, *source, *carry, "-o", program)
    return program


def run(program: Path, *args: str) -> subprocess.CompletedProcess[str]:
    # Leaks are not detected, because contexts.cc does not free the areas and tasks of preempted
    # contexts.
    env = os.environ | {"ASAN_OPTIONS": "detect_leaks=0:detect_stack_use_after_return=1"}
    return subprocess.run(
        [program, *args],
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
    )


@pytest.mark.parametrize("against", ["static", "shared"])
@pytest.mark.parametrize("sanitizer", ["", "address", "thread"])
@pytest.mark.parametrize("compiler", COMPILERS)
def test_sanitizers_are_silent(
    compiler: str, sanitizer: str, against: str, library: Library, tmp_path: Path
) -> None:
    carry = [str(library.static)] if against == "static" else library.shared
    done = run(build(compiler, sanitizer, carry, tmp_path))
    assert (done.returncode, done.stdout) == (0, "ok\n")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_races_between_contexts_are_found(compiler: str, library: Library, tmp_path: Path) -> None:
    done = run(build(compiler, "thread", [str(library.static)], tmp_path), "race")
    assert done.returncode != 0
    assert "data race" in done.stdout
    assert re.search(r"#0 .*\brace\b.* \S*contexts\.cc:", done.stdout)
    assert "#1 carry_context_start" in done.stdout
