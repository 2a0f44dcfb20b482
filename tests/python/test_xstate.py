# SPDX-License-Identifier: MIT
"""`carry xstate`: what it says of registers that these tests know; never of times."""

from __future__ import annotations

import json
import os
import platform
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from conftest import CLEAN, ERROR, SOURCE, Run

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="extended state is of x86-64"
)


def parts() -> list[str]:
    table = (SOURCE / "tools/carry/xstate_parts.def").read_text()
    return re.findall(r"^CARRY_XSTATE_PART\((\w+)", table, re.MULTILINE)


def components() -> dict[int, str]:
    table = (SOURCE / "include/carry/components.def").read_text()
    rows = re.findall(r"^CARRY_COMPONENT\((\d+), (\w+)", table, re.MULTILINE)
    return {int(bit): name for bit, name in rows}


def show(carry: Run, *arguments: str, mask: str = "", status: int = CLEAN) -> dict[str, Any]:
    env = {**os.environ, "CARRY_CPU_MASK": mask}
    done = carry("xstate", *arguments, "--json", env=env)
    assert (done.returncode, done.stderr) == (status, "")
    return json.loads(done.stdout)


# --- All parts ---


def test_help_lists_the_parts(carry: Run) -> None:
    for arguments in (["xstate"], ["xstate", "--help"], ["help", "xstate"]):
        done = carry(*arguments)
        assert (done.returncode, done.stderr) == (CLEAN, "")
        assert all(re.search(rf"^  {part} ", done.stdout, re.MULTILINE) for part in parts())


@pytest.mark.parametrize("part", parts())
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_of_a_part(carry: Run, part: str, option: str) -> None:
    done = carry("xstate", part, option)
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert done.stdout.startswith(f"Usage: carry xstate {part} ")
    assert "Examples:\n" in done.stdout and "Exit status" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("part", parts())
def test_an_unknown_option(carry: Run, part: str) -> None:
    done = carry("xstate", part, "--nosuch")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr.startswith(f"carry xstate {part}: ") and done.stderr.count("\n") == 1


def test_an_unknown_part(carry: Run) -> None:
    done = carry("xstate", "nosuch")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == "carry xstate: no part 'nosuch'; see carry xstate --help\n"


# --- layout ---


def flags() -> set[str]:
    text = Path("/proc/cpuinfo").read_text()
    return set(re.search(r"^flags\s*: (.*)$", text, re.MULTILINE)[1].split())


def test_layout_is_that_of_the_system(carry: Run) -> None:
    shown = show(carry, "layout")
    known = flags()
    assert shown["features"]["xsavec"] == ("xsavec" in known)
    assert shown["features"]["xsaveopt"] == ("xsaveopt" in known)
    assert shown["features"]["xgetbv1"] == ("xgetbv1" in known)
    named = {row["name"]: row for row in shown["components"]}
    assert {row["bit"]: row["name"] for row in named.values()}.items() <= components().items()
    assert {"X87", "SSE"} <= named.keys()
    assert ("AVX" in named) == ("avx" in known)
    assert ("HI16_ZMM" in named) == ("avx512f" in known)


def test_layout_has_no_overlaps(carry: Run) -> None:
    shown = show(carry, "layout")
    for form in ("standard", "compact"):
        placed = [row for row in shown["components"] if row[form] is not None]
        placed.sort(key=lambda row: row[form])
        for row, after in pairwise(placed):
            assert row[form] + row["size"] <= after[form]
        last = placed[-1]
        assert last[form] + last["size"] <= shown[f"{form}_size"]
    assert all(row["standard"] is None for row in shown["components"] if row["supervisor"])


def test_layout_says_what_the_library_saves(carry: Run) -> None:
    shown = show(carry, "layout")
    rows = {row["name"]: row for row in shown["components"]}
    assert sum(1 << row["bit"] for row in rows.values() if row["enabled"]) == shown["enabled"]
    assert sum(1 << row["bit"] for row in rows.values() if row["default"]) == shown["default"]
    assert not any(rows[name]["default"] for name in ("PKRU", "TILEDATA") if name in rows)


@pytest.mark.parametrize(("mask", "instruction"), [("xsavec", "XSAVE"), ("xsave", "FXSAVE")])
def test_layout_follows_the_mask(carry: Run, mask: str, instruction: str) -> None:
    before, after = show(carry, "layout"), show(carry, "layout", mask=mask)
    assert before["xcr0"] == after["xcr0"] and before["features"] == after["features"]
    assert after["saves_by"] == (instruction if "xsave" in flags() else "FXSAVE")
    assert after["enabled"] == (before["enabled"] if mask == "xsavec" else 3)


def test_layout_for_people(carry: Run) -> None:
    done = carry("xstate", "layout")
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\033" not in done.stdout
    for row in show(carry, "layout")["components"]:
        assert re.search(rf"^ +{row['bit']}  {row['name']} ", done.stdout, re.MULTILINE)


def test_layout_takes_no_argument(carry: Run) -> None:
    done = carry("xstate", "layout", "file")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert "unexpected argument 'file'" in done.stderr
