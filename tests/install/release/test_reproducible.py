# SPDX-License-Identifier: MIT
"""Library and tool are equal when built again, and the comparison finds differences."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from conftest import SOURCE, say

# The options that the comparison sets, and a program that shows a value of the build.
OPTIONS = """option('tool', type: 'feature')
option('python', type: 'feature')
option('tests', type: 'boolean')
"""
MESON = """project('t', 'c')
value = {value}
executable('t', 't.c', install: true, c_args: '-DVALUE="' + value + '"')
"""
PROGRAM = "#include <stdio.h>\nint main(void) { return puts(VALUE __FILE__) < 0; }\n"
SAID = "run_command('sh', '-c', '{command}', check: true).stdout().strip()"
MUTANTS = {
    "folder": "meson.current_build_dir()",
    "time": SAID.format(command="date +%F"),
    "umask": SAID.format(command="umask"),
}

needs_reprotest = pytest.mark.skipif(
    not shutil.which("reprotest"), reason="reprotest is not installed (Debian package reprotest)"
)


def compared(folder: Path, value: str) -> int:
    (folder / "meson.build").write_text(MESON.format(value=value))
    (folder / "meson_options.txt").write_text(OPTIONS)
    (folder / "t.c").write_text(PROGRAM)
    return say(SOURCE / "scripts/check_reproducible.py", folder)[0]


@needs_reprotest
def test_same(tmp_path: Path) -> None:
    """A build in another environment has the same bytes."""
    assert compared(tmp_path, "'the same'") == 0


@needs_reprotest
@pytest.mark.parametrize("name", MUTANTS)
def test_differs(tmp_path: Path, name: str) -> None:
    assert compared(tmp_path, MUTANTS[name]) == 1


@needs_reprotest
def test_builds_nothing(tmp_path: Path) -> None:
    """A build that fails is not reported as equal."""
    assert compared(tmp_path, "no_such_value") == 1


@needs_reprotest
def test_all_was_compared(release: Path) -> None:
    """SHA256SUMS lists the tool, a manual page, a header and both static libraries."""
    sums = (release / "builds/SHA256SUMS").read_text()
    found = {Path(line.split("  ")[1]).name for line in sums.splitlines()}
    assert {"carry", "carry.1", "carry.h", "libcarry.a", "libcarry-capture.a"} <= found
