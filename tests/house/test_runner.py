# SPDX-License-Identifier: MIT
"""scripts/testing/runner.py: steps that fail, steps that cannot run, and concurrent steps."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from carry_tool import SOURCE

sys.path.insert(0, str(SOURCE / "scripts"))
from testing import builds, inputs, runner
from testing.builds import python_tests
from testing.runner import Built, Counts, Log, Step, StepError, run_steps, total

SECONDS = 120  # after which a wait has failed

COMMANDS = {
    "its last words": (
        ["sh", "-c", "echo first; echo 'E: no network'; echo; exit 3"],
        "E: no network",
    ),
    "no such program": (["/nonesuch"], "No such file or directory: '/nonesuch'"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_command_without_a_result_is_skipped(name: str, tmp_path: Path) -> None:
    command, reason = COMMANDS[name]
    log = Log(tmp_path / "step.log")
    with pytest.raises((OSError, StepError)) as raised:
        log.run(*command)
    log.skip_without("wheels", raised.value)
    assert log.counts.skipped == 1
    (said,) = log.skipped
    assert said.startswith("wheels: ") and said.endswith(reason)


def await_file(path: Path) -> str:
    """Waits until a file has content; returns it."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        if path.is_file() and (text := path.read_text()):
            return text.strip()
        time.sleep(0.01)
    raise StepError(f"no {path.name}")


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(runner, "LOGS", tmp_path / "logs")
    return tmp_path / "logs"


def test_concurrent_steps(logs: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Steps run concurrently: here each of two steps waits for the other. Failures are listed in
    the order of the steps."""

    def meet(log: Log, own: str, other: str) -> None:
        (tmp_path / own).write_text(own)
        log.counts.passed += len(await_file(tmp_path / other))
        raise StepError(f"{own} met {other}")

    steps = [
        Step("first", "", lambda log: meet(log, "a", "b"), aside=True),
        Step("second", "", lambda log: meet(log, "b", "a")),
    ]
    results, _ = run_steps(steps)
    assert str(total(results.values())) == "2 passed, 2 failed, 0 skipped"
    assert all(result.failures == [] for result in results.values())
    shown = capfd.readouterr().out
    assert "a met b" in shown and "b met a" in shown
    assert shown.endswith("Failed steps: first second\n")


def test_killed_concurrent_step_ends_the_run(logs: Path) -> None:
    def killed(log: Log) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    steps = [Step("killed", "", killed, aside=True), Step("other", "", lambda log: None)]
    with pytest.raises(SystemExit, match="the steps beside the others were ended"):
        run_steps(steps)


def test_concurrent_steps_are_shared(logs: Path, tmp_path: Path) -> None:
    """Marked steps are shared between the processes: here the first step waits until the other
    process has run all other steps."""

    def wait(log: Log) -> None:
        await_file(tmp_path / "last")

    def leave(name: str, log: Log) -> None:
        (tmp_path / name).write_text(str(os.getpid()))

    steps = [Step("waits", "", wait, aside=True), Step("own", "", partial(leave, "own"))]
    steps += [Step(name, "", partial(leave, name), aside=True) for name in ("next", "last")]
    results, _ = run_steps(steps)
    assert sorted(results) == ["last", "next", "own", "waits"]
    assert {(tmp_path / name).read_text() for name in ("own", "next", "last")} == {str(os.getpid())}


INTERRUPTED = """
import os, signal, sys, time
from pathlib import Path
sys.path[:0] = {paths}
import run_tests
from testing import runner
from test_runner import await_file
folder = Path({folder!r})
runner.LOGS = folder
runner.END_SECONDS = 1
script = 'trap "{trap}" TERM; echo $$ >"$0"; while :; do sleep 0.1; done'

def wait(log, name):
    log.run("sh", "-c", script, folder / name)

def interrupt(log):
    log.start("sh", "-c", script, folder / "pid2")
    for name in ("pid", "pid2"):
        await_file(folder / name)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1000)

steps = [
    runner.Step("waits", "", lambda log: wait(log, "pid"), aside=True),
    runner.Step("interrupts", "", interrupt),
    runner.Step("never", "", lambda log: (folder / "never").touch()),
    runner.Step("never either", "", lambda log: (folder / "never").touch(), aside=True),
]
run_tests.end_with(lambda: runner.run_steps(steps))
"""


def is_running(pid: str) -> bool:
    """Checks whether a process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("interrupts", [1, 2, 20])
def test_an_interrupt_ends_all(tmp_path: Path, interrupts: int) -> None:
    """The interrupt also ends the commands of a concurrent step, and commands that ignore SIGTERM,
    however often the user interrupts: no command outlives the main process."""
    paths = [str(SOURCE / name) for name in ("scripts", "tests/harness", "tests/house")]
    trap = "" if interrupts > 1 else "exit"
    program = INTERRUPTED.format(paths=paths, folder=str(tmp_path), trap=trap)
    command = [sys.executable, "-c", program]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    pids = [tmp_path / name for name in ("pid", "pid2")]
    await_file(pids[1])
    for _ in range(interrupts - 1):
        time.sleep(0.05)
        process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=SECONDS)[1]
    left = [pid for pid in map(await_file, pids) if is_running(pid)]
    for pid in left:
        os.kill(int(pid), signal.SIGKILL)
    assert left == []
    assert (process.returncode, said) == (-signal.SIGINT, "Interrupted\n")
    assert not (tmp_path / "never").exists()


