# SPDX-License-Identifier: MIT
"""`carry check` prints the same for any number of threads, from files and pipes."""

from __future__ import annotations

import functools
import os
import resource
import subprocess
from pathlib import Path

import pytest
from captures import GOOD, PARTIAL, WRONG, mixture, pcap
from carry_tool import BAD, DAMAGED, ERROR, SOURCE, Run

pytestmark = pytest.mark.covers_capture


CORPUS = Path(os.environ.get("CARRY_CORPUS", SOURCE.parent / "shared/captures"))

CAPTURES = [
    path
    for folder in (SOURCE / "examples", CORPUS)
    if folder.is_dir()
    for path in sorted(folder.rglob("*"))
    if path.is_file() and ".pcap" in path.name
]


THREADS = ["1", "2", "3", "8"]
MODES = [[], ["--json"], ["--tsv"], ["--bad-only"], ["--bad-only", "--json"]]


def results(carry: Run, threads: str, *arguments: str | Path) -> list[tuple[int, str, str]]:
    found = []
    for mode in MODES:
        done = carry("check", "-j", threads, *mode, *arguments)
        found.append((done.returncode, done.stdout, done.stderr))
    return found


def test_report_does_not_depend_on_threads(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "mixture.pcapng"
    path.write_bytes(mixture())
    alone = results(carry, "1", path)
    assert alone[0][0] == DAMAGED
    assert "from more than 64 senders" in alone[0][1] or "the rest from many" in alone[0][1]
    assert "of others" in " ".join(alone[0][1].split())
    assert len(alone[3][1].splitlines()) == 6 * 200
    for threads in THREADS[1:]:
        assert results(carry, threads, path) == alone


@pytest.mark.skipif(len(CAPTURES) < 10, reason=f"no captures in {CORPUS}")
def test_report_of_real_captures_does_not_depend_on_threads(carry: Run) -> None:
    alone = results(carry, "1", *CAPTURES)
    for threads in THREADS[1:]:
        assert results(carry, threads, *CAPTURES) == alone


def test_examples_with_any_number_of_threads(carry: Run) -> None:
    """Each example has the same report with any number of threads."""
    paths = [path for path in CAPTURES if path.parent == SOURCE / "examples"]
    assert len(paths) >= 4
    for path in paths:
        assert len({repr(results(carry, threads, path)) for threads in THREADS}) == 1


def test_pipes_have_the_report_of_files(tool: str, tmp_path: Path) -> None:
    """The report does not depend on how a pipe divides the bytes. The division also changes the
    batches."""
    path = tmp_path / "mixture.pcapng"
    path.write_bytes(mixture())
    for size in (777, 65536):
        for threads in THREADS:
            reader = subprocess.Popen(
                [tool, "check", "--json", f"-j{threads}", "-"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            data = mixture()
            for at in range(0, len(data), size):
                reader.stdin.write(data[at : at + size])
                reader.stdin.flush()
            out, _ = reader.communicate()
            with path.open("rb") as file:
                again = subprocess.run(
                    [tool, "check", "--json", "-"], stdin=file, stdout=subprocess.PIPE
                )
            assert (reader.returncode, out) == (again.returncode, again.stdout)


@pytest.mark.skipif("CARRY_SANITIZED" in os.environ, reason="sanitizers reserve more")
@pytest.mark.parametrize("kib", [60000, 400000])
def test_check_works_without_memory_for_threads(tool: str, tmp_path: Path, kib: int) -> None:
    """Under a memory limit, many threads give the result of one: their stacks and heaps do not use
    up the memory that one thread needs."""
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([GOOD, WRONG, PARTIAL] * 100_000))
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_AS, (kib * 1024,) * 2)
    shown = {}
    for threads in ("1", "256"):
        done = subprocess.run(
            [tool, "check", "--json", "-j", threads, path], capture_output=True, preexec_fn=limit
        )
        assert (done.returncode, done.stderr) == (BAD, b"")
        shown[threads] = done.stdout
    assert shown["1"] == shown["256"]


@pytest.mark.parametrize("value", ["0", "257", "x", "-1", ""])
def test_threads_are_a_number(carry: Run, value: str) -> None:
    done = carry("check", "--threads", value, "a")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert f"--threads takes a number from 1 to 256, not '{value}'" in done.stderr
