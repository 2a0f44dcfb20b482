# SPDX-License-Identifier: MIT
"""Kernels contain no jump that some of Intel's CPUs decode again at each execution."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from carry_tool import SOURCE

pytestmark = [
    pytest.mark.of_compilers,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="jumps of x86-64 are looked at"),
]


def check(path: Path) -> subprocess.CompletedProcess[str]:
    script = SOURCE / "scripts/check_jumps.py"
    return subprocess.run([sys.executable, script, path], capture_output=True, text=True)


def test_kernels() -> None:
    """No kernel of the build has such a jump."""
    archive = Path(os.environ.get("CARRY_BUILD", SOURCE / "build")) / "src/libcarry-kernels.a"
    done = check(archive)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_jumps_are_found(tmp_path: Path) -> None:
    twin = tmp_path / "jumps.o"
    subprocess.run(["cc", "-c", SOURCE / "tests/mutants/jumps.S", "-o", twin], check=True)
    done = check(twin)
    named = [line.split(": ")[1] for line in done.stdout.splitlines()[:-1]]
    assert named == ["ends_there", "crosses", "returns", "fused_crosses"]
    assert done.returncode == 1
