# SPDX-License-Identifier: MIT
"""Completion for bash: it offers what --help lists."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import SOURCE

SCRIPT = SOURCE / "tools/carry/completion.bash"
TRY = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_carry
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(tool: str, *words: str) -> list[str]:
    env = {**os.environ, "PATH": f"{Path(tool).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", TRY, "bash", SCRIPT, "carry", *words],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["c"], ["check", "cpu"]),
        (["check", "--par"], ["--partial"]),
        (["check", "--no-t"], ["--no-tunnels"]),
        (["fix", "--o"], ["--only", "--output"]),
        (["bench", "s"], ["sum"]),
        (["xstate", "le"], ["leavers"]),
        (["check", "capture"], []),  # a file: bash completes it
    ],
)
def test_offers(tool: str, words: list[str], expected: list[str]) -> None:
    assert offered(tool, *words) == expected


def test_offers_every_subcommand_and_many_options(tool: str) -> None:
    table = (SOURCE / "tools/carry/commands.def").read_text()
    names = [
        line.split("(")[1].split(",")[0] for line in table.splitlines() if line[:6] == "CARRY_"
    ]
    assert offered(tool, "") == names
    for words in (["check"], ["fix"], ["explain"], ["cpu"], ["sites"], ["bench", "sum"]):
        assert "--help" in offered(tool, *words, "--")
