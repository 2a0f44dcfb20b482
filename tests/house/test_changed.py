# SPDX-License-Identifier: MIT
"""scripts/testing/changed.py selects the tests for a change of the working tree."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from carry_tool import SOURCE

sys.path.insert(0, str(SOURCE / "scripts"))
from testing import changed, inputs
from testing.inputs import Tree, is_named

SUITES = {
    "src/packet/tcp.h": ["capture", "jit", "packet"],
    "include/carry/packet.h": ["capture", "jit", "packet"],
    "capture/pcap.c": ["capture"],
    "tools/carry/check/carry_check.c": ["tool"],
    "jit/jit_sum.h": ["jit"],
    "src/sum/x86_64/avx2.S": ["capture", "jit", "packet", "sum"],
    "include/carry/crc.h": ["capture", "jit", "packet", "sum"],
    "src/kernel/kernel.h": ["capture", "copy", "hook", "jit", "packet", "sum", "xstate"],
    "include/carry/patch/x86_64.h": [
        *("capture", "copy", "hook", "jit", "packet", "patch", "sum", "xstate")
    ],
    "src/meson.build": [],
    "docs/sum.md": [],
}


@pytest.mark.parametrize("file", SUITES)
def test_module_is_tested_with_all_modules_above_it(file: str) -> None:
    assert changed.suites_of([file]) == SUITES[file]


def test_the_base_is_below_everything() -> None:
    found = changed.suites_of(["src/base/bytes.h"])
    assert {"cpu", "patch", "sum", "packet", "capture"} <= {*found}


def test_suites_are_those_of_the_build() -> None:
    """Each suite exists in the build: a suite that does not exist would test nothing."""
    texts = [path.read_text() for path in SOURCE.rglob("meson.build") if "build" not in path.parts]
    for suite in changed.suites_of(str(path) for path in Tree().files):
        assert any(f"'{suite}'" in text for text in texts), suite


def test_each_file_of_the_table_exists() -> None:
    files = Tree().files
    texts = [path.read_text() for path in (SOURCE / "tests").rglob("*.py")]
    for names, marker, tests in changed.PYTHON_TESTS:
        assert [n for n in names if not any(is_named(file, [n]) for file in files)] == []
        assert not marker or any(f"pytest.mark.{marker}" in text for text in texts)
        assert [word for word in tests.split() if not (SOURCE / "tests" / word).exists()] == []


def test_changed_and_new_files_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed, "ROOT", tmp_path)
    monkeypatch.setattr(inputs, "ROOT", tmp_path)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", str(tmp_path)]
    (tmp_path / "same").write_text("same")
    (tmp_path / "with space").write_text("old")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *command], check=True)
    (tmp_path / "with space").write_text("new")
    (tmp_path / "more").touch()
    assert changed.differing("HEAD") == ["more", "with space"]


def test_a_changed_test_is_run_itself() -> None:
    markers, files = changed.python_choices(["tests/house/test_changed.py", "capture/pcap.c"])
    assert files == ["house/test_changed.py"]
    assert markers == ["covers_capture"]


def test_change_of_the_harness_runs_all_tests_in_c(tmp_path: Path) -> None:
    """A change of the harness affects all tests in C, because it is a library that each test
    links."""
    (tmp_path / "meson-info").mkdir()
    tests = [{"name": "sum", "cmd": [str(tmp_path / "tests/test_sum")]}]
    (tmp_path / "meson-info/intro-tests.json").write_text(json.dumps(tests))
    (tmp_path / "build.ninja").touch()
    assert changed.dependents(tmp_path, ["tests/harness/tap.c"]) == ["sum"]
    assert changed.dependents(tmp_path, ["tests/unit/test_crc.c"]) == []


def test_files_without_a_test_are_named() -> None:
    assert changed.is_known("src/packet/tcp.h") and changed.is_known("tests/harness/tap.c")
    assert changed.is_known("docs/sum.md") and changed.is_known("tests/tool/test_check.py")
    assert not changed.is_known("packaging/conan/conanfile.py")
