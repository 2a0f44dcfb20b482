# SPDX-License-Identifier: MIT
"""`carry xstate`: what it says of registers that these tests know; never of times."""

from __future__ import annotations

import json
import math
import os
import platform
import re
import subprocess
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


# --- cost ---

# Stands in for what xstate_aes.c has around it.
AES_MAIN = """
#include "xstate_measure.h"
#include <carry/xstate.h>

bool xstate_grid_measure(struct xstate_grid *grid, struct bench_plan *plan,
                         const struct xstate_effort *effort) {
    return grid && plan && effort;
}
size_t xstate_uppers(void) { return 1; }
void carry_xstate_clean(enum carry_xstate_level level) { (void)level; }
int main(void) { return !xstate_aes_is_right(); }
"""

OPS = {"FXSAVE": None, "XSAVE": "xsave", "XSAVEC": "xsavec", "XRSTOR": "xsave", "XGETBV": "xgetbv1"}


def uppers(mask: str = "") -> list[str]:
    """What uppers can be in."""
    if "avx" not in flags() or mask in {"avx", "xsave", "all"}:
        return ["clean"]
    if "avx512f" not in flags() or mask == "avx512f":
        return ["clean", "ymm"]
    return ["clean", "ymm", "zmm"]


def is_time(value: float) -> bool:
    return math.isfinite(value) and 0 < value < 1e9


@pytest.mark.parametrize("mask", ["", "avx512f", "avx", "xsavec", "xsave"])
def test_cost_measures_what_the_cpu_has(carry: Run, mask: str) -> None:
    shown = show(carry, "cost", "--quick", mask=mask)
    states = uppers(mask)
    dirty = states[1:]
    assert [row["function"] for row in shown["libm"]] == ["exp", "sin", "pow"]
    for row in shown["libm"]:
        assert (list(row["ns"]), list(row["factor"])) == (states, dirty)
    cleaned = [name + suffix for name in dirty for suffix in ("", "_vzeroupper")]
    if "aes" in flags():
        assert [row["bytes"] for row in shown["aes_128_cbc"]] == [16, 64, 256, 1024, 8192]
        for row in shown["aes_128_cbc"]:
            assert (list(row["ns"]), list(row["factor"])) == (["clean", *cleaned], cleaned)
    else:
        assert shown["aes_128_cbc"] is None
    timed = [*shown["libm"], *(shown["aes_128_cbc"] or [])]
    assert all(map(is_time, [v for row in timed for v in [*row["ns"].values()]]))
    assert all(map(is_time, [v for row in timed for v in [*row["factor"].values()]]))
    assert [list(row["added_ns"]) for row in shown["transitions"]] == [dirty] * (5 * bool(dirty))
    added = [v for row in shown["transitions"] for v in row["added_ns"].values()]
    assert all(math.isfinite(value) for value in added)


@pytest.mark.parametrize("mask", ["", "avx512f", "avx", "xsavec", "xsave"])
def test_cost_saves_with_what_the_cpu_has(carry: Run, mask: str) -> None:
    shown = show(carry, "cost", "--quick", mask=mask)
    has = {name for name in ("xsave", "xsavec", "xgetbv1") if name in flags()} - {mask}
    has = set() if "xsave" not in has else has
    assert [row["in_use"] for row in shown["saves"]][:1] == [["SSE"]]
    assert len(shown["saves"]) == {1: 1, 2: 2, 3: 4}[len(uppers(mask))]
    for row in shown["saves"]:
        assert list(row["ns"]) == [op for op, need in OPS.items() if need is None or need in has]
        assert all(map(is_time, row["ns"].values()))


def test_cost_judges_by_what_it_measured(carry: Run) -> None:
    shown = show(carry, "cost", "--quick")
    factors = [value for row in shown["libm"] for value in row["factor"].values()]
    assert shown["worst"] == pytest.approx(max([1, *factors]), rel=1e-4)
    if shown["aes_128_cbc"]:
        factors += shown["aes_128_cbc"][0]["factor"].values()
    assert shown["penalty"] == (max([1, *factors]) >= 1.25)


@pytest.mark.parametrize("mask", ["", "avx512f", "avx"])
def test_cost_for_people(carry: Run, mask: str) -> None:
    done = carry("xstate", "cost", "--quick", env={**os.environ, "CARRY_CPU_MASK": mask})
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\033" not in done.stdout
    verdict = done.stdout.split("\n\n")[-1]
    if len(uppers(mask)) == 1:
        assert verdict.startswith("This CPU has no AVX")
    else:
        assert re.match(r"This CPU has (a|no) penalty: .* \d+\.\d times as", verdict)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", ""),
        ("aesenc 144(%rdi)", "aesenc 128(%rdi)"),
        ("ROUND_KEY 0x1b", "ROUND_KEY 0x1a"),
        ("pxor %xmm1, %xmm0\n    pxor (%rdi)", "pxor (%rdi)"),
    ],
)
def test_wrong_aes_would_be_seen(text: str, wrong: str, tmp_path: Path) -> None:
    if "aes" not in flags():
        pytest.skip("this CPU has no AES instructions")
    tools = SOURCE / "tools/carry"
    assembly = (tools / "xstate_cost_x86_64.S").read_text()
    assert text in assembly
    (tmp_path / "aes.S").write_text(assembly.replace(text, wrong, 1))
    (tmp_path / "main.c").write_text(AES_MAIN)
    sources = [tmp_path / "aes.S", tmp_path / "main.c", tools / "xstate_aes.c"]
    include = [f"-I{tools}", f"-I{SOURCE / 'include'}"]
    command = ["gcc", "-O1", *include, "-o", tmp_path / "aes", *sources]
    subprocess.run([str(word) for word in command], check=True)
    assert subprocess.run([tmp_path / "aes"], check=False).returncode == bool(text)
