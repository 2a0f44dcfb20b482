# SPDX-License-Identifier: MIT
"""Fixtures and helpers of the tests of the tool: they run and observe it."""

from __future__ import annotations

import bz2
import fcntl
import gzip
import lzma
import os
import pty
import re
import shutil
import signal
import subprocess
import termios
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from schemas import conforming

# Handles SIGINT as in a terminal: a shell makes background jobs ignore it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SOURCE = Path(__file__).resolve().parent.parent.parent

# Exit statuses of the tool.
CLEAN, BAD, DAMAGED, ERROR = 0, 1, 2, 3

HANGS = 120  # seconds; a wait that lasts longer has failed, on a busy machine too

KIB, MIB = 1 << 10, 1 << 20

Run = Callable[..., subprocess.CompletedProcess[str]]
Report = tuple[int, dict[str, Any]]
Check = Callable[[bytes], Report]
Item = TypeVar("Item")
CheckAll = Callable[[Iterable[bytes]], list[Report]]

LEVEL = os.environ.get("CARRY_TEST_LEVEL", "medium")

# Marks tests that cost seconds and add little to the other tests of their file.
not_short = pytest.mark.skipif(LEVEL == "short", reason="left out at CARRY_TEST_LEVEL=short")


def fewer(items: Sequence[Item], step: int) -> Sequence[Item]:
    """Returns all items; at level short, only each `step`-th."""
    return items[::step] if LEVEL == "short" else items


def cases(items: Iterable[Any], step: int) -> list[Any]:
    """Returns items as values of a parameter; at level short, only each `step`-th is tested."""
    return [
        pytest.param(item, marks=[not_short] if number % step else [])
        for number, item in enumerate(items)
    ]


@pytest.fixture(scope="session")
def tool() -> str:
    """Returns the tool under test: CARRY_TOOL, or the one that `make` builds."""
    path = Path(os.environ.get("CARRY_TOOL", SOURCE / "build/tools/carry/carry"))
    assert path.is_file(), f"{path} is missing: build it, or set CARRY_TOOL"
    return str(path)


@pytest.fixture(scope="session")
def carry(tool: str) -> Run:
    """Runs the tool; returns its output and exit status."""

    def run(
        *arguments: str | Path, stdin: bytes | None = None, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [tool, *map(str, arguments)], input=stdin, env=env, capture_output=True, timeout=600
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
        )

    return run


@pytest.fixture(scope="session")
def check(carry: Run) -> Check:
    """Checks the bytes of a capture; returns the exit status and the JSON object."""

    def run(data: bytes) -> tuple[int, dict[str, Any]]:
        done = carry("check", "--json", "-", stdin=data)
        assert done.stderr == ""
        return done.returncode, conforming("check", done.stdout)

    return run


@pytest.fixture
def check_all(carry: Run, tmp_path: Path) -> CheckAll:
    """Checks several captures in one call. Returns for each capture the exit status that a check of
    only this capture would have, and its JSON object without the name."""

    def run(captures: Iterable[bytes]) -> list[Report]:
        paths = []
        for number, data in enumerate(captures):
            paths.append(tmp_path / f"{number}.capture")
            paths[-1].write_bytes(data)
        if not paths:
            return []
        done = carry("check", "--json", *paths)
        assert done.stderr == ""
        reports = [conforming("check", line) for line in done.stdout.splitlines()]
        assert [report.pop("file") for report in reports] == [str(path) for path in paths]
        found = [(status_of(report), report) for report in reports]
        assert done.returncode == max(status for status, _ in found)
        return found

    return run


def status_of(report: dict[str, Any]) -> int:
    """Returns the exit status of a check that has this report."""
    if report["damage"]:
        return DAMAGED
    return BAD if report["outcome"] == "wrong" else CLEAN


def packed_by(name: str, data: bytes, *options: str) -> bytes:
    program = shutil.which(name)
    if not program:
        pytest.skip(f"{name} is not installed")
    command = [program, "-q", "-c", *options]
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout


def zstd(data: bytes, *options: str) -> bytes:
    return packed_by("zstd", data, *options)


# Functions that compress, by the name of the format.
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstd,
    "xz": lzma.compress,
    "lz4": partial(packed_by, "lz4"),
    "bzip2": partial(bz2.compress, compresslevel=1),
}


def in_terminal(command: list[str], stdin: bytes | None = None, **variables: str) -> str:
    """Runs `command` in a terminal; returns what it writes to standard output and standard
    error."""
    child, terminal = pty.fork()
    if child == 0:
        os.execve(command[0], command, {"TERM": "xterm", "LC_ALL": "C", **variables})
    shown = b""
    while True:
        try:
            part = os.read(terminal, 65536)
        except OSError:
            part = b""
        if not part:
            break
        shown += part
    os.waitpid(child, 0)
    os.close(terminal)
    return shown.decode()


def wait_until_read(child: subprocess.Popen[bytes]) -> None:
    """Waits until a process has read all that its pipe held, and 0.1 s more."""
    assert child.stdin
    while fcntl.ioctl(child.stdin, termios.FIONREAD, bytes(4)) != bytes(4):
        time.sleep(0.01)
    time.sleep(0.1)
    assert child.poll() is None


def peak_kib(command: list[str], feed: list[bytes]) -> int:
    """Returns the peak resident memory, in KiB, of a command that has read `feed` from a pipe. Does
    not use rusage, which counts the memory of the parent before exec."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as child:
        for data in feed:
            child.stdin.write(data)
        child.stdin.flush()
        wait_until_read(child)
        status = Path(f"/proc/{child.pid}/status").read_text()
        if os.environ.get("CARRY_SANITIZED"):
            pytest.skip("it ran, but sanitizers hold freed memory back, which hides its bound")
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])
