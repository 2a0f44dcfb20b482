# SPDX-License-Identifier: MIT
"""The how-to on kernels: its files and commands, copied unchanged, make a program that runs."""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path

import pytest
from carry_tool import SOURCE
from test_tutorials import commands

PAGE = SOURCE / "docs/howto/embed-in-a-kernel.md"
CORE, *OTHERS = commands(PAGE)  # the first compiles the core
FILE = re.compile(r"Write `([\w.]+)`(?:(?!```).)*?^```c\n(.*?)^```", re.MULTILINE | re.DOTALL)

pytestmark = [
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the page is on x86-64"),
]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prepares the sources that the page names, its own files, and the core, which is compiled
    once."""
    tree = tmp_path_factory.mktemp("embed")
    for folder in ("include", "src"):
        (tree / folder).symlink_to(SOURCE / folder)
    for name, text in FILE.findall(PAGE.read_text()):
        (tree / name).write_text(text)
    expect(tree, *CORE)
    return tree


def run(tree: Path, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", command], cwd=tree, capture_output=True, text=True)


def expect(tree: Path, command: str, output: str) -> None:
    done = run(tree, command)
    assert (done.returncode, done.stdout, done.stderr) == (0, output, ""), command


def test_commands(tree: Path) -> None:
    """The commands of the page print the documented output."""
    assert len(OTHERS) == 3
    for command, output in OTHERS:
        expect(tree, command, output)


def test_the_files_have_no_warnings(tree: Path) -> None:
    done = run(tree, "gcc -Wall -Wextra -Werror -fsyntax-only -Iinclude -Isrc host.c try.c")
    assert done.stderr == ""


def test_every_host_function_is_needed(tree: Path) -> None:
    """The program needs each host function: the linker reports a missing function for each that is
    renamed."""
    _, (link, _), _ = OTHERS
    host = (tree / "host.c").read_text()
    names = set(re.findall(r"^[\w *]*?(carry_host_\w+)(?= =|\()", host, re.MULTILINE))
    assert len(names) > 10
    renamed = re.sub(r"\bcarry_(?=host_\w+(?: =|\())", "other_", host)
    assert not names & set(re.findall(r"\w+(?= =|\()", renamed))
    (tree / "host.c").write_text(renamed)
    done = run(tree, link)
    (tree / "host.c").write_text(host)
    assert done.returncode
    assert names <= set(re.findall(r"undefined reference to `(\w+)'", done.stderr))


def test_the_reference_names_each_header_of_hosts() -> None:
    named = set(re.findall(r"`base/(\w+\.h)`", (SOURCE / "docs/kernel.md").read_text()))
    headers = {path.name for path in (SOURCE / "src/base").glob("*host.h")}
    assert named == headers - {"hook_host.h"}  # hooks are for processes only
