# SPDX-License-Identifier: MIT
"""
Runs test steps, some concurrently, with a log for each; prints the counts of all, and a verdict.
"""

import contextlib
import multiprocessing
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from enum import Enum
from functools import partial
from itertools import chain
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[2]
LOGS = ROOT / "build/test-logs"
TAIL_LINES = 60  # enough for a report of a sanitizer
TAIL_COLUMNS = 300  # some commands list every file
NAMED = 20  # failed tests that are named for a step
REASON = 160  # characters of the reason for a failure
END_SECONDS = 5  # for commands that are asked to end
COMMAND_SECONDS = 3600  # for a command that hangs: slow or busy machines take long, too


class StepError(Exception):
    """Raised if a step fails. The message gives the reason."""


def interrupt_once(*_: object) -> None:
    """Handles SIGINT and SIGTERM: the first signal ends all commands; further signals must not
    interrupt this. These signals are handled rather than ignored, because commands would inherit an
    ignored signal."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    raise KeyboardInterrupt


def end_with(function: Callable[[], object]) -> None:
    """Calls a function and ends with its result; Ctrl-C ends all commands and prints one line."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt_once)
    try:
        sys.exit(function())  # type: ignore[arg-type]
    except KeyboardInterrupt:
        print("Interrupted", file=sys.stderr, flush=True)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except StepError as error:
        sys.exit(str(error))


def raise_any(errors: Iterable[str | None]) -> None:
    messages = [error for error in errors if error]
    if messages:
        raise StepError("\n".join(messages))


@dataclass
class Counts:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*map(int.__add__, astuple(self), astuple(other)))

    @property
    def total(self) -> int:
        return sum(astuple(self))


def shown(words: Iterable[str | Path], env: Mapping[str, str] | None = None) -> str:
    """Returns a command, quoted for a shell."""
    settings = [f"{name}={shlex.quote(value)}" for name, value in (env or {}).items()]
    return " ".join([*settings, shlex.join(map(str, words))])


def name_alone(case: ElementTree.Element) -> str:
    """Returns the name by which pytest, or else meson, runs only this test case."""
    if file := case.get("file"):
        return f"{file}::{case.get('name')}"
    return (case.get("classname") or "").rpartition(" / ")[2]


def failed_test(case: ElementTree.Element, messages: Iterable[str], repeat: str) -> str:
    """Returns two lines: the name of a test case and why it failed, and how to repeat it."""
    names = filter(None, (case.get("classname"), case.get("name")))
    why = f"{' '.join(names)}: {' '.join(messages)}".replace("\n", " ").strip()[:REASON]
    return f"{why}\n        repeat: {repeat} {shlex.quote(name_alone(case))}"


@dataclass(frozen=True)
class Built:
    """A build that a step uses, and the files of its folder that the step uses; () means all
    files."""

    folder: Path
    files: tuple[str, ...] = ()


