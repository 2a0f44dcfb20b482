# SPDX-License-Identifier: MIT
"""Fixtures of the tests of a release."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent.parent.parent
sys.path.insert(0, str(SOURCE / "scripts"))

OWN = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]


def say(
    *command: str | Path, folder: Path = SOURCE, env: Mapping[str, str] | None = None
) -> tuple[int, str, str]:
    """Returns the exit status, output and errors of a command."""
    done = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | dict(env or {}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=3600,  # ends a hanging command
    )
    return done.returncode, done.stdout, done.stderr


def git(folder: Path, *words: str | Path) -> str:
    status, output, errors = say("git", *OWN, *words, folder=folder)
    assert status == 0, errors
    return output.strip()


@pytest.fixture(scope="session")
def release() -> Path:
    """Returns the results of scripts/run_tests.py for these tests: dist/, builds/ and commit."""
    if "CARRY_RELEASE" not in os.environ:
        pytest.skip("no CARRY_RELEASE, which the step release sets")
    return Path(os.environ["CARRY_RELEASE"])
