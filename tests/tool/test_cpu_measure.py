# SPDX-License-Identifier: MIT
"""`carry cpu --measure`: the shape of its output, but never the times."""

from __future__ import annotations

import os
import re
from typing import Any

import pytest
from carry_tool import BAD, CLEAN, ERROR, Run, in_terminal
from schemas import conforming

pytestmark = pytest.mark.not_sanitized

QUICK = ["cpu", "--measure", "--quick"]
UNDECIDED = 4
STATUSES = {CLEAN: "right", BAD: "wrong", UNDECIDED: "undecided"}


def masked(mask: str) -> dict[str, str]:
    return {**os.environ, "CARRY_CPU_MASK": mask}


def measure(carry: Run, mask: str = "") -> dict[str, Any]:
    done = carry(*QUICK, "--json", env=masked(mask))
    assert done.stderr == ""
    report = conforming("cpu_measure", done.stdout)
    assert STATUSES[done.returncode] == report["verdict"]
    return report


def preferences(carry: Run, mask: str = "") -> dict[str, dict[str, Any]]:
    """Returns the preferences that `carry cpu` shows, by name."""
    shown = conforming("cpu", carry("cpu", "--json", env=masked(mask)).stdout)
    return {row["name"]: row for row in shown["features"] if row["preference"]}


@pytest.fixture(scope="module")
def report(carry: Run) -> dict[str, Any]:
    return measure(carry)


def test_each_preference_is_judged(carry: Run, report: dict[str, Any]) -> None:
    shown = preferences(carry)
    assert [row["name"] for row in report["preferences"]] == list(shown)
    for row in report["preferences"]:
        assert row["table"] == (shown[row["name"]]["state"] == "present")
        assert row["description"] == shown[row["name"]]["description"]
        assert row["reason"] != "no work shows its effect", "add a row to tools/carry/cpu/claims.c"


def test_works_are_those_of_what_was_measured(report: dict[str, Any]) -> None:
    for row in report["preferences"]:
        measured = row["here"] != "unmeasured"
        assert bool(row["works"]) == measured == (row["reason"] is None)
        assert not measured or row["without"] != row["with"] or row["with"] is None
        for work in row["works"]:
            assert 0 < work["low"] <= work["ratio"] <= work["high"]
            assert all(work["ns"][way] > 0 <= work["added"][way] for way in ("without", "with"))
    assert (report["rounds"] > 0) == any(row["works"] for row in report["preferences"])


def test_mask_names_what_is_wrong(carry: Run, report: dict[str, Any]) -> None:
    wrong = {"fails": True, "holds": False}
    for row in report["preferences"]:
        assert row["wrong"] == (wrong.get(row["here"]) == row["table"])
    items = [f"{'' if r['table'] else '+'}{r['name']}" for r in report["preferences"] if r["wrong"]]
    assert report["mask"] == ",".join(items)
    assert (report["verdict"] == "wrong") == bool(items)
    assert carry("cpu", env=masked(report["mask"])).returncode == CLEAN


def test_removed_capabilities_are_not_used(carry: Run) -> None:
    report = measure(carry, "all")
    assert {row["here"] for row in report["preferences"]} <= {"unmeasured"}
    assert (report["verdict"], report["rounds"]) == ("right", 0)
    shown = conforming("cpu", carry("cpu", "--json", env=masked("all")).stdout)
    removed = [
        row["name"]
        for row in shown["features"]
        if row["state"] == "masked" and not row["preference"]
    ]
    assert report["mask"] == ",".join(removed)


def test_preferences_of_the_mask_are_ignored(carry: Run) -> None:
    shown = preferences(carry)
    table = {name: row["state"] == "present" for name, row in shown.items()}
    report = measure(
        carry, ",".join(f"{'' if held else '+'}{name}" for name, held in table.items())
    )
    assert {row["name"]: row["table"] for row in report["preferences"]} == table


def test_text_ends_in_the_mask(carry: Run) -> None:
    done = carry(*QUICK, env=masked(""))
    assert done.returncode in STATUSES and done.stderr == ""
    assert max(map(len, done.stdout.splitlines())) <= 80
    names = preferences(carry)
    if not names:
        assert "no preferences" in done.stdout
        return
    mask = re.fullmatch(r"CARRY_CPU_MASK=(\S*)", done.stdout.splitlines()[-1])
    assert mask and (done.returncode == BAD) == bool(mask[1])
    for name in names:
        assert f"\n{name}: " in done.stdout


def test_terminal_shows_progress(tool: str, carry: Run) -> None:
    """Without preferences, as on AArch64, nothing is measured."""
    shown = in_terminal([tool, *QUICK], CARRY_CPU_MASK="")
    assert bool(re.search(r"\d+ ?%", shown)) == bool(preferences(carry))


@pytest.mark.parametrize("arguments", [["--quick"], ["--measure", "x"], ["--measure=1"]])
def test_wrong_usage_is_refused(carry: Run, arguments: list[str]) -> None:
    done = carry("cpu", *arguments)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr.startswith("carry cpu: ") and "--help" in done.stderr


def test_malformed_mask_is_refused_before_measuring(carry: Run) -> None:
    done = carry(*QUICK, env=masked("nosuch"))
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr.startswith("carry: CARRY_CPU_MASK=nosuch: ")
