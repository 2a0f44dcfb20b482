# SPDX-License-Identifier: MIT
"""The checker of circles finds files that use each other, and unused exceptions."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from carry_tool import SOURCE

BUILD = Path(os.environ.get("CARRY_BUILD", SOURCE / "build"))
CHECKER = "scripts/check_circles.py"

ONE_WAY = {
    "src/base/low.c": "int low(void) { return 1; }",
    "src/base/high.c": "int low(void); int high(void) { return low(); }",
}
TWO_FILES = {
    "src/sum/a.c": "int b(void); int a(void) { return b(); }",
    "src/sum/b.c": "int a(void); int b(void) { return a(); }",
}
THROUGH_AN_ARCHITECTURE = {
    "src/sum/a.c": "extern int b; int *a(void) { return &b; }",
    "src/sum/x86_64/b.c": "int c(void); int (*b)(void) = c;",
    "src/sum/c.c": "int *a(void); int c(void) { return *a(); }",
}
TWO_FOLDERS = {
    "tools/carry/bench/a.c": TWO_FILES["src/sum/a.c"],
    "tools/carry/common/b.c": TWO_FILES["src/sum/b.c"],
}
DELIBERATE = {
    "src/packet/packet.c": "int carry_packet_walk_b(void); int a(void) "
    "{ return carry_packet_walk_b(); }",
    "src/packet/b.c": "int a(void); int carry_packet_walk_b(void) { return a(); }",
}


def check(root: Path, build: Path) -> tuple[int, list[str]]:
    command = [sys.executable, root / CHECKER, build]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def compile_file(root: Path, file: str, text: str) -> dict[str, str]:
    """Compiles a file; returns its row of compile_commands.json."""
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    made = file.replace("/", "_") + ".o"
    subprocess.run(["cc", "-O0", "-c", path, "-o", root / made], check=True)
    return {"directory": str(root), "file": file, "output": made}


def check_files(root: Path, files: dict[str, str]) -> tuple[int, list[str]]:
    (root / "scripts").mkdir()
    shutil.copy(SOURCE / CHECKER, root / CHECKER)
    rows = [compile_file(root, file, text) for file, text in files.items()]
    (root / "compile_commands.json").write_text(json.dumps(rows))
    return check(root, root)


def test_sources_have_no_circle() -> None:
    status, lines = check(SOURCE, BUILD)
    assert status == 0, lines
    count = int(re.fullmatch(r"(\d+) files: 0 circles", lines[-1])[1])
    assert count > 100


@pytest.mark.parametrize("files", [ONE_WAY, TWO_FOLDERS, DELIBERATE])
def test_accepts_uses_without_a_circle(tmp_path: Path, files: dict[str, str]) -> None:
    assert check_files(tmp_path, files) == (0, ["2 files: 0 circles"])


def test_finds_two_files(tmp_path: Path) -> None:
    status, lines = check_files(tmp_path, ONE_WAY | TWO_FILES)
    assert status == 1
    assert lines == [
        "2 files use each other:",
        "  src/sum/a.c uses b of src/sum/b.c",
        "  src/sum/b.c uses a of src/sum/a.c",
        "4 files: 1 circles",
    ]


def test_finds_a_circle_through_others(tmp_path: Path) -> None:
    status, lines = check_files(tmp_path, THROUGH_AN_ARCHITECTURE)
    assert (status, lines[0]) == (1, "3 files use each other:")
    assert "  src/sum/a.c uses b of src/sum/x86_64/b.c" in lines


def test_deliberate_uses_must_be_there(tmp_path: Path) -> None:
    files = {"src/packet/packet.c": "int a(void) { return 0; }"}
    status, lines = check_files(tmp_path, files)
    assert status == 1
    assert lines[0].startswith("src/packet/packet.c: uses no carry_packet_walk_*")


def test_a_build_without_objects_proves_nothing(tmp_path: Path) -> None:
    assert check_files(tmp_path, {}) == (1, ["0 files: 0 circles"])
