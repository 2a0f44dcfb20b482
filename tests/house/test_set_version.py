# SPDX-License-Identifier: MIT
"""scripts/set_version.py: all files contain one version, and a new one is written to each."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from carry_tool import CLEAN, SOURCE

sys.path.insert(0, str(SOURCE / "scripts"))
import set_version

FILES = sorted({path for path, _ in set_version.PLACES})


def run_script(folder: Path, *words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [folder / "scripts" / words[0], *words[1:]], capture_output=True, text=True
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for path in [*FILES, "scripts/version", "scripts/set_version.py"]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / path, tmp_path / path)
    return tmp_path


def test_all_files_have_one_version() -> None:
    """All files of the project contain the same version."""
    assert run_script(SOURCE, "set_version.py", "--check") == (CLEAN, "", "")


@pytest.mark.parametrize("path", FILES)
def test_forgotten_file_is_reported(copy: Path, path: str) -> None:
    old = (copy / path).read_text()
    assert run_script(copy, "set_version.py", "13.10.3") == (CLEAN, "", "")
    assert run_script(copy, "version") == (CLEAN, "13.10.3\n", "")
    assert "13" in (copy / path).read_text()
    (copy / path).write_text(old)
    status, _, said = run_script(copy, "set_version.py", "--check")
    # If the first file has another version, all others are wrong.
    wrong = FILES if path == "include/carry/base.h" else [path]
    assert status == 1
    assert {line.split(":")[0] for line in said.splitlines()} <= set(wrong)
    (copy / path).write_text("")
    status, _, said = run_script(copy, "set_version.py", "--check")
    assert status == 1 and said


def test_news_of_a_release_are_kept(copy: Path) -> None:
    news = copy / "NEWS.md"
    news.write_text("# News\n\nnewest first.\n\n## 0.2.0, 2026-12-01\n\n- Old.\n")
    assert run_script(copy, "set_version.py", "0.3.0") == (CLEAN, "", "")
    assert "## 0.3.0, not yet released\n\n## 0.2.0, 2026-12-01\n" in news.read_text()


@pytest.mark.parametrize("words", [[], ["0.3"], ["0.3.0", "0.4.0"], ["--help"]])
def test_wrong_usage_shows_the_usage(copy: Path, words: list[str]) -> None:
    assert run_script(copy, "set_version.py", *words) == (
        2,
        "",
        "usage: set_version.py VERSION | --check\n",
    )
    assert run_script(copy, "version") == run_script(SOURCE, "version")
