# SPDX-License-Identifier: MIT
"""scripts/runner.py: what a step says of tests that cannot run, and steps beside each other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import SOURCE

sys.path.insert(0, str(SOURCE / "scripts"))
import runner
from runner import Log, Step, StepError, run_steps

SECONDS = 120  # end what hangs

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


def await_file(path: Path) -> str:
    """What it holds, as soon as it holds something."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if path.is_file() and (text := path.read_text()):
            return text
        time.sleep(0.01)
    raise StepError(f"no {path.name}")


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(runner, "LOGS", tmp_path / "logs")
    return tmp_path / "logs"


def test_steps_beside_each_other(
    logs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Two that wait for each other. What failed is named in the order of the steps."""

    def meet(log: Log, own: str, other: str) -> None:
        (tmp_path / own).write_text(own)
        log.counts.passed += len(await_file(tmp_path / other))
        raise StepError(f"{own} met {other}")

    steps = [
        Step("first", "", lambda log: meet(log, "a", "b"), aside=True),
        Step("second", "", lambda log: meet(log, "b", "a")),
    ]
    assert run_steps(steps) == 1
    shown = capfd.readouterr().out
    assert "a met b" in shown and "b met a" in shown
    assert "Failed steps: first second\n2 passed, 2 failed, 0 skipped in" in shown


def test_steps_beside_that_are_killed(logs: Path) -> None:
    def killed(log: Log) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    steps = [Step("killed", "", killed, aside=True), Step("other", "", lambda log: None)]
    with pytest.raises(SystemExit, match="the steps beside the others were ended"):
        run_steps(steps)


INTERRUPTED = """
import os, signal, sys
from pathlib import Path
sys.path[:0] = {paths}
import runner
from test_runner import await_file
folder = Path({folder!r})
runner.LOGS = folder
command = ["sh", "-c", 'echo $$ >"$0"; exec sleep 1000', folder / "pid"]

def interrupt(log):
    await_file(folder / "pid")
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
runner.run_steps([
    runner.Step("waits", "", lambda log: log.run(*command), aside=True),
    runner.Step("interrupts", "", interrupt),
    runner.Step("never", "", lambda log: (folder / "never").touch()),
    runner.Step("never either", "", lambda log: (folder / "never").touch(), aside=True),
])
"""


def runs(pid: str) -> bool:
    """Also not if it has ended, and nobody has asked how yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_an_interrupt_ends_all(tmp_path: Path) -> None:
    """Also what a step beside it runs, as it ends: the main process waits for that."""
    paths = [str(SOURCE / "scripts"), str(SOURCE / "tests/python")]
    program = INTERRUPTED.format(paths=paths, folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=SECONDS)
    assert done.returncode == -signal.SIGINT
    deadline = time.monotonic() + SECONDS
    while runs((tmp_path / "pid").read_text().strip()):
        assert time.monotonic() < deadline, "the command of the step goes on"
        time.sleep(0.01)
    assert not (tmp_path / "never").exists()
