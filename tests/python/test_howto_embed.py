# SPDX-License-Identifier: MIT
"""The how-to on kernels: its files and commands, as it has them, make a program that runs."""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path

import pytest
from conftest import SOURCE
from test_tutorials import commands

PAGE = SOURCE / "docs/howto/embed-in-a-kernel.md"
FILE = re.compile(r"Write `([\w.]+)`(?:(?!```).)*?^```c\n(.*?)^```", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="the page is on x86-64")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The sources that the page names, and its own files."""
    for folder in ("include", "src"):
        (tmp_path / folder).symlink_to(SOURCE / folder)
    for name, text in FILE.findall(PAGE.read_text()):
        (tmp_path / name).write_text(text)
    return tmp_path


def run(tree: Path, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", command], cwd=tree, capture_output=True, text=True)


def test_commands(tree: Path) -> None:
    ran = 0
    for command, output in commands(PAGE):
        done = run(tree, command)
        assert (done.returncode, done.stdout, done.stderr) == (0, output, ""), command
        ran += 1
    assert ran == 4


def test_the_files_have_no_warnings(tree: Path) -> None:
    done = run(tree, "gcc -Wall -Wextra -Werror -fsyntax-only -Iinclude -Isrc host.c try.c")
    assert done.stderr == ""


def test_nothing_in_the_host_can_be_left_out(tree: Path) -> None:
    (core, _), _, (link, _), _ = commands(PAGE)
    assert run(tree, core).returncode == 0
    host = (tree / "host.c").read_text()
    names = set(re.findall(r"^[\w *]*?(carry_host_\w+)(?= =|\()", host, re.MULTILINE))
    assert len(names) > 10
    for name in names:
        (tree / "host.c").write_text(re.sub(rf"\b{name}\b(?= =|\()", "other", host))
        done = run(tree, link)
        assert done.returncode
        assert name in done.stderr


def test_the_reference_names_each_header_of_hosts() -> None:
    named = set(re.findall(r"`base/(\w+\.h)`", (SOURCE / "docs/kernel.md").read_text()))
    headers = {path.name for path in (SOURCE / "src/base").glob("*host.h")}
    assert named == headers - {"hook_host.h"}  # hooks are for processes
