# SPDX-License-Identifier: MIT
"""Fixtures and helpers of the tests of libcarry for Python. PYTHONPATH must contain the package;
CARRY_TOOL is the command."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

try:
    import hypothesis
except ImportError:  # the tests with hypothesis are skipped
    pass
else:  # tests have no time limit, and store no examples
    hypothesis.settings.register_profile("patient", deadline=None, database=None)
    hypothesis.settings.load_profile("patient")

SOURCE = Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(SOURCE / "tests/harness"))

# Handles SIGINT as in a terminal: shells start background jobs with SIGINT ignored.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def many(count: int) -> bytes:
    """Returns a capture of `count` packets with a bad sum."""
    import captures

    capture = captures.pcap([captures.ethernet(captures.packet(captures.UDP, sums="bad"))])
    return capture[:24] + capture[24:] * count


def fragments(number: int = 0) -> list[bytes]:
    """Returns the fragments of a UDP datagram with a bad sum; `number` is in its content and its
    identification."""
    import captures

    whole, frames = captures.packet(captures.UDP, bytes((number,)) * 24, sums="bad"), []
    for start, place in ((20, 0x2000), (36, 2)):
        ip = captures.network("10.0.0.5", "10.0.0.9", captures.UDP, whole[start : start + 16])
        ip = captures.put16(captures.put16(ip, 6, place), 10, 0)
        if number:
            ip = captures.put16(ip, 4, number)
        frames.append(captures.ethernet(captures.put16(ip, 10, captures.finish(ip[:20]))))
    return frames


EXAMPLES = sorted((SOURCE / "examples").glob("*.pcap*"))
CORPUS = Path(os.environ.get("CARRY_CORPUS", SOURCE.parent / "shared/captures"))

Script = Callable[..., subprocess.CompletedProcess[str]]


def corpus() -> list[Path]:
    return sorted(path for path in CORPUS.iterdir() if path.is_file()) if CORPUS.is_dir() else []


@pytest.fixture(scope="session")
def tool() -> str:
    return os.environ.get("CARRY_TOOL", str(SOURCE / "build/tools/carry/carry"))


@pytest.fixture(scope="session")
def tool_json(tool: str) -> Callable[..., dict[str, Any]]:
    """Returns a function that runs the command and returns the JSON that the command prints."""

    def run(*arguments: str | Path) -> dict[str, Any]:
        done = subprocess.run([tool, *map(str, arguments)], capture_output=True, timeout=600)
        return json.loads(done.stdout)

    return run


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Returns a function that runs a Python program in another process with this environment."""

    def run(text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", text, *arguments],
            capture_output=True,
            text=True,
            timeout=300,
            cwd=tmp_path,
        )

    return run
