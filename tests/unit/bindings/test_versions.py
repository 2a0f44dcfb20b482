# SPDX-License-Identifier: MIT
"""The package works in other CPythons: those on the PATH, and those that CARRY_PYTHONS names."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from conftest import SOURCE

NAMES = [f"python3.{minor}" for minor in range(11, 20)]
PYTHONS = [*filter(None, map(shutil.which, NAMES)), *os.environ.get("CARRY_PYTHONS", "").split()]

USE = """
import sys, libcarry
report = libcarry.check(sys.argv[1])
assert report.findings[0].src_ip == "10.0.0.5", report
assert sum(len(frame.check()) for frame in libcarry.frames(sys.argv[1])) == 21
assert libcarry.checksum(b"ab") == 0x9e9d
report.__arrow_c_stream__()
"""

OWN_GIL = """
import sys
import libcarry
try:
    import _interpreters
    error = _interpreters.run_string(_interpreters.create("isolated"), "import libcarry").msg
except ImportError:
    import _xxsubinterpreters as old
    try:
        old.run_string(old.create(isolated=True), "import libcarry")
    except old.RunFailedError as failure:
        error = str(failure)
assert "does not support loading in subinterpreters" in error, error
"""


def run(python: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [python, *arguments], capture_output=True, text=True, timeout=300, env=env
    )


@pytest.fixture(params=PYTHONS)
def python(request: pytest.FixtureRequest) -> str:
    """Returns another CPython, of a version that the package supports."""
    said = run(request.param, "-c", "import sys; print(sys.version_info >= (3, 11))").stdout
    if said != "True\n":
        pytest.skip(f"{request.param} does not start, or is older than CPython 3.11")
    return str(request.param)


def test_use(python: str) -> None:
    """The package works in each installed CPython."""
    done = run(python, "-c", USE, str(SOURCE / "examples/broken.pcap"))
    assert (done.returncode, done.stderr) == (0, "")


def test_an_interpreter_with_its_own_gil_is_refused(python: str) -> None:
    if run(python, "-c", "import sys; assert sys.version_info >= (3, 12)").returncode:
        pytest.skip(
            f"{python} is older than CPython 3.12, where interpreters may have a GIL of their own"
        )
    done = run(python, "-c", OWN_GIL)
    assert (done.returncode, done.stderr) == (0, "")
