# SPDX-License-Identifier: MIT
"""The how-tos on additions: in a copy of the sources, each addition needs only one file and one
row."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from carry_tool import SOURCE, not_short
from test_tutorials import commands

PAGES = sorted(SOURCE.glob("docs/howto/add-*.md"))
FENCED = r":\n\n```\w+\n(?P<text>.*?)^```"
FILE = re.compile(r"[Ww]rite `(?P<path>[\w./-]+)`[^`]*?" + FENCED, re.MULTILINE | re.DOTALL)
ROW = re.compile(
    r"Add this row (?:at the end of|to) `(?P<path>[\w./-]+)`(?:, after the row `(?P<after>[^`]+)`)?"
    + FENCED,
    re.MULTILINE | re.DOTALL,
)
NOT_SOURCES = shutil.ignore_patterns("build", "build-*", ".git", "__pycache__", "results", "shared")

# The output of ninja if the commands of an earlier page have built this page's additions, too.
BUILT = "ninja: no work to do.\n"

pytestmark = [
    pytest.mark.skipif("CARRY_SANITIZED" in os.environ, reason="built without sanitizers"),
    pytest.mark.skipif(not shutil.which("meson"), reason="no meson"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the kernel is of x86-64"),
]


def add_row(table: Path, after: str | None, row: str) -> None:
    text = table.read_text()
    at = text.index("\n", text.index(f"({after},")) + 1 if after else len(text)
    table.write_text(text[:at] + row + text[at:])


def apply(page: Path, tree: Path) -> None:
    text = page.read_text()
    for found in FILE.finditer(text):
        assert not (tree / found["path"]).exists()
        (tree / found["path"]).write_text(found["text"])
    rows = list(ROW.finditer(text))
    assert len(rows) == 1
    add_row(tree / rows[0]["path"], rows[0]["after"], rows[0]["text"])


def copied(folder: Path) -> Path:
    """Copies the sources, and makes the additions of all pages."""
    tree = folder / "libcarry"
    shutil.copytree(SOURCE, tree, ignore=NOT_SOURCES)
    for page in PAGES:
        apply(page, tree)
    return tree


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a copy with all additions, so that most files are compiled once."""
    tree = copied(tmp_path_factory.mktemp("howto"))
    setup = ["meson", "setup", "-Dtool=enabled", "-Djit=disabled", "-Doptimization=1", "build"]
    subprocess.run(setup, cwd=tree, check=True, capture_output=True)
    return tree


def test_the_pages_are_here() -> None:
    assert [page.stem for page in PAGES] == ["add-a-command", "add-a-kernel", "add-a-protocol"]


def test_the_sources_have_the_places_that_the_pages_name(tmp_path: Path) -> None:
    copied(tmp_path)


@not_short
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_additions(page: Path, tree: Path) -> None:
    """The commands of a page print the documented output, with all additions built."""
    ran = 0
    for command, output in commands(page):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=tree,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.stdout.replace(BUILT, "") == output, command
        ran += 1
    assert ran > 2
