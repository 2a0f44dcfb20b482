# SPDX-License-Identifier: MIT
"""`carry bench ring0`: its counts, and its errors where nothing can be counted."""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from carry_tool import BAD, CLEAN, ERROR, SOURCE, Run
from schemas import conforming

pytestmark = pytest.mark.not_sanitized

FORMS = ["compiled", "pointer", "unpatched", "patched"]

Table = dict[tuple[str, str], dict[str, Any]]


@pytest.fixture(scope="session")
def kernel() -> Path:
    """Builds the test kernel in the folder in which the tests in ring 0 build it."""
    if platform.machine() != "x86_64":
        pytest.skip("the kernel is of x86-64")
    if not shutil.which("qemu-system-x86_64"):
        pytest.skip("qemu-system-x86_64 is not installed (package qemu-system-x86)")
    out = Path(os.environ.get("CARRY_RING0", SOURCE / "build-test/ring0"))
    out.mkdir(parents=True, exist_ok=True)
    command = ["make", "--silent", f"-j{os.cpu_count()}", "-C", SOURCE / "ports/baremetal"]
    with (out / "lock").open("w") as lock:  # other tests may run at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run([*command, f"OUT={out}"], check=True, timeout=600)
    return out / "kernel.elf"


def table_of(report: dict[str, Any]) -> Table:
    return {(each["table"], each["operation"]): each for each in report["operations"]}


@pytest.fixture(scope="session")
def counted(carry: Run, kernel: Path) -> Table:
    done = carry("bench", "ring0", "--json", "--kernel", kernel)
    assert (done.returncode, done.stderr) == (CLEAN, "")
    report = conforming("bench_ring0", done.stdout)
    assert report["bench"] == "ring0" and report["unit"] == "instructions"
    assert report["emulator"].startswith("QEMU") and "not times" in report["caveat"]
    return table_of(report)


def test_every_operation_has_every_form(counted: Table) -> None:
    names = ["cli", "sti", "save", "restore"]
    assert set(counted) == {
        *(("native", name) for name in [*names, "call", "nothing"]),
        *(("hypervisor", name) for name in names),
    }
    for (table, _), row in counted.items():
        assert [row[form] is None for form in FORMS] == [table == "hypervisor"] + 3 * [False]


def test_compiled_operations_have_the_fewest_instructions(counted: Table) -> None:
    instructions = {"cli": 1, "sti": 1, "save": 2, "restore": 2, "call": 2, "nothing": 0}
    assert {name: counted["native", name]["compiled"] for name in instructions} == instructions


def test_patched_operation_is_as_short_as_compiled_in(counted: Table) -> None:
    """Only two operations need one more instruction: restore has an argument, and "nothing" is one
    NOP."""
    more = {"cli": 0, "sti": 0, "save": 0, "restore": 1, "call": 0, "nothing": 1}
    for name, count in more.items():
        row = counted["native", name]
        assert row["patched"] == row["compiled"] + count, name


def test_an_unpatched_site_is_a_call_through_a_pointer(counted: Table) -> None:
    for place, row in counted.items():
        assert row["unpatched"] == row["pointer"], place


def test_a_hypervisor_keeps_its_calls(counted: Table) -> None:
    for (table, name), row in counted.items():
        if table == "hypervisor":
            assert row["patched"] == row["unpatched"] > counted["native", name]["unpatched"]


def test_text_shows_the_counts(carry: Run, kernel: Path, counted: Table) -> None:
    """The table shows the counts of the report, and states that they are not times."""
    done = carry("bench", "ring0", "--kernel", kernel)
    assert (done.returncode, done.stderr) == (CLEAN, "")
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("  ")]
    row = counted["native", "cli"]
    assert ["cli", *(str(row[form]) for form in FORMS)] in rows
    assert "not times" in done.stdout


# --- Errors ---


def test_missing_default_kernel_is_reported(carry: Run, tool: str) -> None:
    """Without a kernel, one line says so and names the option."""
    if (Path(tool).parent / "carry-ring0.elf").exists():
        pytest.skip("this tool was built with -Dkernel=true")
    done = carry("bench", "ring0")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (ERROR, "", 1)
    assert "no kernel" in done.stderr and "--kernel" in done.stderr


def test_missing_kernel_is_reported(carry: Run) -> None:
    done = carry("bench", "ring0", "--kernel", "nosuch.elf")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == "carry: cannot read the kernel 'nosuch.elf'\n"


def test_without_an_emulator(carry: Run, tool: str) -> None:
    """An emulator that is missing is named in one line."""
    done = carry("bench", "ring0", "--emulator", "nosuch-emulator", "--kernel", tool)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr.startswith("carry: cannot execute the emulator 'nosuch-emulator': No such")
    assert done.stderr.count("\n") == 1


def fake(folder: Path, *lines: str) -> Path:
    """Returns an emulator whose kernel prints these lines."""
    path = folder / "emulator"
    said = "".join(f"printf '%s\\r\\n' '{line}'\n" for line in lines)
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "A fake, version 1" && exit\n{said}')
    path.chmod(0o755)
    return path


def test_kernel_that_stops_early_is_reported(carry: Run, tool: str, tmp_path: Path) -> None:
    emulator = fake(tmp_path, "bench cli native compiled 1", "Bail out! trap 6")
    done = carry("bench", "ring0", "--emulator", emulator, "--kernel", tool)
    assert (done.returncode, done.stdout) == (BAD, "")
    assert "did not report all counts" in done.stderr


def test_unknown_output_of_a_kernel_is_ignored(carry: Run, tool: str, tmp_path: Path) -> None:
    """Too many operations, long names and unknown forms are ignored."""
    rows = [f"bench op{i} native patched {i}" for i in range(100)]
    odd = ["bench " + 90 * "x" + " y patched 1", "bench op1 native folded 7", "bench", "bench a b"]
    emulator = fake(tmp_path, *odd, *rows, "bench done")
    done = carry("bench", "ring0", "--json", "--emulator", emulator, "--kernel", tool)
    assert (done.returncode, done.stderr) == (CLEAN, "")
    found = table_of(conforming("bench_ring0", done.stdout))
    assert found["native", "op1"]["patched"] == 1
    assert 0 < len(found) < 100


def test_usage(carry: Run) -> None:
    """Wrong usage is refused in one line; the help has examples."""
    for arguments in [("--kernel",), ("--nosuch",), ("more",)]:
        done = carry("bench", "ring0", *arguments)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (ERROR, "", 1)
    assert "Examples:" in carry("bench", "ring0", "--help").stdout