class Log:
    """Runs the commands of a step: writes their output to a file, and adds up their counts."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.counts = Counts()
        self.skipped: list[str] = []
        self.failures: list[str] = []
        self.left_out: list[str] = []
        self.running: list[subprocess.Popen[bytes]] = []
        self.builds: list[Built] = []
        self.read: set[str] = set()  # files of the project that tests in Python read
        path.unlink(missing_ok=True)
        self.file = path.open("a", encoding="utf-8")

    def write(self, text: str) -> None:
        self.file.write(text + "\n")
        self.file.flush()

    def start(
        self,
        *command: str | Path,
        env: Mapping[str, str] | None = None,
        output: IO[str] | None = None,
    ) -> subprocess.Popen[bytes]:
        """Starts a command in a process group of its own, so that close() reaches all of it."""
        words = [str(word) for word in command]
        self.write(f"$ {shown(words, env)}")
        # Blocks interrupts until close() can find the command. The command gets the previous mask.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT, signal.SIGTERM])
        try:
            process = subprocess.Popen(
                words,
                cwd=ROOT,
                env=os.environ | dict(env or {}),
                stdin=subprocess.DEVNULL,
                stdout=output or self.file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=partial(signal.pthread_sigmask, signal.SIG_SETMASK, before),
            )
            self.running.append(process)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return process

    def finish(self, process: subprocess.Popen[bytes], seconds: int = COMMAND_SECONDS) -> None:
        words = [str(word) for word in process.args]  # type: ignore[union-attr]
        try:
            status = process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise StepError(f"still running after {seconds} s: {shlex.join(words)}") from None
        self.running.remove(process)
        if status:
            raise StepError(f"exit status {status}: {shlex.join(words)}")

    def run(self, *command: str | Path, env: Mapping[str, str] | None = None) -> None:
        self.finish(self.start(*command, env=env))

    def judge(self, process: subprocess.Popen[bytes]) -> str | None:
        """Waits for a command that is a test of its own; returns why it failed."""
        try:
            self.finish(process)
        except StepError as error:
            self.counts.failed += 1
            return str(error)
        self.counts.passed += 1
        return None

    def run_all(self, *commands: Sequence[str | Path]) -> None:
        """Runs every command, each a test of its own, and fails if any did."""
        errors = []
        for command in commands:
            errors.append(self.judge(self.start(*command)))
            self.write("")
        raise_any(errors)

    def run_at_once(
        self, *commands: Sequence[str | Path], env: Mapping[str, str] | None = None
    ) -> None:
        """Runs commands concurrently; the log gets the output of each, failed commands last."""
        with contextlib.ExitStack() as files:
            running = []
            for command in commands:
                output = files.enter_context(tempfile.TemporaryFile("w+", errors="replace"))
                running.append((self.start(*command, env=env, output=output), output))
            judged = [(self.judge(process), output) for process, output in running]
            for _, output in sorted(judged, key=lambda pair: pair[0] is not None):
                output.seek(0)
                self.write(output.read())
        raise_any(error for error, _ in judged)

    def skip(self, count: int, reason: str) -> None:
        """Counts tests that cannot run here, and says why."""
        self.counts.skipped += count
        self.skipped.append(reason)
        self.write(reason)

    def skip_without(self, what: str, error: Exception) -> None:
        """Skips tests of something that a command could not install; the last line of the log is
        the reason."""
        lines = [line for line in self.path.read_text().splitlines() if line.strip()]
        last = lines[-1].strip() if isinstance(error, StepError) and lines else str(error)
        self.skip(1, f"{what}: {last}")

    def brings(self, what: str, *command: str | Path) -> bool:
        """Runs a command that fetches files for tests. If that fails, skips the tests of `what` and
        returns False."""
        try:
            self.run(*command)
        except (OSError, StepError) as error:
            self.skip_without(what, error)
            return False
        return True

    def close(self) -> None:
        """Ends the commands that still run, after a time-out or an interrupt."""
        for sent in (signal.SIGTERM, signal.SIGKILL):
            for process in self.running:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, sent)
            end = time.monotonic() + END_SECONDS
            for process in self.running:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=max(0, end - time.monotonic()))
        self.file.close()

    def count_junit(self, path: Path, repeat: str) -> None:
        """Counts the test cases of a JUnit file that meson or pytest wrote. `repeat`, followed by
        the name of a test case, is the command that runs this case."""
        try:
            cases = list(ElementTree.parse(path).iter("testcase"))
        except ElementTree.ParseError as error:
            raise StepError(f"{path} is damaged: {error}") from None
        for case in cases:
            said = {child.tag: child.get("message") or "" for child in case}
            # Tests in C are not left out: they skip what a CPU or a system cannot do.
            skips = [child for child in case if child.get("type") == "pytest.skip"]
            self.left_out += [child.get("message") or "" for child in skips]
            if why := [said[tag] for tag in ("failure", "error") if tag in said]:
                self.counts.failed += 1
                self.failures.append(failed_test(case, why, repeat))
            elif "skipped" in said:
                self.counts.skipped += 1
            else:
                self.counts.passed += 1

    def tail(self) -> str:
        lines = self.path.read_text(errors="replace").splitlines()
        return "\n".join(f"    {line[:TAIL_COLUMNS]}" for line in lines[-TAIL_LINES:])


class Place(Enum):
    """The commands that run a step."""

    FIRST = "make test"  # another step of `make test-all` runs all of it
    SAME = "make test, make test-all"
    MORE = "make test, and more of it in make test-all"
    REST = "make test-all"


@dataclass(frozen=True)
class Step:
    name: str
    what: str
    run: Callable[[Log], None]
    inputs: tuple[str, ...] = ()  # files that decide the result: see inputs.py
    place: Place = Place.REST
    aside: bool = False  # waits, or keeps about one CPU busy: runs concurrently with others
    captures: bool = True  # whether the step reads the captures beside the project

    @property
    def is_first(self) -> bool:
        return self.place is not Place.REST


@dataclass(frozen=True)
class Result:
    counts: Counts
    seconds: float
    failures: list[str] | None = None  # names of failed tests, if known; None: it passed
    left_out: tuple[str, ...] = ()  # why tests, or parts of the step, did not run


# Called for each step that has passed so far; it may fail the step.
Check = Callable[[Step, Log], None]
# Called for each result, in the process that ran the step.
Keep = Callable[[Step, Result], None]
RunStep = Callable[[Step], Result]


def check_nothing(step: Step, log: Log) -> None:
    """Accepts each step."""


def keep_nothing(step: Step, result: Result) -> None:
    """Discards each result."""


def print_step(step: Step, log: Log, result: Result) -> None:
    verdict = "ok" if result.failures is None else "FAILED"
    about = f"{verdict:<6} {result.seconds:4.0f} s  {result.counts}"
    lines = [f"{step.name:<12} {step.what:<60} {about}"]
    lines += [f"    skipped: {reason}" for reason in log.skipped]
    if result.failures is not None:
        lines += [log.tail(), f"    all of it: {os.path.relpath(log.path, ROOT)}"]
    print("\n".join(lines), flush=True)  # at once: another lane prints too


def run_step(step: Step, check: Check, keep: Keep) -> Result:
    """Runs a step, then prints a line about it. A step that counts nothing counts as one test."""
    log = Log(LOGS / f"{step.name}.log")
    start = time.monotonic()
    error = None
    try:
        step.run(log)
        check(step, log)
    except (StepError, OSError) as caught:
        error = caught
        log.write(str(error))
    finally:
        log.close()
    counts = log.counts
    if error and not counts.failed:
        counts.failed += 1
    elif not counts.total:
        counts.passed += 1
    failures = log.failures if counts.failed else None
    left_out = (*log.skipped, *log.left_out)
    result = Result(counts, time.monotonic() - start, failures, left_out)
    print_step(step, log, result)
    keep(step, result)
    return result


def run_lane(steps: Iterable[Step], run: RunStep) -> dict[str, Result]:
    return {step.name: run(step) for step in steps}


def untaken(steps: Sequence[Step], taken: "Synchronized[int]") -> Iterator[Step]:
    """Yields the steps that no lane has taken yet, one after the other, and marks them taken."""
    while True:
        with taken.get_lock():
            number = taken.value
            taken.value += 1
        if number >= len(steps):
            return
        yield steps[number]


def send_lane(steps: Iterable[Step], run: RunStep, connection: Connection) -> None:
    """Runs steps in a separate process, which ends its commands when the main process asks it to
    end. Ctrl-C reaches this process too, but only the main process acts on it."""
    signal.signal(signal.SIGTERM, interrupt_once)
    signal.signal(signal.SIGINT, lambda *_: None)
    with contextlib.suppress(KeyboardInterrupt):
        connection.send(run_lane(steps, run))


def run_lanes(steps: Sequence[Step], run: RunStep) -> dict[str, Result]:
    """Runs steps in two processes: this one begins with steps that use all CPUs, the other one with
    steps that are marked `aside`. Once this process has run its steps, both share the remaining
    marked steps. If no step is marked, or there is only one step, this process runs all steps.
    Returns the results of all steps."""
    aside = [step for step in steps if step.aside]
    rest = [step for step in steps if not step.aside]
    if not aside or len(steps) == 1:
        return run_lane(steps, run)
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    others = untaken(aside[1:], context.Value("i"))
    lane = context.Process(target=send_lane, args=(chain(aside[:1], others), run, sender))
    lane.start()
    sender.close()
    try:
        results = run_lane(chain(rest, others), run)
        results.update(receiver.recv())
        return results
    except EOFError:
        raise SystemExit("the steps beside the others were ended") from None
    except BaseException:
        lane.terminate()
        raise
    finally:
        lane.join()


def print_failures(failed: Mapping[str, list[str]]) -> None:
    print(f"Failed steps: {' '.join(failed)}")
    for step, tests in failed.items():
        for test in tests[:NAMED]:
            print(f"    {step}: {test}")
        if len(tests) > NAMED:
            print(f"    {step}: {len(tests) - NAMED} more")


def run_steps(
    steps: Sequence[Step], check: Check = check_nothing, keep: Keep = keep_nothing
) -> tuple[dict[str, Result], float]:
    """Runs all steps, even if some fail; returns the result of each, and the seconds that all
    took."""
    start = time.monotonic()
    results = run_lanes(steps, partial(run_step, check=check, keep=keep))
    failed = {s.name: results[s.name].failures for s in steps}
    named = {name: tests for name, tests in failed.items() if tests is not None}
    if named:
        print_failures(named)
    return results, time.monotonic() - start


def total(results: Iterable[Result]) -> Counts:
    return sum((result.counts for result in results), Counts())
