# SPDX-License-Identifier: MIT
"""The proof of the packet walk refuses protocols with one fault each."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
RUN = ROOT / "proof/packet/run"

needs_frama_c = pytest.mark.skipif(
    not all(map(shutil.which, ("frama-c", "why3", "cvc4"))),
    reason="frama-c-base, why3 or cvc4 is not installed",
)

# File, what is replaced, by what, and the goal that must not be proven any more.
MUTANTS = {
    "reads two bytes that were not asked for": (
        "chdlc.c",
        "carry_walk_take(walk, 4)",
        "carry_walk_take(walk, 2)",
        "call_carry_load16_requires",
    ),
    "looks at a header that is not there": (
        "ah.c",
        "    if (!header)\n        return CARRY_NEXT_NONE;\n",
        "",
        "assert_rte_mem_access",
    ),
    "moves behind a header that was not captured": (
        "ah.c",
        "    if (!carry_walk_header(walk, size))\n        return CARRY_NEXT_NONE;\n",
        "",
        "ensures_placed",
    ),
    "never leaves a chain of headers": (
        "erf.c",
        "carry_walk_take(walk, 8)",
        "carry_walk_header(walk, 8)",
        "loop_variant",
    ),
    "writes a sum more than there is room for": (
        "igmp.c",
        "    carry_walk_require_length(walk);\n",
        "    carry_walk_require_length(walk);\n    walk->sums[walk->count].cause = 0;\n",
        "assert_rte_mem_access",
    ),
    "counts a sum that is not listed": (
        "igmp.c",
        "    return CARRY_NEXT_NONE;\n",
        "    walk->count++;\n    return CARRY_NEXT_NONE;\n",
        "ensures_count",
    ),
}


def prove(name: str, packet: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(RUN), "--timeout", "5", "--packet", str(packet), name]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


@needs_frama_c
@pytest.mark.parametrize("fault", MUTANTS)
def test_proof_refuses(fault: str, tmp_path: Path) -> None:
    name, old, new, goal = MUTANTS[fault]
    packet = tmp_path / "packet"
    shutil.copytree(ROOT / "src/packet", packet)
    text = (packet / name).read_text()
    assert text.count(old) == 1
    (packet / name).write_text(text.replace(old, new))
    run = prove(name, packet)
    assert run.returncode == 1, run.stdout + run.stderr
    assert re.search(rf"not proven: \w*{goal}", run.stdout), run.stdout + run.stderr


@needs_frama_c
def test_proof_names_a_loop_that_is_gone(tmp_path: Path) -> None:
    packet = tmp_path / "packet"
    shutil.copytree(ROOT / "src/packet", packet)
    text = (packet / "erf.c").read_text()
    (packet / "erf.c").write_text(text.replace("while (has_extension) {", "for (;;) {"))
    run = prove("erf.c", packet)
    assert run.returncode == 1
    assert run.stderr == "loops.acsl: erf.c has 0 lines: while (has_extension) {\n"


def test_results_are_of_files_that_exist() -> None:
    """A file that is renamed or removed takes its line with it."""
    rows = (ROOT / "proof/packet/results.txt").read_text().splitlines()
    proven = [row.split()[0] for row in rows if not row.startswith("#")]
    assert proven
    assert [name for name in proven if not (ROOT / "src/packet" / name).exists()] == []
