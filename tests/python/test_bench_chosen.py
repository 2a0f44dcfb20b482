# SPDX-License-Identifier: MIT
"""What `carry bench` prints of chosen times and kernels, whatever the machine: of carry_chosen."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from conftest import BAD, CLEAN, ERROR, SOURCE

BUILD = Path(os.environ.get("CARRY_BUILD", SOURCE / "build"))
CHOSEN = BUILD / "tests/carry_chosen"

COLUMNS = 80
ALIGNMENTS = [word for align in (*range(7), 4000, 4094, 4095) for word in ("--align", str(align))]

KERNELS = [1, 2, 8, 9, 17, 18, 22]

# All commands whose tables hold times.
COMMANDS = [
    ["sum", "--quick"],
    ["sum", "--quick", "--mode", "beside", "--mode", "beside-imix"],
    ["sum", "--size", "20", "--size", str(1 << 25), "--mode", "latency", "--align", "4095"],
    ["sum", "--size", "1500", *ALIGNMENTS, "--mode", "hot"],
    ["sum", "--quick", "--against", *ALIGNMENTS],
    ["crc", "--quick"],
    ["copy", "--quick"],
    ["copy", "--size", "64", "--size", str(1 << 20)],
    ["patch", "--quick"],
    ["hook", "--quick"],
    ["xstate", "--quick"],
    ["jit", "--quick"],
    ["live", "--quick"],
    ["capture", "--size=1M"],
    ["capture", "--size=1M", "--pipes"],
    ["cost", "--quick"],
]


def bench(*arguments: str, chosen: str, kernels: int = 0) -> subprocess.CompletedProcess[str]:
    """Runs a benchmark with chosen times, and with so many kernels in each table."""
    assert CHOSEN.is_file(), f"{CHOSEN} is missing: build it, or set CARRY_BUILD"
    env = {**os.environ, "CARRY_CPU_MASK": "", "CARRY_CHOSEN": chosen}
    env["CARRY_CHOSEN_KERNELS"] = str(kernels)
    command = "xstate" if arguments[0] == "cost" else "bench"
    done = subprocess.run(
        [CHOSEN, command, *arguments], env=env, capture_output=True, text=True, timeout=600
    )
    if done.returncode == ERROR and "built without" in done.stderr:
        pytest.skip(done.stderr)
    return done


@pytest.mark.parametrize("chosen", ["widest", "narrowest", "apart"])
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_tables_of_any_times_fit(command: list[str], chosen: str) -> None:
    done = bench(*command, chosen=chosen)
    assert done.returncode in (CLEAN, BAD) and done.stderr == ""
    assert max(map(len, done.stdout.splitlines())) <= COLUMNS


@pytest.mark.parametrize("kernels", KERNELS)
@pytest.mark.parametrize("name", ["sum", "crc", "copy"])
def test_tables_of_many_kernels_fit(name: str, kernels: int) -> None:
    done = bench(name, "--quick", chosen="widest", kernels=kernels)
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert max(map(len, done.stdout.splitlines())) <= COLUMNS


@pytest.mark.parametrize("name", ["sum", "copy"])
def test_each_of_many_kernels_has_a_column(name: str) -> None:
    done = bench(name, "--quick", "--size", "64", "--mode", "hot", chosen="widest", kernels=22)
    title, _, table = done.stdout.partition("\nhot: ")
    assert title.count("made_up_kernel21") == 1  # which is the chosen one
    assert all(f"made_up_kernel{kernel:02}" in table for kernel in range(22))


@pytest.mark.parametrize("kernels", KERNELS)
def test_parts_of_a_table_lead_with_the_plain_loop_and_end_with_loads(kernels: int) -> None:
    size = ("--size", "64", "--align", "0", "--mode", "hot")
    done = bench("sum", "--quick", *size, chosen="widest", kernels=kernels)
    table = done.stdout.partition("\nhot: ")[2].partition("\nspread")[0]
    rows = [line.split() for line in table.splitlines() if line.startswith("       64 ")]
    parts = len(rows)
    assert table.count(" plain") == parts and table.count("of load") == 1
    # The size, the plain loop, kernels, and at last the loads and their share.
    assert sum(len(row) - 2 for row in rows) == kernels + 2
    assert parts == -(-(kernels + 1) // 9)


@pytest.mark.parametrize("kernels", KERNELS)
def test_names_above_columns_end_where_their_column_does(kernels: int) -> None:
    done = bench("sum", "--quick", "--mode", "hot", chosen="widest", kernels=kernels)
    table = done.stdout.partition("\nhot: ")[2].partition("bytes/ns")[0]
    names = list(re.finditer(r"made_up_kernel\d\d", table))
    ends = {match.end() - table.rindex("\n", 0, match.start()) - 1 for match in names}
    assert len(names) == kernels
    assert ends <= {9 + 6 * place for place in range(1, 11)}
