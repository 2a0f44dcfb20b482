# SPDX-License-Identifier: MIT
"""`carry fix` into pipes writes the same bytes as into files, each packet at once, and only whole
records."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import itertools
import json
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from captures import GOOD, PARTIAL, TCP, WRONG, Pcapng, ethernet, packet, pcap
from carry_tool import BAD, CLEAN, DAMAGED, ERROR, Run, in_terminal, wait_until_read, zstd
from schemas import conforming
from test_interrupt import take_signals
from test_reassemble import datagram, fragments, raw

PATIENCE_S = 60  # time after which a test fails
FRAMES = [WRONG, GOOD, PARTIAL, ethernet(packet(TCP, bytes(1000), sums="bad"))]


def pcapng(frames: list[bytes]) -> bytes:
    file = Pcapng().section().interface()
    for frame in frames:
        file.packet(frame)
    return file.bytes()


KINDS = {
    "pcap": pcap(FRAMES * 700),
    "pcapng": pcapng(FRAMES * 700),
    "gzip": gzip.compress(pcap(FRAMES * 700)),
    "damaged": pcap(FRAMES * 700) + b"\xff" * 300,
}


class Starter:
    """Starts the tool with pipes for its three standard streams, unless the test passes others."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.started: list[subprocess.Popen[bytes]] = []

    def __call__(self, *arguments: str | Path, **streams: int) -> subprocess.Popen[bytes]:
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE) | streams
        child = subprocess.Popen(
            [self.tool, *map(str, arguments)], preexec_fn=take_signals, bufsize=0, **pipes
        )
        self.started.append(child)
        return child


@pytest.fixture
def run(tool: str) -> Iterator[Starter]:
    starter = Starter(tool)
    yield starter
    for child in starter.started:
        child.kill()
        child.__exit__(None, None, None)


def read_from(descriptor: int, size: int) -> bytes:
    """Returns `size` bytes, or fewer at the end or after a timeout."""
    data = b""
    while len(data) < size and select.select([descriptor], [], [], PATIENCE_S)[0]:
        part = os.read(descriptor, size - len(data))
        if not part:
            break
        data += part
    return data


def held(descriptor: int) -> int:
    return int(struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)))[0])


# --- Output ---


SOURCES = ("file", "stdin", "pipe", "fifo")
SINKS = ("pipe", "stdout", "descriptor", "file", "appended", "fifo")


@pytest.mark.parametrize(
    ("kind", "source", "sink"),
    [
        *itertools.product(KINDS, SOURCES, SINKS[:1]),
        *itertools.product(["pcapng"], SOURCES, SINKS[1:]),
    ],
)
def test_pipe_receives_the_bytes_of_a_file(
    tool: str, tmp_path: Path, kind: str, source: str, sink: str
) -> None:
    path, copy, out = (tmp_path / name for name in ("in", "copy", "out"))
    path.write_bytes(KINDS[kind])
    done = subprocess.run([tool, "fix", "-q", path, "-o", copy])
    words = {
        "file": f"{tool} fix -q in",
        "stdin": f"<in {tool} fix -q -",
        "pipe": f"cat in | {tool} fix -q -",
        "fifo": f"mkfifo i; cat in >i & {tool} fix -q i",
    }[source]
    rest = {
        "pipe": "-o - | cat >out",
        "stdout": "-o /dev/stdout | cat >out",
        "descriptor": "-o /dev/fd/1 | cat >out",
        "file": "-o - >out",
        "appended": "-o - >>out",
        "fifo": "-o o & cat o >out; wait $!",
    }[sink]
    script = f"set -o pipefail; mkfifo o; {words} {rest}"
    piped = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True)
    assert (piped.stdout, piped.stderr) == (b"", b"")
    if not (source == "fifo" and sink == "fifo"):
        assert piped.returncode == done.returncode
    assert out.read_bytes() == copy.read_bytes()


