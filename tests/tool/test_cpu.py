# SPDX-License-Identifier: MIT
"""`carry cpu`: its output follows the CPU and the mask."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from typing import Any

import pytest
from carry_tool import CLEAN, ERROR, SOURCE, Run
from schemas import conforming

# Modules with kernels, and their tables of kernels.
TABLES = {
    "sum": "src/sum/kernels.def",
    "crc32c": "src/sum/crc32c_kernels.def",
    "copy": "src/copy/kernels.def",
}


def masked(mask: str) -> dict[str, str]:
    return {**os.environ, "CARRY_CPU_MASK": mask}


def show(carry: Run, mask: str = "") -> dict[str, Any]:
    done = carry("cpu", "--json", env=masked(mask))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    return conforming("cpu", done.stdout)


def states(shown: dict[str, Any]) -> dict[str, str]:
    return {feature["name"]: feature["state"] for feature in shown["features"]}


def rows(table: str, arch: str) -> list[str]:
    """Returns the names in a table of the library for one architecture."""
    text = (SOURCE / table).read_text()
    return re.findall(rf"^ *CARRY_\w+\((?:any|{arch}), (\w+)", text, re.MULTILINE)


def test_shows_every_row_of_the_tables(carry: Run) -> None:
    shown = show(carry)
    assert list(states(shown)) == rows("include/carry/features.def", shown["arch"])
    for name, table in TABLES.items():
        kernels = [kernel["name"] for kernel in shown[name]["kernels"]]
        assert kernels == rows(table, shown["arch"])


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("mask", ["", "all"])
def test_kernels_agree_with_the_choice(carry: Run, table: str, mask: str) -> None:
    shown = show(carry, mask)
    kernels = shown[table]["kernels"]
    usable = [k["name"] for k in kernels if k["available"] and k["preferred"]]
    assert [k["name"] for k in kernels if k["chosen"]] == [shown[table]["chosen"]] == usable[-1:]
    chosen = next(k for k in kernels if k["chosen"])
    assert all(need in shown[table]["why"] for need in chosen["needs"])
    for kernel in kernels:
        assert kernel["available"] == (kernel["missing"] is None)
        assert kernel["missing"] is None or states(shown)[kernel["missing"]] != "present"


def test_reason_against_a_kernel_is_an_absent_preference(carry: Run) -> None:
    shown = show(carry)
    for table in TABLES:
        for kernel in shown[table]["kernels"]:
            assert kernel["preferred"] == (kernel["against"] is None)
            assert kernel["preferred"] or states(shown)[kernel["against"]] != "present"


# The kernels that src/cpu/x86_64/facts.def chooses on these CPUs. QEMU has no AVX-512, so its
# Cascade Lake shows kernels for AVX2.
CHOSEN_ON = {
    "Cascadelake-Server": ("avx2_add", "avx2_erms"),
    "EPYC-Milan": ("avx2", "avx2_erms"),
    "Nehalem": ("adc", "generic"),
}


@pytest.mark.parametrize("cpu", CHOSEN_ON)
def test_choice_on_emulated_cpus(tool: str, cpu: str) -> None:
    if platform.machine() != "x86_64":
        pytest.skip("the tool is not built for x86-64")
    if "CARRY_SANITIZED" in os.environ:
        pytest.skip("qemu-x86_64 cannot run AddressSanitizer; steps gcc and clang run this")
    emulator = shutil.which("qemu-x86_64")
    if not emulator:
        pytest.skip("qemu-x86_64 is missing (Debian: qemu-user)")
    done = subprocess.run(
        [emulator, "-cpu", cpu, tool, "cpu", "--json"],
        env=masked(""),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=600,
        check=True,
    )
    shown = conforming("cpu", done.stdout)
    assert (shown["sum"]["chosen"], shown["copy"]["chosen"]) == CHOSEN_ON[cpu]


def test_text_shows_evidence(carry: Run) -> None:
    done = carry("cpu")
    flat = " ".join(done.stdout.split())
    for feature in show(carry)["features"]:
        assert feature["evidence"] is None or feature["preference"]
        assert feature["evidence"] is None or feature["evidence"] in flat


def test_no_mask(carry: Run) -> None:
    """Without a mask, no feature is masked."""
    shown = show(carry)
    assert (shown["mask"], shown["mask_error"]) == ("", None)
    assert "masked" not in states(shown).values()


def test_masking_everything_leaves_scalar_code(carry: Run) -> None:
    shown = show(carry, "all")
    assert "present" not in states(shown).values()
    assert shown["sum"]["chosen"] == ("adc" if shown["arch"] == "x86_64" else "generic")
    assert shown["crc32c"]["chosen"] == "generic"
    available = [k for table in TABLES for k in shown[table]["kernels"] if k["available"]]
    assert {kernel["vector_bits"] for kernel in available} == {64}


def test_each_feature_can_be_masked(carry: Run) -> None:
    before = states(show(carry))
    for name, state in before.items():
        after = states(show(carry, name))[name]
        assert after == ("masked" if state == "present" else "absent")


def test_text_shows_the_mask(carry: Run) -> None:
    present = [name for name, state in states(show(carry)).items() if state == "present"]
    if not present:
        pytest.skip("this CPU has no feature of the table")
    done = carry("cpu", env=masked(present[0]))
    assert done.returncode == CLEAN
    assert re.search(rf"^Mask +{present[0]}$", done.stdout, re.MULTILINE)
    assert re.search(rf"^  {present[0]} +masked ", done.stdout, re.MULTILINE)
    shown = show(carry, present[0])
    for table in TABLES:
        assert f"carry_{table}() uses {shown[table]['chosen']}: " in done.stdout


def test_output_has_no_colour_in_a_pipe(carry: Run) -> None:
    assert "\033" not in carry("cpu", env=masked("")).stdout


def test_output_fits_a_terminal_for_any_mask(carry: Run) -> None:
    for name in ("", "all", *states(show(carry))):
        shown = carry("cpu", env=masked(name)).stdout
        assert max(map(len, shown.splitlines())) <= 80, name


@pytest.mark.parametrize("mask", ["nosuch", "avx2,nosuch", "+nosuch", "all,+all"])
def test_malformed_mask_is_refused(carry: Run, mask: str) -> None:
    for arguments in (["cpu"], ["cpu", "--json"]):
        done = carry(*arguments, env=masked(mask))
        assert done.returncode == ERROR
        assert done.stderr.startswith(f"carry: CARRY_CPU_MASK={mask}: ")
        assert done.stderr.count("\n") == 1
    shown = conforming("cpu", done.stdout)
    assert shown["mask_error"]
    assert states(shown) == states(show(carry))


def test_a_capability_cannot_be_switched_on(carry: Run) -> None:
    features = show(carry)["features"]
    capability = next((f["name"] for f in features if not f["preference"]), None)
    if capability is None:
        pytest.skip("this architecture has no feature in the table")
    done = carry("cpu", env=masked(f"+{capability}"))
    assert done.returncode == ERROR
    assert "preference" in done.stderr


@pytest.mark.parametrize("arguments", [["--nosuch"], ["file"], ["--json=1"], ["-x"]])
def test_wrong_usage_is_refused_with_a_hint(carry: Run, arguments: list[str]) -> None:
    done = carry("cpu", *arguments)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr.startswith("carry cpu: ") and "--help" in done.stderr


def test_help(carry: Run) -> None:
    """The help shows how to mask a feature."""
    done = carry("cpu", "--help")
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert "CARRY_CPU_MASK=avx512bw carry cpu" in done.stdout
