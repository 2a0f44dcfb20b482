# SPDX-License-Identifier: MIT
"""Documents on the package: every example in Python runs, and prints the documented output."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
from documents import SOURCE, copy_captures, environment, obstacle

PAGES = [SOURCE / "bindings/python/README.md", *sorted(SOURCE.glob("docs/**/*.md"))]
SESSION = re.compile(r"^```pycon\n(.*?)^```", re.M | re.S)
# A test file, and lines that pytest prints if a test in it fails.
TESTS = re.compile(r"^```python\n(.*?)^```\n(?:[^`]*?\n```text\n(.*?)^```)?", re.M | re.S)

WITH_SESSIONS = [page for page in PAGES if SESSION.search(page.read_text())]
WITH_TESTS = [
    pytest.param(*found, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, found in enumerate(TESTS.findall(page.read_text()))
    if "def test_" in found[0]
]

pytestmark = pytest.mark.skipif(bool(obstacle()), reason=obstacle())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy_captures(tmp_path)
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )


def test_they_are_found() -> None:
    assert {page.stem for page in WITH_SESSIONS} == {"README", "python"}
    assert len(WITH_TESTS) > 5


@pytest.mark.parametrize("page", WITH_SESSIONS, ids=lambda page: page.stem)
def test_sessions(page: Path, folder: Path) -> None:
    """All sessions of a page run in one interpreter."""
    (folder / "session").write_text("\n".join(SESSION.findall(page.read_text())))
    done = run(folder, "-m", "doctest", "-o", "FAIL_FAST", "session")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(("code", "said"), WITH_TESTS)
def test_tests(code: str, said: str, folder: Path) -> None:
    """Each documented test runs, and fails only with the documented message."""
    for name in ("scapy", "dpkt"):
        if name in code and not importlib.util.find_spec(name):
            pytest.skip(f"{name} is not installed")
    (folder / "test_example.py").write_text(code)
    done = run(folder, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_example.py")
    assert done.returncode == (1 if said else 0), done.stdout
    for line in said.splitlines():
        assert line in done.stdout