def test_file_is_written_from_its_position(tool: str, tmp_path: Path) -> None:
    """A copy begins at the position of the file: late repairs of fragments do not change earlier
    content."""
    first, *rest = fragments(datagram(sums="bad"))
    (tmp_path / "in").write_bytes(raw([first, *[packet(TCP)] * 4000, *rest]))
    subprocess.run([tool, "fix", "-q", tmp_path / "in", "-o", tmp_path / "copy"], check=True)
    script = f"(printf before; {tool} fix -q in -o -; printf behind) >out"
    subprocess.run(["sh", "-c", script], cwd=tmp_path, check=True)
    assert (tmp_path / "out").read_bytes() == (
        b"before" + (tmp_path / "copy").read_bytes() + b"behind"
    )


def test_one_socket_for_both(run: Starter) -> None:
    """Standard input and output may be one socket, as under inetd."""
    ours, theirs = socket.socketpair()
    child = run("fix", "-q", "-", "-o", "-", stdin=theirs.fileno(), stdout=theirs.fileno())
    theirs.close()
    ours.sendall(pcap([WRONG]))
    ours.shutdown(socket.SHUT_WR)
    with ours, ours.makefile("rb") as stream:
        assert stream.read() == pcap([GOOD])
    assert child.wait(PATIENCE_S) == CLEAN


def test_filters_of_each_other(tool: str) -> None:
    """A copy may be piped into a second `carry fix` and into `carry check`, which finds only bad
    sums that were not repaired."""
    for data, only, status in ((pcap(FRAMES), "", CLEAN), (pcapng(FRAMES), "--only=partial", BAD)):
        script = f"{tool} fix -q - -o - {only} | {tool} fix - -q -o - {only} | {tool} check -q -"
        done = subprocess.run(["sh", "-c", script], input=data)
        assert done.returncode == status
    done = subprocess.run([tool, "fix", "-", "-o", "-", "-q"], input=zstd(pcap([WRONG])))
    assert done.returncode == CLEAN


# --- Reports ---


def test_data_on_one_report_on_the_other(tool: str, tmp_path: Path) -> None:
    """The copy is on standard output, and the report on standard error."""

    def fix(*options: str) -> str:
        command = [tool, "fix", tmp_path / "in", "-o", "-", *options]
        done = subprocess.run(command, capture_output=True)
        assert (done.returncode, done.stdout) == (CLEAN, pcap([GOOD, GOOD]))
        return done.stderr.decode()

    (tmp_path / "in").write_bytes(pcap([WRONG, GOOD]))
    report = fix().splitlines()
    assert report[0] == f"{tmp_path}/in: 2 packets, 124 bytes"
    assert report[-1] == "1 checksum repaired in 1 packet; written to standard output"
    assert conforming("fix", fix("--json"))["output"] == "-"
    assert fix("-q") == ""
    assert fix("-q", "--log", str(tmp_path / "log")) == ""
    assert json.loads((tmp_path / "log").read_text())["frame"] == 1


def test_one_of_log_and_copy(carry: Run, tmp_path: Path) -> None:
    """Copy and log cannot both be standard output."""
    (tmp_path / "in").write_bytes(pcap([WRONG]))
    for output, log in (("-", "-"), ("/dev/stdout", "-"), ("-", "/dev/stdout")):
        done = carry("fix", tmp_path / "in", "-o", output, "--log", log)
        assert (done.returncode, done.stdout) == (ERROR, "")
        assert "--output and --log cannot both be standard output" in done.stderr


def test_no_progress_in_the_output_of_a_reader(tool: str, tmp_path: Path) -> None:
    (tmp_path / "in").write_bytes(pcap([GOOD]))
    script = f"(cat {tmp_path}/in; sleep 1) | {tool} fix -q - -o - | cat >/dev/null"
    assert in_terminal(["/bin/sh", "-c", script]) == ""


# --- Errors ---


def refused(done: subprocess.CompletedProcess[bytes]) -> str:
    assert done.returncode == ERROR
    line, end, rest = done.stderr.decode().partition("\n")
    assert (end, rest) == ("\n", "")
    return line


