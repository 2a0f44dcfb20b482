# SPDX-License-Identifier: MIT
"""Command lines in documents: each command and option exists; the commands of README.md print what
README.md shows.

The commands of tutorials and how-tos run completely (test_tutorials.py, test_howto_*.py).
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from carry_tool import SOURCE
from test_documents import DOCUMENTS
from test_manual import PARTS

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:carry|make|bench/\w+\.py|scripts/\w+) [^`\n]+)`")
OPTION = re.compile(r"(?<![\w-])--?[a-zA-Z0-9][\w-]*")
START = re.compile(r"(?:carry|make|bench/\w+\.py|scripts/\w+(?:\.py)?)(?: |$)")


def command_of(line: str) -> list[str]:
    """Returns the words of a shell line up to a pipe or a file; no words if the line is not
    tested."""
    line = re.split(r" {2,}#|[|>;]", line.removeprefix("$ "))[0]
    line = re.sub(r"^(?:[A-Z_]+=\S* )+", "", line)
    return [word.strip("[]") for word in shlex.split(line)] if START.match(line) else []


def shells(text: str) -> list[str]:
    """Returns the blocks of a document that show a terminal, or lines for one."""
    return [shown for language, shown in BLOCK.findall(text) if language in ("", "console")]


def command_lines() -> Iterator[tuple[str, list[str]]]:
    for document in DOCUMENTS:
        if document.stem.startswith("add-"):
            continue
        text = document.read_text()
        shown = [line for block in shells(text) for line in block.splitlines()]
        for line in [*shown, *INLINE.findall(BLOCK.sub("", text))]:
            if words := command_of(line):
                yield f"{document.relative_to(SOURCE)}: {shlex.join(words)}", words


LINES = dict(command_lines())


def used_options(words: list[str]) -> set[str]:
    """Returns the options as a help text shows them: without values, and one letter after one
    dash."""
    options = {word.partition("=")[0] for word in words if re.match("--?[^0-9-]", word)}
    return {name if name.startswith("--") else name[:2] for name in options}


@functools.cache
def help_of(*command: str | Path) -> str:
    done = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
    return done.stdout


def check_options(words: list[str], *command: str | Path) -> None:
    assert used_options(words) <= {"--help", *OPTION.findall(help_of(*command))}


def check_make(words: list[str]) -> None:
    folder = SOURCE / (words[words.index("-C") + 1] if "-C" in words else ".")
    rest = [word for word in words[1:] if "=" not in word]
    targets = rest[2:] if "-C" in words else rest
    rules = (folder / "Makefile").read_text()
    for target in targets:
        assert re.search(rf"^{re.escape(target)}:", rules, re.M) or target.startswith("packages-")
    for setting in words[1:]:
        assert "=" not in setting or re.search(
            rf"\b{re.escape(setting.partition('=')[0])}\b", rules
        )


def carry_command(words: list[str]) -> list[str]:
    """Returns the command of `carry`, and its subcommand; [] for `carry FILE`, which has no
    command."""
    names = [word for word in words if not word.startswith("-")]
    if not names or names[0].isupper():
        return []
    return names[:2] if names[0] in PARTS else names[:1]


def interpreter(program: str) -> list[str]:
    return [sys.executable] if program.endswith(".py") else []


def need_plots() -> None:
    """Skips the test if the benchmark cannot start (measure/needs.py)."""
    for name in ("matplotlib", "numpy"):
        if not importlib.util.find_spec(name):
            pytest.skip(f"{name} is not installed (Debian package python3-{name})")


def check(words: list[str], tool: str) -> None:
    program, *rest = words
    if program == "make":
        check_make(words)
    elif program == "carry":
        check_options(rest, tool, *carry_command(rest))
    else:
        assert os.access(SOURCE / program, os.X_OK)
        if program.startswith("bench/"):
            need_plots()
        check_options(rest, *interpreter(program), SOURCE / program)


def test_documents_have_command_lines() -> None:
    assert len(LINES) > 80
    assert {words[0] for words in LINES.values()} >= {"carry", "make", "bench/run.py"}


@pytest.mark.parametrize("line", LINES)
def test_documented_command_and_options_exist(line: str, tool: str) -> None:
    check(LINES[line], tool)


@pytest.mark.parametrize(
    "line", ["carry chek", "carry check --jsn", "make tset", "make FOO=1 test", "bench/run.py --x"]
)
def test_unknown_command_or_option_is_found(line: str, tool: str) -> None:
    with pytest.raises((AssertionError, subprocess.CalledProcessError)):
        check(command_of(line), tool)


def test_the_readme_shows_what_carry_prints(tool: str) -> None:
    blocks = shells((SOURCE / "README.md").read_text())
    parts = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.M)[1:]]
    assert parts
    for part in parts:
        line, _, output = part.partition("\n")
        command = [tool, *command_of(line)[1:]]
        done = subprocess.run(command, cwd=SOURCE, capture_output=True, text=True)
        assert done.stdout.splitlines() == output.rstrip().splitlines()
