# SPDX-License-Identifier: MIT
"""Copies that survive faults, in programs outside the library: an example, and Python."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from carry_tool import CLEAN, SOURCE

pytestmark = pytest.mark.of_compilers

BUILD = Path(os.environ.get("CARRY_BUILD", SOURCE / "build"))

# Loads the library into a runtime that handles SIGSEGV, copies in threads, and then faults itself.
IN_PYTHON = """
import ctypes, faulthandler, sys, threading
faulthandler.enable()
carry = ctypes.CDLL(sys.argv[1])
carry.carry_copy_try.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
carry.carry_copy_try.restype = ctypes.c_size_t
acquired = carry.carry_fault_acquire()
left = []

def copy():
    target = ctypes.create_string_buffer(64)
    for _ in range(1000):
        left.append(carry.carry_copy_try(target, None, 64))

threads = [threading.Thread(target=copy) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(acquired, set(left), len(left), flush=True)
ctypes.string_at(0x1230)
"""


def test_example_copies_a_truncated_file_in_part() -> None:
    done = subprocess.run(
        [BUILD / "examples/truncate", "100"], capture_output=True, text=True, timeout=600
    )
    assert (done.returncode, done.stderr) == (CLEAN, "")
    found = re.fullmatch(r"\d+ packets read, 100 cut short by (\d+) bytes\n", done.stdout)
    assert found and int(found[1]) > 100


@pytest.mark.skipif("CARRY_SANITIZED" in os.environ, reason="Python is not built with sanitizers")
def test_in_a_runtime_that_handles_faults() -> None:
    """Copies survive faults in a Python process, whose faulthandler still reports other faults."""
    done = subprocess.run(
        [sys.executable, "-c", IN_PYTHON, str(BUILD / "src/libcarry.so")],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.stdout == "0 {64} 4000\n"
    assert done.returncode < 0 and "Fatal Python error: Segmentation fault" in done.stderr