def test_a_terminal(tool: str, tmp_path: Path) -> None:
    """A copy is never written to a terminal."""
    (tmp_path / "in").write_bytes(pcap([WRONG]))
    control, terminal = pty.openpty()
    for name in ("-", "/dev/stdout", os.ttyname(terminal)):
        done = subprocess.run(
            [tool, "fix", tmp_path / "in", "-o", name], stdout=terminal, stderr=subprocess.PIPE
        )
        shown = "standard output" if name == "-" else name
        assert refused(done) == f"carry: {shown}: is a terminal, and a capture is not text"
    assert held(control) == 0
    os.close(control)
    os.close(terminal)


@pytest.mark.parametrize(
    ("redirected", "reason"),
    [
        (">/dev/full", "No space left on device"),
        (">&-", "Bad file descriptor"),
        (">>in", None),
        ("2>&1 | cat >&2", "is the standard error of this command, too"),
    ],
)
def test_outputs_that_accept_no_bytes(
    tool: str, tmp_path: Path, redirected: str, reason: str | None
) -> None:
    (tmp_path / "in").write_bytes(pcap([WRONG]))
    script = f"set -o pipefail; {tool} fix in -o - {redirected}"
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, stderr=subprocess.PIPE)
    said = f"standard output: {reason}" if reason else "in: is the standard output of this command"
    assert refused(done) == f"carry: {said}"
    assert (tmp_path / "in").read_bytes() == pcap([WRONG])


def test_devices(carry: Run, tmp_path: Path) -> None:
    """A copy may be written to a device; errors of the device are reported."""
    (tmp_path / "in").write_bytes(pcap([WRONG]))
    assert carry("fix", tmp_path / "in", "-q", "-o", "/dev/null").returncode == CLEAN
    done = carry("fix", tmp_path / "in", "-o", "/dev/full")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == "carry: /dev/full: No space left on device\n"


def test_other_files_are_refused(carry: Run) -> None:
    done = carry("fix", "-", "-o", "-", stdin=b"hello, world")
    assert (done.returncode, done.stdout) == (DAMAGED, "")
    assert done.stderr.count("\n") == 1


# --- Delays ---


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
def test_a_packet_is_not_delayed_by_any(run: Starter, kind: str) -> None:
    """Each packet is written before the next one is read."""
    make = {"pcap": pcap, "pcapng": pcapng}[kind]
    child = run("fix", "-q", "-", "-o", "-")
    assert child.stdin and child.stdout
    before = 0
    for count in range(6):
        whole = make([WRONG] * count)
        child.stdin.write(whole[before:])
        out = read_from(child.stdout.fileno(), len(whole) - before)
        assert out == make([GOOD] * count)[before:]
        before = len(whole)
    child.stdin.close()
    assert child.stdout.read() == b""
    assert child.wait(PATIENCE_S) == CLEAN


def test_packets_are_written_whole(run: Starter) -> None:
    child = run("fix", "-q", "-", "-o", "-")
    assert child.stdin and child.stdout
    child.stdin.write(pcap([WRONG, WRONG])[:-1])
    assert read_from(child.stdout.fileno(), 24 + 16 + len(GOOD)) == pcap([GOOD])
    wait_until_read(child)
    assert held(child.stdout.fileno()) == 0


def test_incomplete_datagram_delays_no_packet(run: Starter) -> None:
    parts = fragments(datagram(sums="bad"))
    child = run("fix", "-J", "-", "-o", "-")
    assert child.stdin and child.stdout and child.stderr
    before = 0
    for count in range(len(parts) + 1):
        data = raw(parts[:count])
        child.stdin.write(data[before:])
        assert read_from(child.stdout.fileno(), len(data) - before) == data[before:]
        before = len(data)
    child.stdin.close()
    report = conforming("fix", child.stderr.read())
    assert child.wait(PATIENCE_S) == BAD
    assert [group["reason"] for group in report["reasons"]] == ["written"]


# --- Slow readers, closed pipes, and signals ---


