# SPDX-License-Identifier: MIT
"""scripts/runner.py: what a step says of tests that cannot run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import SOURCE

sys.path.insert(0, str(SOURCE / "scripts"))
from runner import Log, StepError

COMMANDS = {
    "its last words": (
        ["sh", "-c", "echo first; echo 'E: no network'; echo; exit 3"],
        "E: no network",
    ),
    "no such program": (["/nonesuch"], "No such file or directory: '/nonesuch'"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_what_a_command_did_not_bring(name: str, tmp_path: Path) -> None:
    command, reason = COMMANDS[name]
    log = Log(tmp_path / "step.log")
    with pytest.raises((OSError, StepError)) as raised:
        log.run(*command)
    log.skip_without("wheels", raised.value)
    assert log.counts.skipped == 1
    (said,) = log.skipped
    assert said.startswith("wheels: ") and said.endswith(reason)
