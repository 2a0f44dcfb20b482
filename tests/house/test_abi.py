# SPDX-License-Identifier: MIT
"""The comparison with the recorded ABI finds changes that break programs, unless NEWS.md names
them."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from carry_tool import SOURCE, not_short

BUILD = Path(os.environ.get("CARRY_BUILD", SOURCE / "build"))

pytestmark = [
    pytest.mark.skipif(not shutil.which("abidiff"), reason="no abidiff (abigail-tools)"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the record is that of x86-64"),
    pytest.mark.skipif("CARRY_SANITIZED" in os.environ, reason="sanitizers change the libraries"),
]


def check(records: Path, news: Path) -> tuple[int, str]:
    command = [sys.executable, SOURCE / "scripts/check_abi.py", BUILD]
    done = subprocess.run(
        [*command, "--records", records, "--news", news],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def unnamed(records: Path, news: Path) -> set[str]:
    """Returns the functions that have changed since the records were made."""
    news.write_text("# News\n\n## 0.2.0\n")
    return set(re.findall(r"(\w+) changed, and NEWS.md", check(records, news)[1]))


@pytest.mark.parametrize(
    ("library", "old", "new", "name"),
    [
        ("libcarry", "carry_sum_fold", "carry_sum_gone", "carry_sum_gone"),
        pytest.param(
            "libcarry-capture",
            "name='carry_capture_finding' size-in-bits='",
            "name='carry_capture_finding' size-in-bits='1",
            "carry_capture_check",
            marks=not_short,
        ),
    ],
)
def test_news_must_name_a_break(
    tmp_path: Path, library: str, old: str, new: str, name: str
) -> None:
    records, news = tmp_path / "abi", tmp_path / "NEWS.md"
    shutil.copytree(SOURCE / "abi", records)
    path = records / "x86_64" / f"{library}.abi"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    grown = "".join(f"- `{each}()` has grown.\n" for each in unnamed(SOURCE / "abi", news) - {name})
    news.write_text(f"# News\n\n## 0.2.0\n\n{grown}\n## 0.1.0\n\n- `carry_sum_gone()`\n")
    status, said = check(records, news)
    assert (status, f"{name} changed, and NEWS.md does not name it" in said) == (1, True)
    news.write_text(f"# News\n\n## 0.2.0\n\n{grown}- `{name}()` has changed.\n")
    assert check(records, news)[0] == 0


def test_records_name_only_files_of_the_project() -> None:
    for record in (SOURCE / "abi").glob("*/*.abi"):
        paths = re.findall(r" path='([^']+)'", record.read_text())
        assert paths
        for path in paths:
            assert not path.startswith(("/", "."))
            assert (SOURCE / path).is_file()


def test_build_agrees_with_the_record() -> None:
    status, said = check(SOURCE / "abi", SOURCE / "NEWS.md")
    assert status == 0, said
