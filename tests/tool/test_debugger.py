# SPDX-License-Identifier: MIT
"""Backtraces of gdb from callbacks of thunks reach main()."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.of_compilers

TOOL = Path(os.environ.get("CARRY_TOOL", "build/tools/carry/carry")).resolve()


def frames(breakpoint: str) -> list[str]:
    """Returns the functions of the backtrace at the first stop, innermost first."""
    gdb = shutil.which("gdb")
    if not gdb:
        pytest.skip("gdb is not installed")
    if os.environ.get("CARRY_SANITIZED"):
        pytest.skip("a sanitizer does not like to be traced")
    command = [gdb, "-nx", "-batch", "-ex", "set debuginfod enabled off"]
    command += ["-ex", f"break {breakpoint}", "-ex", "run"]
    command += ["-ex", "backtrace", "--args", str(TOOL), "bench", "xstate", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if "not defined" in done.stdout + done.stderr:
        pytest.skip("there are no thunks on this architecture")
    found = re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\S+) \(", done.stdout, re.MULTILINE)
    assert found, done.stdout + done.stderr
    return found


@pytest.mark.parametrize(
    ("breakpoint", "thunk"),
    [("bench_sse_callback", "carry_thunk_enter"), ("carry_thunk_around", "carry_thunk_around")],
)
def test_backtrace_through_thunks(breakpoint: str, thunk: str) -> None:
    """gdb finds main() beyond the frames of a thunk."""
    found = frames(breakpoint)
    assert thunk in found[:2], found
    assert found[found.index(thunk) + 1] == "bench_calls", found
    assert found[-1] == "main", found


def test_backtrace_from_a_target() -> None:
    """With carry_thunk_around, the frame of the thunk lies between target and caller."""
    found = frames('bench_target if $_caller_is("carry_thunk_around")')
    assert found[:3] == ["bench_target", "carry_thunk_around", "bench_calls"], found
    assert found[-1] == "main", found
