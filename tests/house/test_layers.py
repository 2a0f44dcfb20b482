# SPDX-License-Identifier: MIT
"""The checker of layers draws them, and refuses includes that contradict them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from carry_tool import SOURCE

FOLDERS = ("include", "src", "capture", "jit", "tools")


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("layers")
    for folder in FOLDERS:
        shutil.copytree(SOURCE / folder, root / folder)
    (root / "scripts").mkdir()
    shutil.copy(SOURCE / "scripts/check_layers.py", root / "scripts")
    return root


def check(root: Path) -> tuple[int, list[str]]:
    command = [sys.executable, root / "scripts/check_layers.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def test_draws_the_layers(tree: Path) -> None:
    """The checker draws the layers of core, capture library and command."""
    status, lines = check(tree)
    assert status == 0
    assert lines[0].startswith("the core, from the bottom up: base <- cpu <- { patch, xstate } <- ")
    assert lines[1] == "libcarry-capture: tables <- { reading, datagrams, accounts } <- work"
    folders = "common <- { audit, check, selftest, sites, xstate } <- live <- bench <- cpu"
    assert lines[2] == f"the command: {folders}"
    assert lines[3].endswith(" 0 against the layers")


@pytest.mark.parametrize(
    ("file", "include", "reason"),
    [
        ("src/sum/sum.c", '"packet/walk.h"', "sum is not above packet"),
        ("src/cpu/cpu.c", "<carry/patch.h>", "cpu is below patch"),
        (
            "tools/carry/sites/run.c",
            '"kernels/proven.def"',
            '"kernels/proven.def" is not a path from tools/carry/',
        ),
        ("src/cpu/cpu.c", "<stdio.h>", "the core includes no <stdio.h>"),
        ("src/cpu/cpu.c", '"none.h"', '"none.h" is not a path from src/'),
        ("src/hosted/host.c", '"patch/patch_internal.h"', "hosted includes base and its own files"),
        ("include/carry/sum.h", "<carry/packet.h>", "sum is below packet"),
        ("jit/code.cc", '"../src/base/host.h"', "jit/ includes its own files and public headers"),
        ("capture/pcap.c", '"summary.h"', "reading is not above accounts"),
        ("capture/senders.c", '"pipeline.h"', "accounts is not above work"),
        (
            "capture/check.c",
            '"../src/base/host.h"',
            "capture/ includes its own files and public headers",
        ),
        ("tools/carry/carry_cpu.c", "<asmjit/core.h>", "only jit/ includes asmjit"),
        ("tools/carry/carry_cpu.c", "<carry/none.h>", "<carry/none.h> is no public header"),
        (
            "tools/carry/carry_cpu.c",
            '"base/host.h"',
            '"base/host.h" is not a path from tools/carry/',
        ),
        ("tools/carry/sites/run.c", "<xstate/xstate_prof.h>", "sites/ is not above xstate/"),
        (
            "tools/carry/sites/run.c",
            '"common/../bench/load.h"',
            '"common/../bench/load.h" is not a path from tools/carry/',
        ),
        (
            "tools/carry/common/text.c",
            '"check/report.h"',
            "common/ is not above check/",
        ),
        ("tools/carry/sites/run.c", '"xstate/xstate_prof.h"', "sites/ is not above xstate/"),
        ("tools/carry/xstate/carry_xstate.c", '"bench/load.h"', "xstate/ is not above bench/"),
    ],
)
def test_refuses(tree: Path, file: str, include: str, reason: str) -> None:
    path = tree / file
    text = path.read_text()
    path.write_text(f"#include {include}\n{text}")
    status, lines = check(tree)
    path.write_text(text)
    assert (status, lines[0]) == (1, f"{file}:1: {reason}")
    assert lines[-1].endswith(" 1 against the layers")


def test_refuses_two_files_of_one_name(tree: Path) -> None:
    """Only files in the folder of an architecture may share a name."""
    names = ("src/cpu/commit.c", "src/cpu/x86_64/commit.c")
    for name in names:
        (tree / name).touch()
    status, lines = check(tree)
    for name in names:
        (tree / name).unlink()
    complaint = "src/patch/commit.c: src/cpu/commit.c has the same name"
    assert (status, [line for line in lines if "same name" in line]) == (1, [complaint])
