# SPDX-License-Identifier: MIT
"""Tutorials and how-tos: every command and program in them runs, and prints the documented
output."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from carry_tool import SOURCE

# Pages on the sources have tests of their own; pages on measurements need other machines.
PAGES = sorted(
    path
    for folder in ("tutorial", "howto")
    for path in SOURCE.glob(f"docs/{folder}/*.md")
    if not path.stem.startswith(("add-", "embed-", "measure-"))
)
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROGRAM = re.compile(r"^```c\n(.*?)^```.*?^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
LIBRARY = Path(os.environ.get("CARRY_BUILD", SOURCE / "build")) / "src/libcarry.a"


def commands(page: Path) -> Iterator[tuple[str, str]]:
    """Yields each command of a page, with its output."""
    for block in CONSOLE.findall(page.read_text()):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield command, output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for path in SOURCE.glob("examples/*.pcap*"):
        shutil.copy(path, tmp_path)
    shutil.copytree(SOURCE / "examples/causes", tmp_path / "causes")
    return tmp_path


WITH_COMMANDS = [page for page in PAGES if CONSOLE.search(page.read_text())]
WITH_PROGRAM = [page for page in PAGES if "```c\n" in page.read_text()]
IN_PYTHON = [page for page in PAGES if "```python\n" in page.read_text()]  # see tests/unit/bindings


def test_every_page_shows_something() -> None:
    assert {*WITH_COMMANDS, *WITH_PROGRAM, *IN_PYTHON} == set(PAGES)
    assert len(WITH_COMMANDS) > 1
    assert len(WITH_PROGRAM) > 1


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: page.stem)
def test_commands(page: Path, folder: Path, tool: str) -> None:
    """The commands of a page print the documented output, in the folder of examples."""
    path = f"{Path(tool).parent}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8"}
    for command, output in commands(page):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert sorted(done.stdout.splitlines()) == sorted(output.splitlines()), command


@pytest.mark.skipif("CARRY_SANITIZED" in os.environ, reason="the library needs its sanitizers")
@pytest.mark.parametrize("page", WITH_PROGRAM, ids=lambda page: page.stem)
def test_program(page: Path, tmp_path: Path) -> None:
    """The program of a page compiles, and prints the documented output."""
    (found,) = PROGRAM.findall(page.read_text())
    source, program = tmp_path / "first.c", tmp_path / "first"
    source.write_text(found[0])
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", f"-I{SOURCE / 'include'}"]
    command = ["gcc", *flags, "-o", program, source, LIBRARY, "-lpthread", "-ldl"]
    subprocess.run([str(word) for word in command], check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert done.stdout == found[1]