JUNIT = """<testsuites><testsuite name="s">
<testcase classname="tests.python.test_runner" name="test_x[a b]"
file="tests/house/test_runner.py">
<failure message="assert 1 == 2" /></testcase>
<testcase classname="libcarry.libcarry / sum copy" name="7 - edges"><failure /></testcase>
<testcase classname="c" name="left out"><skipped type="pytest.skip" message="no tshark" />
</testcase><testcase classname="c" name="good" />
</testsuite></testsuites>"""


def test_failed_test_has_a_command_to_repeat_it(tmp_path: Path) -> None:
    (tmp_path / "junit.xml").write_text(JUNIT)
    log = Log(tmp_path / "log")
    log.count_junit(tmp_path / "junit.xml", "X=1 try")
    assert log.counts == Counts(passed=1, failed=2, skipped=1)
    assert log.left_out == ["no tshark"]
    first, second = log.failures
    assert first.splitlines() == [
        "tests.python.test_runner test_x[a b]: assert 1 == 2",
        "        repeat: X=1 try 'tests/house/test_runner.py::test_x[a b]'",
    ]
    assert second.splitlines() == [
        "libcarry.libcarry / sum copy 7 - edges:",
        "        repeat: X=1 try 'sum copy'",
    ]


FAILING = """import os
def test_x() -> None:
    assert os.environ["CARRY_MOOD"] == "good"
"""


def test_the_command_that_repeats_a_test_runs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command has the settings of the step, and names the test as pytest does."""
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    (tmp_path / "tests/tool").mkdir(parents=True)
    (tmp_path / "tests/tool/test_own.py").write_text(FAILING)
    log = Log(tmp_path / "log")
    with pytest.raises(StepError, match="exit status 1"):
        python_tests(log, tmp_path, {"CARRY_MOOD": "bad as can be"}, at_once=0)
    (failure,) = log.failures
    repeat = failure.partition("repeat: ")[2]
    again = subprocess.run(["sh", "-c", repeat], cwd=tmp_path, capture_output=True, text=True)
    assert again.returncode == 1 and "1 failed" in again.stdout


READING = """from pathlib import Path
def test_x() -> None:
    assert Path(__file__).with_name("DATA").read_text() == "DATA"
"""


def test_steps_that_share_a_build_keep_what_they_read_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Concurrent steps may run tests in one build: here the second run begins before the first has
    collected the names of its files."""
    monkeypatch.setattr(runner, "ROOT", tmp_path)
    monkeypatch.setattr(builds, "ROOT", tmp_path)
    (tmp_path / "tests").mkdir()
    conftest = (SOURCE / "tests/conftest.py").read_text()
    (tmp_path / "tests/conftest.py").write_text(conftest)
    for name in ("first", "second"):
        (tmp_path / "tests" / name).mkdir()
        (tmp_path / "tests" / name / name).write_text(name)
        text = READING.replace("DATA", name)
        (tmp_path / "tests" / name / f"test_{name}.py").write_text(text)
    build = tmp_path / "build"
    build.mkdir()
    first, second = Log(tmp_path / "logs/first.log"), Log(tmp_path / "logs/second.log")
    count = first.count_junit

    def count_beside(path: Path, repeat: str) -> None:
        python_tests(second, build, tests="second", at_once=0)
        count(path, repeat)

    monkeypatch.setattr(first, "count_junit", count_beside)
    python_tests(first, build, tests="first", at_once=0)
    for log, own, other in ((first, "first", "second"), (second, "second", "first")):
        assert log.counts.passed == 1
        assert f"tests/{own}/{own}" in log.read
        assert not any(other in path for path in log.read)


def test_a_run_without_tests_is_no_success(tmp_path: Path) -> None:
    log = Log(tmp_path / "log")
    log.counts.passed = 1  # by another run
    with pytest.raises(StepError, match="no test ran"):
        builds.counted(log, tmp_path / "none*.xml", ["true"], [], {})


def test_step_that_reads_undeclared_files_fails(
    logs: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A step fails if its builds compile a file that its row does not name. Otherwise the step
    would be skipped although such a file had changed."""
    monkeypatch.setattr(inputs, "compiled", lambda folder: {"src/sum/sum.c", "docs/sum.md"})
    step = Step("narrow", "", lambda log: log.builds.append(Built(SOURCE)), inputs=("docs/",))
    results, _ = run_steps([step], inputs.check_inputs)
    assert results["narrow"].failures is not None
    shown = capfd.readouterr().out
    assert "not among the inputs of the step: src/sum/sum.c" in shown
