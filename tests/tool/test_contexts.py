# SPDX-License-Identifier: MIT
"""Contexts in a program outside the library: examples/contexts.c."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from pathlib import Path

import pytest
from carry_tool import CLEAN, SOURCE

pytestmark = pytest.mark.of_compilers

BUILD = Path(os.environ.get("CARRY_BUILD", SOURCE / "build"))
ROW = re.compile(r"(sum|divide|polite) +(\d+) rounds, +(\d+) turns by the timer")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="preemption is of x86-64 alone")
def test_every_loop_of_the_example_has_its_turn() -> None:
    done = subprocess.run(
        [BUILD / "examples/contexts", "0.5"], capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stderr) == (CLEAN, "")
    rows = {row[1]: (int(row[2]), int(row[3])) for row in ROW.finditer(done.stdout)}
    assert set(rows) == {"sum", "divide", "polite"}
    assert all(rounds > 0 for rounds, _ in rows.values())
    # The loop "divide" never yields: only the timer takes the CPU from it.
    assert rows["divide"][1] > 0


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "1e30", "soon"])
def test_the_example_refuses_other_times(seconds: str) -> None:
    done = subprocess.run(
        [BUILD / "examples/contexts", seconds], capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "usage: contexts [SECONDS]\n"
