# SPDX-License-Identifier: MIT
"""`carry-rotated`, as `tcpdump -z` runs it on a file: the file is whole at any time, and repaired
at the end."""

from __future__ import annotations

import getpass
import gzip
import os
import shutil
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest
from captures import GOOD, PARTIAL, WRONG, pcap
from carry_tool import BAD, CLEAN, DAMAGED, ERROR, SOURCE

PROGRAM = SOURCE / "tools/carry/carry-rotated"


@pytest.fixture
def environment(tool: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Returns an environment whose PATH has the program and the tool in one folder, as after an
    installation."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "carry").symlink_to(tool)
    (folder / PROGRAM.name).symlink_to(PROGRAM)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def rotated(folder: Path, environment: dict[str, str], *words: str) -> tuple[int, str]:
    """Runs carry-rotated; returns its exit status and its messages on standard error."""
    done = subprocess.run(
        ["carry-rotated", *words], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.stdout == ""
    return done.returncode, done.stderr


@pytest.mark.parametrize("name", ["a.pcap", "with space.pcap", "-o.pcap", "-", "folder/a.pcap"])
def test_partial_sums_are_completed(environment: dict[str, str], tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(pcap([PARTIAL, GOOD, WRONG]))
    path.chmod(0o640)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    status, said = rotated(tmp_path, environment, name)
    assert status == BAD
    assert said == f"carry-rotated: {name}: a checksum is bad or illegal; see carry check\n"
    assert path.read_bytes() == pcap([GOOD, GOOD, WRONG])
    assert path.stat().st_mtime == 1_700_000_000
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(path.parent) == [path.name]


def test_complete_capture_is_kept_silently(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(pcap([PARTIAL]))
    for _ in range(2):
        assert rotated(tmp_path, environment, "a") == (CLEAN, "")
        assert (tmp_path / "a").read_bytes() == pcap([GOOD])


def test_damaged_and_other_files_are_kept(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(pcap([PARTIAL]) + b"cut")
    (tmp_path / "b").write_bytes(b"hello, world")
    assert rotated(tmp_path, environment, "a") == (
        DAMAGED,
        "carry-rotated: a: damaged; see carry check\n",
    )
    assert (tmp_path / "a").read_bytes() == pcap([GOOD]) + b"cut"
    assert rotated(tmp_path, environment, "b")[0] == DAMAGED
    assert (tmp_path / "b").read_bytes() == b"hello, world"
    assert sorted(os.listdir(tmp_path)) == ["a", "b"]


@pytest.mark.parametrize("name", ["a.pcap.gz", "a.pcap.zst", "a.xz"])
def test_compressed_capture_is_kept(environment: dict[str, str], tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(pcap([PARTIAL])))
    before = (tmp_path / name).read_bytes()
    status, said = rotated(tmp_path, environment, name)
    assert status == ERROR
    assert said.startswith(f"carry-rotated: {name}: is compressed")
    assert (tmp_path / name).read_bytes() == before


# A tool that runs a command first; $5 is the copy to write.
FIRST = """#!/bin/sh
{first}
exec {tool} "$@"
"""


def do_first(environment: dict[str, str], tool: str, first: str) -> None:
    """Replaces the tool by a script that runs the command `first` before the tool."""
    path = Path(environment["PATH"].partition(":")[0]) / "carry"
    path.unlink()
    path.write_text(FIRST.format(first=first, tool=tool))
    path.chmod(0o755)


@pytest.mark.parametrize("planted", ["link", "file"])
def test_planted_file_is_not_followed(
    environment: dict[str, str], tool: str, tmp_path: Path, planted: str
) -> None:
    """A link or a file that another user places at the guessed path of the copy does no harm."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "a").write_bytes(pcap([PARTIAL]))
    how = "ln -s victim" if planted == "link" else "cp victim"
    do_first(environment, tool, f"{how} .carry-$PPID-0")
    assert rotated(tmp_path, environment, "a") == (CLEAN, "")
    assert victim.read_text() == "precious"
    assert not (tmp_path / "a").is_symlink()
    assert (tmp_path / "a").read_bytes() == pcap([GOOD])


def test_copy_lies_in_a_private_folder(
    environment: dict[str, str], tool: str, tmp_path: Path
) -> None:
    (tmp_path / "captures").mkdir(mode=0o777)
    (tmp_path / "captures").chmod(0o777)
    (tmp_path / "captures/a").write_bytes(pcap([PARTIAL]))
    do_first(environment, tool, f'stat -c "%a %n" "${{5%/*}}" >>{tmp_path}/places')
    for _ in range(2):
        assert rotated(tmp_path / "captures", environment, "a") == (CLEAN, "")
    first, second = (tmp_path / "places").read_text().splitlines()
    assert first != second
    assert first.startswith(f"700 {tmp_path}/captures/.carry-")
    assert os.listdir(tmp_path / "captures") == ["a"]


def test_signal_keeps_the_capture(environment: dict[str, str], tool: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(pcap([PARTIAL]))
    do_first(environment, tool, "kill $PPID; echo part >$5")
    assert rotated(tmp_path, environment, "a")[0] == ERROR
    assert (tmp_path / "a").read_bytes() == pcap([PARTIAL])
    assert os.listdir(tmp_path) == ["a"]


def test_check_skips_an_abandoned_copy(
    environment: dict[str, str], tool: str, tmp_path: Path
) -> None:
    """A copy that remains after SIGKILL is skipped by later checks."""
    (tmp_path / "a").write_bytes(pcap([GOOD]))
    do_first(environment, tool, 'kill -9 $PPID; cp a "$5"; exit')
    assert rotated(tmp_path, environment, "a")[0] == -signal.SIGKILL
    assert len(os.listdir(tmp_path)) == 2
    done = subprocess.run([tool, "check", "-q", "."], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (CLEAN, "")
    done = subprocess.run([tool, "check", "."], cwd=tmp_path, capture_output=True, text=True)
    assert ".carry-" not in done.stdout + done.stderr


@pytest.mark.parametrize("mode", [0o664, 0o600])
def test_permissions_are_kept(environment: dict[str, str], tmp_path: Path, mode: int) -> None:
    (tmp_path / "a").write_bytes(pcap([PARTIAL]))
    (tmp_path / "a").chmod(mode)
    (tmp_path / "link").symlink_to("a")
    assert rotated(tmp_path, environment, "link") == (CLEAN, "")
    assert (tmp_path / "a").read_bytes() == pcap([GOOD])
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == mode
    assert (tmp_path / "link").is_symlink()


def test_failures(environment: dict[str, str], tmp_path: Path) -> None:
    """A failure prints one line, and leaves no file."""
    for words in ((), ("a", "b"), ("none",), (".",)):
        status, said = rotated(tmp_path, environment, *words)
        assert (status, said.count("\n")) == (ERROR, 1)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not shutil.which("tcpdump"), reason="tcpdump is not installed")
def test_tcpdump_runs_it(environment: dict[str, str], tmp_path: Path) -> None:
    """tcpdump runs the program for each file except the last, which it closes when it exits."""
    count = 30000
    (tmp_path / "in.pcap").write_bytes(pcap([PARTIAL] * count))
    command = ["tcpdump", "-Z", getpass.getuser(), "-r", "in.pcap", "-w", "out", "-C", "1"]
    subprocess.run(
        [*command, "-z", "carry-rotated"],
        cwd=tmp_path,
        env=environment,
        check=True,
        capture_output=True,
    )
    *finished, last = sorted(path for path in tmp_path.iterdir() if path.name.startswith("out"))
    assert finished
    record = len(pcap([GOOD])) - 24
    for path in finished:
        expected = pcap([GOOD] * ((path.stat().st_size - 24) // record))
        deadline = time.monotonic() + 60  # tcpdump does not wait for its children
        while path.read_bytes() != expected:
            assert time.monotonic() < deadline
            time.sleep(0.01)
    assert last.read_bytes() == pcap([PARTIAL] * ((last.stat().st_size - 24) // record))