def fill(child: subprocess.Popen[bytes], stream: int) -> None:
    """Waits until the pipe to an idle reader is full and the tool sleeps."""
    before = 0
    while not before or held(stream) != before or state(child) != "S":
        before = held(stream)
        select.select([], [], [], 0.1)


def state(child: subprocess.Popen[bytes]) -> str:
    return Path(f"/proc/{child.pid}/stat").read_text().rpartition(") ")[2][0]


LARGE = 5000


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """Returns a capture larger than pipes and windows."""
    path = tmp_path / "large"
    path.write_bytes(pcap(FRAMES * LARGE))
    return path


def expected(size: int) -> bytes:
    right = pcap([GOOD, GOOD, GOOD, ethernet(packet(TCP, bytes(1000)))])
    return (right + right[24:] * (size // len(right[24:])))[:size]


def records(data: bytes) -> int:
    """Returns the number of records in a capture. Checks that the last one is whole."""
    at, count = 24, 0
    while at < len(data):
        at, count = at + 16 + int.from_bytes(data[at + 8 : at + 12], "little"), count + 1
    assert at == len(data)
    return count


@pytest.mark.parametrize("waits", [True, False], ids=["blocking", "non-blocking"])
def test_a_slow_reader(run: Starter, large: Path, waits: bool) -> None:
    """A reader that is slow gets all bytes, whether writes block or not."""
    reader, writer = os.pipe()
    os.set_blocking(writer, waits)
    child = run("fix", "-q", large, "-o", "-", stdout=writer)
    os.close(writer)
    fill(child, reader)
    size = large.stat().st_size
    assert read_from(reader, size + 1) == expected(size)
    os.close(reader)
    assert child.wait(PATIENCE_S) == CLEAN


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("piped", [False, True], ids=["file", "pipe"])
def test_signal_ends_output_after_a_whole_record(
    run: Starter, large: Path, number: signal.Signals, piped: bool
) -> None:
    child = run("fix", "-J", "-" if piped else large, "-o", "-")
    assert child.stdin and child.stdout and child.stderr
    feeder = threading.Thread(target=feed, args=(child, large))
    if piped:
        feeder.start()
    fill(child, child.stdout.fileno())
    child.send_signal(number)
    data = child.stdout.read()
    report = json.loads(child.stderr.read())
    assert child.wait(PATIENCE_S) == CLEAN
    assert data == expected(len(data))
    assert 0 < records(data) == report["packets"] < len(FRAMES) * LARGE
    assert report["damage"] is None
    if piped:
        child.stdin.close()
        feeder.join()


def feed(child: subprocess.Popen[bytes], path: Path) -> None:
    assert child.stdin
    with contextlib.suppress(OSError, ValueError):
        child.stdin.write(path.read_bytes()[:-1])


def test_second_signal_ends_the_wait_for_a_reader(run: Starter, large: Path) -> None:
    child = run("fix", large, "-o", "-")
    assert child.stdout and child.stderr
    fill(child, child.stdout.fileno())
    child.send_signal(signal.SIGSTOP)
    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGTERM)
    child.send_signal(signal.SIGCONT)
    assert child.wait(PATIENCE_S) == -signal.SIGTERM
    assert child.stderr.read() == b""


@pytest.mark.parametrize("source", ["file", "pipe"])
def test_reader_that_closes_its_pipe(tool: str, large: Path, source: str) -> None:
    """The tool ends without a message, and writes no log of a copy that was not received."""
    words = {"file": f"{tool} fix {large}", "pipe": f"cat {large} | {tool} fix -"}[source]
    script = f"{words} -o - --log log | head -c 100 >out; echo ${{PIPESTATUS[-2]}}"
    done = subprocess.run(["bash", "-c", script], cwd=large.parent, capture_output=True)
    assert (done.stdout, done.stderr) == (f"{ERROR}\n".encode(), b"")
    assert (large.parent / "out").read_bytes() == expected(100)
    assert sorted(os.listdir(large.parent)) == ["large", "out"]
