# SPDX-License-Identifier: MIT
"""What the tests of the tool share: how to run it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).resolve().parent.parent.parent

Run = Callable[..., subprocess.CompletedProcess[str]]
Check = Callable[[bytes], tuple[int, dict[str, Any]]]


@pytest.fixture(scope="session")
def tool() -> str:
    """The tool under test: CARRY_TOOL, or where `make` leaves it."""
    path = Path(os.environ.get("CARRY_TOOL", SOURCE / "build/tools/carry/carry"))
    assert path.is_file(), f"{path} is missing: build it, or set CARRY_TOOL"
    return str(path)


@pytest.fixture(scope="session")
def carry(tool: str) -> Run:
    """Runs the tool and returns what it printed, and its exit status."""

    def run(
        *arguments: str | Path, stdin: bytes | None = None, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [tool, *map(str, arguments)], input=stdin, env=env, capture_output=True, timeout=60
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    return run


@pytest.fixture(scope="session")
def check(carry: Run) -> Check:
    """Checks the bytes of a capture: the exit status, and the JSON object."""

    def run(data: bytes) -> tuple[int, dict[str, Any]]:
        done = carry("check", "--json", "-", stdin=data)
        assert done.stderr == ""
        return done.returncode, json.loads(done.stdout)

    return run
