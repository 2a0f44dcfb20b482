# SPDX-License-Identifier: MIT
"""Ctrl-C and SIGTERM while the input is a pipe: the first signal ends the input, and the second
signal ends the tool."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from captures import GOOD, PARTIAL, WRONG, Pcapng, pcap
from carry_tool import BAD, CLEAN, DAMAGED, HANGS, wait_until_read

Start = Callable[..., subprocess.Popen[bytes]]

STOPS = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])

PACKETS = [GOOD, WRONG, PARTIAL] * 20000
CUTS = [(kind, cut) for kind in ("pcap", "pcapng", "gzip") for cut in (1, 15, 16, 40)]


def take_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture(scope="module")
def tools(tool: str) -> Iterator[Start]:
    """Yields a function that starts the tool with `data` in a pipe that remains open."""
    started: list[subprocess.Popen[bytes]] = []

    def run(data: bytes, *arguments: str | Path) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            [tool, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=take_signals,
        )
        started.append(child)
        assert child.stdin
        child.stdin.write(data)
        child.stdin.flush()
        return child

    yield run
    for child in started:
        child.kill()
        child.communicate()


@pytest.fixture
def start(tools: Start) -> Start:
    """Returns a function that starts the tool, and waits until it has read `data` from a pipe that
    remains open."""

    def run(data: bytes, *arguments: str | Path) -> subprocess.Popen[bytes]:
        child = tools(data, *arguments)
        wait_until_read(child)
        return child

    return run


def end_of(child: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    """Returns the exit status and the output, while the pipe remains open."""
    assert child.stdout and child.stderr
    printed = child.stdout.read()
    assert child.stderr.read() == b""
    return child.wait(HANGS), printed


@STOPS
@pytest.mark.parametrize("threads", ["1", "2"])
def test_packets_before_the_signal_are_reported(
    start: Start, tmp_path: Path, number: signal.Signals, threads: str
) -> None:
    child = start(pcap(PACKETS), "check", "-J", "-j", threads, "-w", tmp_path / "bad", "-")
    child.send_signal(number)
    status, printed = end_of(child)
    report = json.loads(printed)
    assert (status, report["packets"], report["damage"]) == (BAD, len(PACKETS), None)
    assert report["protocols"]["tcp"]["bad"] == PACKETS.count(WRONG)
    assert (tmp_path / "bad").read_bytes().count(b"-, frame ") == PACKETS.count(WRONG)
    assert os.listdir(tmp_path) == ["bad"]


@STOPS
def test_summary_covers_packets_before_the_signal(start: Start, number: signal.Signals) -> None:
    """After an interrupt, the summary covers the packets before it."""
    child = start(pcap([GOOD, PARTIAL]), "check", "-")
    child.send_signal(number)
    status, printed = end_of(child)
    assert status == CLEAN
    assert printed.startswith(b"standard input: 2 packets")
    assert printed.endswith(b"\nclean, 1 left to transmit offload\n")


def test_rest_of_the_pipe_is_read(start: Start) -> None:
    """Packets that are written to the pipe after the signal count: the writer may receive the
    signal too, and write its remaining packets before it exits."""
    child = start(pcap([GOOD]), "check", "-J", "-")
    child.send_signal(signal.SIGSTOP)
    child.send_signal(signal.SIGINT)
    assert child.stdin
    child.stdin.write(pcap([WRONG] * 500)[24:])
    child.stdin.flush()
    child.send_signal(signal.SIGCONT)
    status, printed = end_of(child)
    assert (status, json.loads(printed)["packets"]) == (BAD, 501)


def cut_stream(kind: str, cut: int) -> bytes:
    """Returns one whole record, and some bytes of the next."""
    ng = Pcapng().section().interface().packet(GOOD)
    whole = {"pcap": pcap([GOOD]), "pcapng": ng.bytes(), "gzip": pcap([GOOD])}[kind]
    more = {"pcap": pcap([WRONG])[24:], "pcapng": b"".join(ng.packet(WRONG).parts[3:])}
    data = whole + more.get(kind, more["pcap"])[:cut]
    if kind == "gzip":
        packer = zlib.compressobj(wbits=31)
        data = packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)
    return data


@pytest.fixture(scope="module")
def interrupted(tools: Start) -> dict[tuple[str, int], subprocess.Popen[bytes]]:
    """Returns the interrupted tool for each cut stream. After the signal, all wait for more input
    at the same time."""
    children = {key: tools(cut_stream(*key), "check", "-J", "-") for key in CUTS}
    for child in children.values():
        wait_until_read(child)
    for child in children.values():
        child.send_signal(signal.SIGINT)
    return children


@pytest.mark.parametrize(("kind", "cut"), CUTS)
def test_record_cut_by_the_signal_is_no_damage(
    interrupted: dict[tuple[str, int], subprocess.Popen[bytes]], kind: str, cut: int
) -> None:
    status, printed = end_of(interrupted[kind, cut])
    report = json.loads(printed)
    assert (status, report["packets"], report["damage"]) == (CLEAN, 1, None)


def test_damage_before_the_signal_is_reported(start: Start) -> None:
    """Damage is reported even in a block that is being skipped, and an empty input is damage."""
    skipped = Pcapng().section().interface().packet(GOOD).block(0x0BAD, bytes(3 << 20)).bytes()
    child = start(skipped[:-1000], "check", "-J", "-")
    child.send_signal(signal.SIGINT)
    status, printed = end_of(child)
    assert (status, json.loads(printed)["packets"]) == (DAMAGED, 1)
    child = start(b"", "check", "-J", "-")
    child.send_signal(signal.SIGINT)
    status, printed = end_of(child)
    assert (status, json.loads(printed)["damage"]["reason"]) == (DAMAGED, "empty file")


@STOPS
def test_a_copy_ends_with_the_last_whole_record(
    start: Start, tmp_path: Path, number: signal.Signals
) -> None:
    out, log = tmp_path / "out", tmp_path / "log"
    data = pcap(PACKETS)
    child = start(data + pcap([WRONG])[24:70], "fix", "-q", "-", "-o", out, "-l", log)
    child.send_signal(number)
    assert end_of(child) == (CLEAN, b"")
    assert out.read_bytes() == pcap([GOOD] * len(PACKETS))
    assert len(log.read_text().splitlines()) == len(PACKETS) - PACKETS.count(GOOD)


@pytest.mark.parametrize("size", [4, 10, 23])
def test_a_header_that_is_cut_is_no_capture(start: Start, tmp_path: Path, size: int) -> None:
    """An input that ends within the file header is damage, for `carry fix` and for `carry
    check`."""
    out = tmp_path / "out"
    child = start(pcap([])[:size], "fix", "-q", "-", "-o", out)
    child.send_signal(signal.SIGINT)
    assert child.wait(HANGS) == DAMAGED
    child = start(pcap([])[:size], "check", "-J", "-")
    child.send_signal(signal.SIGINT)
    status, printed = end_of(child)
    reason = f"file header cut: {size} of 24 bytes"
    assert (status, json.loads(printed)["damage"]["reason"]) == (DAMAGED, reason)


def test_files_that_follow_are_checked(start: Start, tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(pcap([WRONG]))
    child = start(pcap([GOOD]), "check", "-J", "-", tmp_path / "a.pcap")
    child.send_signal(signal.SIGINT)
    status, printed = end_of(child)
    assert status == BAD
    assert [json.loads(line)["packets"] for line in printed.splitlines()] == [1, 1]


@pytest.mark.parametrize("command", ["check", "fix"])
def test_second_signal_ends_the_tool(start: Start, tmp_path: Path, command: str) -> None:
    words = {"check": ["check", "-w", tmp_path / "out", "-"], "fix": ["fix", "-", "-o"]}[command]
    child = start(pcap(PACKETS), *words, *([tmp_path / "out"] if command == "fix" else []))
    child.send_signal(signal.SIGSTOP)
    child.send_signal(signal.SIGINT)
    child.send_signal(signal.SIGTERM)
    child.send_signal(signal.SIGCONT)
    assert end_of(child) == (-signal.SIGTERM, b"")
    assert os.listdir(tmp_path) == []


def reads(child: subprocess.Popen[bytes], path: Path) -> bool:
    for number in os.listdir(f"/proc/{child.pid}/fd"):
        with contextlib.suppress(FileNotFoundError):  # it was closed
            if os.readlink(f"/proc/{child.pid}/fd/{number}") == str(path):
                return True
    return False


@STOPS
def test_first_signal_ends_a_check_of_a_file(
    tool: str, tmp_path: Path, number: signal.Signals
) -> None:
    """A file can be read again, so the first signal ends the tool."""
    path = tmp_path / "zeros.pcap"
    path.write_bytes(pcap([]))
    os.truncate(path, 1 << 36)  # zeros are empty records
    child = subprocess.Popen(
        [tool, "check", "-w", tmp_path / "bad", path],
        stdout=subprocess.PIPE,
        preexec_fn=take_signals,
    )
    while not reads(child, path):
        assert child.poll() is None
    child.send_signal(number)
    assert (child.communicate(), child.returncode) == ((b"", None), -number)
    assert os.listdir(tmp_path) == ["zeros.pcap"]
