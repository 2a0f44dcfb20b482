# SPDX-License-Identifier: MIT
"""carry live between two ends of a wire, in a network namespace of the tests.

Only the tests send packets on the wire, since its ends have no addresses. Each packet is seen
twice: it leaves by v0 and arrives at v1. Most watches end after a number of packets or by a
signal, not after a fixed time.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import functools
import os
import platform
import pty
import random
import re
import resource
import select
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import namespaces
import pytest
from captures import TCP, UDP, ethernet, packet
from carry_tool import BAD, CLEAN, ERROR
from namespaces import Namespace
from schemas import conforming
from test_manual import EXAMPLES

ENDS = ("v0", "v1")
LONG = 60  # seconds; the limit for operations that take milliseconds

# Constants of Linux that Python does not name.
ETH_P_ALL, SOL_PACKET = 3, 263
PACKET_RX_RING, SO_ATTACH_FILTER = 5, 26
PACKET_VERSION, PACKET_RESERVE, PACKET_VNET_HDR, PACKET_FANOUT = 10, 12, 15, 18
VNET_HEADER = struct.Struct("=BBHHHH")  # flags, 3 members for segments, csum_start, csum_offset
NEEDS_CSUM, GSO_TCPV4 = 1, 1

# epb_flags of pcapng.
RECEIVED, SENT, LEFT, SEGMENTED = 1, 2, 0x200, 0x800

GOOD_TCP = ethernet(packet(TCP))
BAD_TCP = ethernet(packet(TCP, sums="bad"))
BAD_UDP = ethernet(packet(UDP, sums="bad"))
PARTIAL_UDP = ethernet(packet(UDP, sums="partial"))


@pytest.fixture(scope="module")
def wire() -> Iterator[Namespace]:
    """Yields a namespace with the two ends of a wire, which have no addresses."""
    missing = [tool for tool in ("ip", "nsenter", "unshare") if not shutil.which(tool)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    try:
        with namespaces.make() as made:
            if made.attempt("ip", "link", "add", "v0", "type", "veth").returncode:
                pytest.skip("no veth interfaces here")
            made.run("ip", "link", "delete", "v0")
            made.run("ip", "link", "set", "lo", "up")
            create_wire(made)
            yield made
    except namespaces.NotPermittedError as error:
        pytest.skip(f"no network namespaces here: {error}")


def create_wire(there: Namespace, *ends: str) -> None:
    one, two = ends or ENDS
    there.run("ip", "link", "add", one, "type", "veth", "peer", "name", two)
    for end in (one, two):
        there.run("ip", "link", "set", end, "addrgenmode", "none")
        there.run("ip", "link", "set", end, "multicast", "off", "up")
    await_carrier(there, one, two)


def await_carrier(there: Namespace, *ends: str) -> None:
    """Waits until packets can leave.

    If an end was up before its peer, it drops packets until a worker of the kernel has noticed that
    the peer is up, too. The worker waits for a lock that all namespaces share.
    """
    limit = time.monotonic() + LONG
    for end in ends:
        while not re.search(r" qdisc noqueue .*\bstate UP ", there.run("ip", "link", "show", end)):
            assert time.monotonic() < limit, f"{end} has no carrier"


def send(there: Namespace, *frames: bytes, end: str = "v0", left_at: int = 0, cut: int = 0) -> None:
    """Sends frames. With `left_at`, the checksum at this offset of the transport header is left to
    the card, and so is the division into segments of `cut` bytes (0: no division)."""
    with there.socket(socket.AF_PACKET, socket.SOCK_RAW) as sender:
        sender.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        sender.bind((end, ETH_P_ALL))
        start = (NEEDS_CSUM, GSO_TCPV4 if cut else 0, 54 if cut else 0, cut, 34, left_at)
        for frame in frames:
            sender.send(VNET_HEADER.pack(*(start if left_at else (0, 0, 0, 0, 0, 0))) + frame)


@dataclass
class Live:
    """A running watch, with its output once it has ended."""

    process: subprocess.Popen[str]
    said: list[str] = field(default_factory=list)
    output: str = ""
    status: int = -1

    def expect(self, text: str) -> None:
        """Reads messages up to one with this text."""
        assert self.process.stderr
        for line in self.process.stderr:
            self.said.append(line)
            if text in line:
                return
        raise AssertionError(f"no {text!r} in {self.said}")

    def wait(self) -> None:
        self.output, errors = self.process.communicate(timeout=LONG)
        self.said.append(errors)
        self.status = self.process.returncode

    def end(self, sent: signal.Signals = signal.SIGINT) -> None:
        self.process.send_signal(sent)
        self.wait()


REFUSES = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

int setsockopt(int socket, int level, int option, const void *value, socklen_t size) {
    int (*next)(int, int, int, const void *, socklen_t) =
        (int (*)(int, int, int, const void *, socklen_t))dlsym(RTLD_NEXT, "setsockopt");
    if (getenv("FORKS") && level == SOL_SOCKET && option == SO_ATTACH_FILTER) {
        const pid_t child = fork();
        if (!child)
            _exit(0);
        fprintf(stderr, "fork: %d\\n", child < 0 ? errno : 0);
    }
    if (level != SOL_PACKET || option != atoi(getenv("REFUSED")))
        return next(socket, level, option, value, size);
    if (getenv("DELAYED")) {
        usleep(1000 * atoi(getenv("DELAYED")));
        return next(socket, level, option, value, size);
    }
    if (getenv("RAISED")) {
        raise(atoi(getenv("RAISED")));
        return next(socket, level, option, value, size);
    }
    errno = ENOPROTOOPT;
    return -1;
}
"""


@functools.cache
def refusing() -> tempfile.TemporaryDirectory[str]:
    """Returns a folder with a preloadable library. When the tool sets an option of packet sockets,
    the library makes the kernel seem to lack the option, sends a signal, or delays the call."""
    folder = tempfile.TemporaryDirectory()
    source, library = Path(folder.name, "refuses.c"), Path(folder.name, "refuses.so")
    source.write_text(REFUSES)
    subprocess.run(
        ["cc", "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", library, source, "-ldl"], check=True
    )
    return folder


def without(option: int, raised: int = 0, delayed: int = 0) -> list[str]:
    """Returns the words before a command that make the kernel seem to lack `option` (0: no words).

    With `raised`, the kernel has the option, but the command gets this signal when it sets the
    option. With `delayed`, setting it takes this number of milliseconds.
    """
    if not option:
        return []
    if os.environ.get("CARRY_SANITIZED"):
        pytest.skip("the sanitizers' library has to be the first that is loaded")
    more = {"RAISED": raised, "DELAYED": delayed}
    library = f"LD_PRELOAD={refusing().name}/refuses.so"
    return ["env", library, f"REFUSED={option}", *(f"{k}={v}" for k, v in more.items() if v)]


# Under nohup, the tests ignore SIGHUP, and the tool would inherit that.
DEFAULT_HANGUP = ["env", "--default-signal=HUP"]


@contextlib.contextmanager
def live(there: Namespace, tool: str, *options: str | Path, refused: int = 0) -> Iterator[Live]:
    """Starts a watch, and waits until it receives every packet."""
    with subprocess.Popen(
        there.command(*DEFAULT_HANGUP, *without(refused), tool, "live", *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        patience = threading.Timer(LONG, process.kill)
        patience.start()
        try:
            started = Live(process)
            started.expect("watching ")
            yield started
        finally:
            patience.cancel()
            process.kill()


def watched(there: Namespace, tool: str, frames: list[bytes], *options: str | Path) -> Live:
    """Watches these frames, on v1 by default, until the watch ends by itself; returns the watch."""
    count = options if "-c" in options else ("-c", str(len(frames)), *options)
    with live(there, tool, *count, *(() if "-i" in options else ("v1",))) as process:
        send(there, *frames)
        process.wait()
    return process


def last_report(output: str) -> dict[str, Any]:
    reports = [conforming("live", line) for line in output.splitlines()]
    assert [report["final"] for report in reports] == [False] * (len(reports) - 1) + [True]
    return reports[-1]


def sides(report: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(side["interface"], side["direction"]): side for side in report["sides"]}


def counts(side: dict[str, Any]) -> dict[str, dict[str, int]]:
    """Returns the counts by protocol and verdict, without zeros."""
    return {
        protocol: {verdict: count for verdict, count in verdicts.items() if count}
        for protocol, verdicts in side["protocols"].items()
    }


@dataclass
class Written:
    """A packet of a pcapng file."""

    interface: str
    linktype: int
    flags: int
    data: bytes


def options_in(data: bytes) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    while len(data) >= 4:
        code, size = struct.unpack("=HH", data[:4])
        found[code] = data[4 : 4 + size]
        data = data[4 + (size + 3 & ~3) :]
    return found


def read_pcapng(data: bytes) -> list[Written]:
    interfaces: list[tuple[str, int]] = []
    packets = []
    while data:
        kind, size = struct.unpack("=LL", data[:8])
        body, data = data[8 : size - 4], data[size:]
        if kind == 1:
            (linktype,) = struct.unpack("=H", body[:2])
            interfaces.append((options_in(body[8:])[2].decode(), linktype))
        if kind == 6:
            interface, _, _, captured, _ = struct.unpack("=LLLLL", body[:20])
            rest = options_in(body[20 + (captured + 3 & ~3) :])
            flags = struct.unpack("=L", rest[2])[0]
            packets.append(Written(*interfaces[interface], flags, body[20 : 20 + captured]))
    return packets


# --- What is counted ---


def test_verdicts_by_interface_direction_and_protocol(wire: Namespace, tool: str) -> None:
    """The JSON report counts verdicts by interface, direction and protocol."""
    frames = [GOOD_TCP, BAD_TCP, BAD_UDP, PARTIAL_UDP, ethernet(packet(UDP), [5])]
    done = watched(wire, tool, frames, "-J", "-c", "10", "-i", "v0", "-i", "v1")
    expected = {
        "ip": {"good": 5},
        "tcp": {"good": 1, "bad": 1},
        "udp": {"good": 1, "bad": 1, "partial": 1},
    }
    found = sides(last_report(done.output))
    assert done.status == CLEAN
    assert {side: counts(of) for side, of in found.items()} == {
        ("v0", "out"): expected,
        ("v1", "in"): expected,
    }
    assert {of["packets"] for of in found.values()} == {5}
    assert {of["bytes"] for of in found.values()} == {sum(map(len, frames))}


def test_text(wire: Namespace, tool: str) -> None:
    """The text has the outcome of each interface, the table, and the total."""
    done = watched(wire, tool, [GOOD_TCP, BAD_TCP])
    assert done.status == CLEAN
    assert done.said[0] == "watching v1; Ctrl-C ends\n"
    lines = done.output.splitlines()
    assert lines[0] == "v1 in: 2 packets, 124 bytes: 1 bad checksum"
    assert re.search(r"^  tcp +1 +1 +- +- +- +-$", done.output, re.M)
    assert lines[-2:] == ["total: 2 packets, 124 bytes: 1 bad checksum", "dropped: 0 packets"]


def test_lines_of_intervals(wire: Namespace, tool: str) -> None:
    """--interval prints a line of rates and verdicts."""
    with live(wire, tool, "--interval=1", "v1") as process:
        send(wire, BAD_TCP)
        assert process.process.stdout
        line = process.process.stdout.readline()
        process.end()
    assert re.fullmatch(
        r"\S+T\S+Z v1 in: \S+ packets/s, \S+ bytes/s, 0 dropped; ip 1 good; tcp 1 bad\n",
        line,
    )


def test_no_packets(wire: Namespace, tool: str) -> None:
    """Without packets, the report says that nothing was checked."""
    with live(wire, tool, "v1") as process:
        process.end()
    assert process.status == CLEAN
    assert "total: 0 packets, 0 bytes: nothing was checked: no packets\n" in process.output


def test_signal_ends_the_watch_with_all_packets_counted(wire: Namespace, tool: str) -> None:
    for sent, threads in ((signal.SIGINT, "1"), (signal.SIGTERM, "3"), (signal.SIGHUP, "1")):
        with live(wire, tool, "-J", "-j", threads, *ENDS) as process:
            send(wire, *[GOOD_TCP] * 300)
            process.end(sent)
        assert process.status == CLEAN
        assert {side["packets"] for side in last_report(process.output)["sides"]} == {300}


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=str)
def test_signal_during_setup_leads_to_the_summary(
    wire: Namespace, tool: str, sent: signal.Signals
) -> None:
    """A signal that arrives before the command waits for signals still leads to the summary."""
    done = wire.attempt(*without(PACKET_RX_RING, sent), tool, "live", "-J", "v1")
    assert (done.returncode, done.stderr) == (CLEAN, "watching v1; Ctrl-C ends\n")
    assert last_report(done.stdout)["sides"] == []


def test_a_signal_ends_the_wait_for_the_reader_of_a_fifo(
    wire: Namespace, tool: str, tmp_path: Path
) -> None:
    """A FIFO is opened once it has a reader. A signal ends the wait for the reader."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    with subprocess.Popen(
        wire.command(*without(PACKET_RX_RING, signal.SIGINT), tool, "live", "-w", path, "v1"),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.communicate(timeout=LONG)[1] == f"carry: {path}: Interrupted system call\n"
        assert process.returncode == ERROR


def test_fail_option_sets_the_exit_status(wire: Namespace, tool: str) -> None:
    assert watched(wire, tool, [BAD_TCP], "--fail").status == BAD
    assert watched(wire, tool, [PARTIAL_UDP], "--fail").status == CLEAN


def test_duration(wire: Namespace, tool: str) -> None:
    """--duration ends the command after the given time."""
    with live(wire, tool, "-J", "--duration=1", "v1") as process:
        process.wait()
    assert process.status == CLEAN
    assert last_report(process.output)["seconds"] >= 1


def test_quiet(wire: Namespace, tool: str) -> None:
    """--quiet prints nothing."""
    done = wire.attempt(tool, "live", "-q", "--duration=1", "v1")
    assert (done.returncode, done.stdout, done.stderr) == (CLEAN, "", "")


def test_any_has_all_interfaces(wire: Namespace, tool: str) -> None:
    """Interfaces that appear later are watched, too. A packet sent on loopback is counted only when
    it is received."""
    with live(wire, tool, "-J", "-c", "5", "any") as process:
        send(wire, GOOD_TCP, end="lo")
        create_wire(wire, "late0", "late1")
        try:
            send(wire, BAD_TCP, end="late0")
            send(wire, GOOD_TCP, end="v1")
            process.wait()
        finally:
            wire.run("ip", "link", "delete", "late0")
    found = sides(last_report(process.output))
    assert {side: of["packets"] for side, of in found.items()} == {
        ("lo", "in"): 1,
        ("late0", "out"): 1,
        ("late1", "in"): 1,
        ("v1", "out"): 1,
        ("v0", "in"): 1,
    }


def test_alternative_name_is_replaced_by_the_name(
    wire: Namespace, tool: str, tmp_path: Path
) -> None:
    """Packets, drops, metrics and files use the kernel's name of an interface, not an alternative
    name."""
    metrics, packets = tmp_path / "carry.prom", tmp_path / "packets.pcapng"
    added = wire.attempt("ip", "link", "property", "add", "dev", "v1", "altname", "other")
    if added.returncode:
        pytest.skip("no alternative names here")
    try:
        words = ["-i", "other", "--metrics-file", metrics, "-w", packets]
        done = watched(wire, tool, [BAD_TCP], "-J", *words)
        twice = wire.attempt(tool, "live", "--duration=1", "v1", "other")
    finally:
        wire.run("ip", "link", "property", "del", "dev", "v1", "altname", "other")
    assert done.said[0] == "watching v1; Ctrl-C ends\n"
    report = last_report(done.output)
    assert {entry["interface"] for entry in report["sides"] + report["dropped"]} == {"v1"}
    assert set(re.findall('interface="([^"]*)"', metrics.read_text())) == {"v1"}
    assert [each.interface for each in read_pcapng(packets.read_bytes())] == ["v1"]
    assert "interface 'v1' is given twice" in twice.stderr


TUNNEL = """
import fcntl, os, struct, sys
tunnel = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tunnel, 0x400454CA, struct.pack("16sH", b"t0", 0x1001))  # TUNSETIFF: packets alone
print("ready", flush=True)
for line in sys.stdin:
    os.write(tunnel, bytes.fromhex(line))
"""


@contextlib.contextmanager
def tunnel(there: Namespace) -> Iterator[Callable[[bytes], None]]:
    """Creates an interface t0 without Ethernet; yields a function that makes it receive a
    packet."""
    with subprocess.Popen(
        there.command(sys.executable, "-c", TUNNEL),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdin and process.stdout
        if not process.stdout.readline():
            pytest.skip("no tunnels here")
        there.run("ip", "link", "set", "t0", "addrgenmode", "none")
        there.run("ip", "link", "set", "t0", "up")
        yield lambda data: print(data.hex(), file=process.stdin, flush=True)


def test_other_links_have_their_packets_examined(
    wire: Namespace, tool: str, tmp_path: Path
) -> None:
    """Packets of an interface without Ethernet and of one with Ethernet are written to one file."""
    path = tmp_path / "packets.pcapng"
    with tunnel(wire) as receive, live(wire, tool, "-J", "-c", "2", "-w", path, "any") as process:
        receive(packet(UDP, sums="bad"))
        send(wire, GOOD_TCP, end="lo")
        process.wait()
    found = sides(last_report(process.output))
    assert counts(found["t0", "in"]) == {"ip": {"good": 1}, "udp": {"bad": 1}}
    written = {each.interface: each.data for each in read_pcapng(path.read_bytes())}
    assert written == {"t0": packet(UDP, sums="bad"), "lo": GOOD_TCP}


def test_filters_see_other_links_from_their_packets_on(wire: Namespace, tool: str) -> None:
    needs_filters(wire, tool)
    words = ["-i", "t0", "udp", "port", "9"]
    with tunnel(wire) as receive, live(wire, tool, "-J", "-c", "1", *words) as process:
        receive(packet(UDP))
        receive(packet(UDP, ports=(1, 9), sums="bad"))
        process.wait()
    assert counts(last_report(process.output)["sides"][0])["udp"] == {"bad": 1}


def test_hostile_frames_change_nothing_but_counts(wire: Namespace, tool: str) -> None:
    """Random bytes and endless fragments are counted or reported as dropped, in bounded memory."""
    bytes_of = random.Random(1071)
    frames = [bytes_of.randbytes(bytes_of.randrange(60, 1500)) for _ in range(3000)]
    part = bytearray(ethernet(packet(UDP, bytes(1400))))
    for number in range(6000):
        struct.pack_into(">HH", part, 18, bytes_of.randrange(65536), 0x2000 | number % 1000)
        frames.append(bytes(part))
    with live(wire, tool, "-J", "-B", "1024", "v1") as process:
        send(wire, *frames)
        status = Path(f"/proc/{process.process.pid}/status").read_text()
        process.end()
    report = last_report(process.output)
    seen = sum(side["packets"] for side in report["sides"])
    assert seen + report["dropped"][0]["packets"] == len(frames)
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert peak and ("CARRY_SANITIZED" in os.environ or int(peak[1]) < 64 << 10)


def test_threads_share_the_packets(wire: Namespace, tool: str) -> None:
    frames = [ethernet(packet(UDP, ports=(port, 53), sums="bad")) for port in range(1000, 1200)]
    done = watched(wire, tool, frames, "-J", "-j", "4", "-c", "400", "-i", "v0", "-i", "v1")
    found = sides(last_report(done.output))
    assert {side: of["protocols"]["udp"]["bad"] for side, of in found.items()} == {
        ("v0", "out"): 200,
        ("v1", "in"): 200,
    }


def test_no_packet_is_seen_twice_while_threads_join(
    wire: Namespace, tool: str, tmp_path: Path
) -> None:
    """Packets that pass while the rings of several threads open are recorded at most once."""
    path = tmp_path / "packets.pcapng"
    options = ["-q", "-j", "4", "-B", "1024", "-w", path, "v1"]
    words = wire.command(*without(PACKET_FANOUT, delayed=50), tool, "live", *options)
    with subprocess.Popen(words) as process:
        patience = threading.Timer(LONG, process.kill)
        patience.start()
        sent = 0
        while not path.exists():
            send(wire, *(ethernet(packet(UDP, struct.pack(">L", sent + i))) for i in range(100)))
            sent += 100
        process.send_signal(signal.SIGINT)
        assert process.wait(LONG) == CLEAN
        patience.cancel()
    frames = [each.data for each in read_pcapng(path.read_bytes())]
    assert len(frames) == len(set(frames))


@pytest.mark.parametrize(("slow", "fast"), [(20, 0), (5, 700)], ids=["slowly", "in bytes"])
def test_buffer_holds_packets_while_the_tool_is_stopped(
    wire: Namespace, tool: str, slow: int, fast: int
) -> None:
    """The ring loses no packet if each of its blocks holds few packets, nor if packets and the
    kernel's headers almost fill its 1 MiB."""
    frames = [ethernet(packet(UDP, bytes(1200)))] * fast
    with live(wire, tool, "-J", "-B", "1024", "v1") as process:
        process.process.send_signal(signal.SIGSTOP)
        for _ in range(slow):
            send(wire, GOOD_TCP)
            threading.Event().wait(0.2)
        if frames:
            send(wire, *frames)
        process.process.send_signal(signal.SIGCONT)
        process.end()
    report = last_report(process.output)
    assert [side["packets"] for side in report["sides"]] == [slow + fast]
    assert report["dropped"] == [{"interface": "v1", "packets": 0}]


def test_fragments_are_reassembled(wire: Namespace, tool: str) -> None:
    whole = packet(UDP, bytes(64), sums="bad")
    parts = [whole[:20] + whole[20:52], whole[:20] + whole[52:]]
    frames = []
    for part, place in zip(parts, (0x2000, 4), strict=True):
        head = bytearray(part[:20])
        struct.pack_into(">H", head, 2, len(part))
        struct.pack_into(">H", head, 6, place)
        struct.pack_into(">H", head, 10, 0)
        total = sum(struct.unpack(">10H", head))
        struct.pack_into(">H", head, 10, ~(total + (total >> 16)) & 0xFFFF)
        frames.append(ethernet(bytes(head) + part[20:]))
    done = watched(wire, tool, frames, "-J")
    assert counts(last_report(done.output)["sides"][0]) == {"ip": {"good": 2}, "udp": {"bad": 1}}


# --- Data from the kernel ---


def test_partial_sum_is_recognised_by_its_flag(wire: Namespace, tool: str, tmp_path: Path) -> None:
    """Packets with equal bytes are distinguished: the file flags only those whose sum is left to
    the network card."""
    path = tmp_path / "packets.pcapng"
    with live(wire, tool, "-c", "4", "-w", path, *ENDS) as process:
        send(wire, PARTIAL_UDP, left_at=6)
        send(wire, PARTIAL_UDP)
        process.wait()
    assert process.status == CLEAN
    packets = read_pcapng(path.read_bytes())
    assert {each.data for each in packets} == {PARTIAL_UDP}
    assert sorted((each.interface, each.flags) for each in packets) == [
        ("v0", SENT),
        ("v0", SENT | LEFT),
        ("v1", RECEIVED),
        ("v1", RECEIVED | LEFT),
    ]


@pytest.mark.parametrize("tags", [[5], [5, 6]], ids=["one tag", "two tags"])
def test_vlan_tags_are_restored(
    wire: Namespace, tool: str, tmp_path: Path, tags: list[int]
) -> None:
    path = tmp_path / "packets.pcapng"
    frames = [ethernet(packet(UDP, sums="bad"), tags), BAD_TCP]
    done = watched(wire, tool, frames, "-J", "-w", path)
    assert [each.data for each in read_pcapng(path.read_bytes())] == frames
    assert counts(last_report(done.output)["sides"][0])["udp"] == {"bad": 1}


def test_packets_before_segmentation_are_whole(wire: Namespace, tool: str, tmp_path: Path) -> None:
    """A frame of almost 64 KiB, which the card would divide, is written whole. Its partial sum is
    recognised."""
    path = tmp_path / "packets.pcapng"
    frame = ethernet(packet(TCP, bytes(65400), sums="partial"))
    with live(wire, tool, "-J", "-c", "1", "-B", "1024", "-w", path, "v0") as process:
        send(wire, frame, left_at=16, cut=1400)
        process.wait()
    (written,) = read_pcapng(path.read_bytes())
    assert (written.data, written.flags) == (frame, SENT | LEFT | SEGMENTED)
    assert counts(last_report(process.output)["sides"][0])["tcp"] == {"partial": 1}


# --- Single checksums, files, filters ---


def test_bad_only(wire: Namespace, tool: str) -> None:
    """--bad-only prints a line for each bad checksum."""
    done = watched(wire, tool, [GOOD_TCP, BAD_TCP, PARTIAL_UDP, BAD_UDP], "--bad-only")
    lines = [line.split() for line in done.output.splitlines()]
    assert [(line[0], line[1], line[2], line[5]) for line in lines] == [
        ("v1:", "2", "tcp", "50"),
        ("v1:", "4", "udp", "40"),
    ]
    assert done.said[-1] == "dropped: 0 packets\n"


def test_bad_only_as_json(wire: Namespace, tool: str, tmp_path: Path) -> None:
    """--bad-only --json prints objects, and -w writes their packets."""
    path = tmp_path / "bad.pcapng"
    done = watched(wire, tool, [GOOD_TCP, BAD_TCP, BAD_UDP], "-bJ", "-w", path)
    found = [conforming("live_bad_only", line) for line in done.output.splitlines()]
    assert [(each["interface"], each["direction"], each["frame"]) for each in found] == [
        ("v1", "in", 2),
        ("v1", "in", 3),
    ]
    assert [each.data for each in read_pcapng(path.read_bytes())] == [BAD_TCP, BAD_UDP]


def read_statistics(data: bytes) -> dict[str, dict[int, int]]:
    """Returns the statistics of a pcapng file's interfaces, by the numbers of the options."""
    names: list[str] = []
    found = {}
    while data:
        kind, size = struct.unpack("=LL", data[:8])
        body, data = data[8 : size - 4], data[size:]
        if kind == 1:
            names.append(options_in(body[8:])[2].decode())
        if kind == 5:
            (interface,) = struct.unpack("=L", body[:4])
            counted = {code: value for code, value in options_in(body[12:]).items() if code}
            found[names[interface]] = {
                code: int.from_bytes(value, sys.byteorder) for code, value in counted.items()
            }
    return found


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (("-b", "-i", "v0", "-i", "v1"), {"v0": {4: 2, 5: 0}, "v1": {4: 2, 5: 0}}),
        (("-i", "any"), {"v0": {4: 2}, "v1": {4: 2}}),
    ],
)
def test_the_file_ends_with_statistics(
    wire: Namespace,
    tool: str,
    tmp_path: Path,
    given: tuple[str, ...],
    expected: dict[str, dict[int, int]],
) -> None:
    path = tmp_path / "packets.pcapng"
    done = watched(wire, tool, [GOOD_TCP, BAD_TCP], "-c", "4", "-w", path, *given)
    assert done.status == CLEAN
    assert read_statistics(path.read_bytes()) == expected
    checked = subprocess.run([tool, "check", path], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (BAD, "")
    if shutil.which("capinfos"):
        seen = subprocess.run(["capinfos", path], capture_output=True, text=True, check=True)
        assert seen.stdout.count("Number of stat entries = 1") == 2


def test_packets_on_standard_output(wire: Namespace, tool: str) -> None:
    """-w - writes packets to standard output, and the report to standard error."""
    with subprocess.Popen(
        wire.command(tool, "live", "-w", "-", "-c", "2", "v1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stderr and process.stdout
        assert process.stderr.readline().startswith(b"watching ")
        send(wire, GOOD_TCP, BAD_TCP)
        output, errors = process.communicate(timeout=LONG)
    assert [each.data for each in read_pcapng(output)] == [GOOD_TCP, BAD_TCP]
    assert b"total: 2 packets, 124 bytes: 1 bad checksum\n" in errors


@contextlib.contextmanager
def stalled(there: Namespace, tool: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a watch that writes packets to a pipe from which nothing is read until it ends."""
    with subprocess.Popen(
        there.command(tool, "live", "-w", "-", *options),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stderr
        assert process.stderr.readline().startswith(b"watching ")
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, None], ids=str)
def test_stalled_reader_of_packets_does_not_delay_the_end(
    wire: Namespace, tool: str, sent: signal.Signals | None
) -> None:
    """The report is printed, and then the number of packets that were not written. The written
    packets are whole."""
    with stalled(wire, tool, "v1", *([] if sent else ["--duration=4"])) as process:
        assert process.stderr and process.stdout
        send(wire, *[ethernet(packet(UDP, bytes(1000)))] * 3000)
        if sent:
            process.send_signal(sent)
        assert process.wait(LONG) == ERROR
        said = process.stderr.read().decode()
        written = len(read_pcapng(process.stdout.read()))
    found = re.search(
        r"^total: ([\d,]+) packets, .*^carry: standard output: its reader takes no more: "
        r"([\d,]+) packets are not written\n\Z",
        said,
        re.M | re.S,
    )
    assert found, said
    total, lost = (int(number.replace(",", "")) for number in found.groups())
    assert written and written + lost == total


def test_stalled_reader_does_not_delay_the_last_packet(wire: Namespace, tool: str) -> None:
    """The command ends with an error if the last packet of --count is larger than the pipe."""
    with stalled(wire, tool, "-c", "1", "v0") as process:
        assert process.stderr
        frame = ethernet(packet(TCP, bytes(65480), sums="partial"))
        send(wire, frame, left_at=16, cut=1400)
        assert process.wait(LONG) == ERROR
        assert process.stderr.read().endswith(
            b"carry: standard output: its reader takes no more: 1 packet is not written\n"
        )


def needs_filters(there: Namespace, tool: str) -> None:
    if "libpcap" in there.attempt(tool, "live", "-i", "v0", "no such filter").stderr:
        pytest.skip("built without libpcap")


@pytest.mark.parametrize(
    ("words", "passed"),
    [
        (["udp"], [1]),
        (["tcp", "or", "vlan", "5"], [0, 2]),
        (["vlan and udp port 443"], [2, 3]),
    ],
)
def test_filters(
    wire: Namespace, tool: str, tmp_path: Path, words: list[str], passed: list[int]
) -> None:
    """Filters can also test VLAN tags, although the kernel has removed them."""
    path = tmp_path / "packets.pcapng"
    tagged = [ethernet(packet(UDP), [tag]) for tag in (5, 6)]
    frames = [GOOD_TCP, BAD_UDP, *tagged]
    needs_filters(wire, tool)
    watched(wire, tool, frames, "-w", path, "-c", str(len(passed)), "-i", "v1", *words)
    assert [each.data for each in read_pcapng(path.read_bytes())] == [frames[i] for i in passed]


def test_a_wrong_filter(wire: Namespace, tool: str) -> None:
    """A filter that is wrong is an error with libpcap's reason."""
    done = wire.attempt(tool, "live", "-i", "v0", "no such filter")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert re.fullmatch(r"carry: filter: .*(syntax error|libpcap).*\n", done.stderr)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["-i", "v0", "inbound"], r"filter: .*(not supported|on Ethernet).*"),
        (["-i", "v0", "v1"], r"filter: .*; v1 is an interface: it needs -i, too"),
        (["-i", "v0", "tcp and (", "lo"], r"filter: .*; lo is an interface: it needs -i, too"),
        (["v0", "tcp"], "tcp: No such device; a filter needs -i IFACE before it"),
        (["tcp port 80"], "tcp port 80: No such device; a filter needs -i IFACE before it"),
    ],
)
def test_wrong_filters_and_interfaces_are_refused(
    wire: Namespace, tool: str, words: list[str], error: str
) -> None:
    needs_filters(wire, tool)
    done = wire.attempt(tool, "live", *words)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert re.fullmatch(f"carry: {error}\n", done.stderr)


# --- The screen ---


def test_the_screen(wire: Namespace, tool: str) -> None:
    """On a terminal, the counts are redrawn in place."""
    child, terminal = pty.fork()
    if child == 0:
        command = wire.command(tool, "live", "v1")
        os.execvpe(command[0], command, {**os.environ, "TERM": "xterm", "LC_ALL": "C"})
    shown = ""

    def read_until(text: str) -> None:
        nonlocal shown
        while text not in shown:
            assert select.select([terminal], [], [], LONG)[0], shown
            try:
                part = os.read(terminal, 65536).decode()
            except OSError:
                part = ""
            assert part, shown
            shown += part

    read_until("watching v1")
    send(wire, GOOD_TCP, BAD_TCP)
    read_until("dropped/s")
    os.kill(child, signal.SIGINT)
    read_until("dropped: 0 packets")
    assert "\x1b[J" in shown
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == CLEAN
    os.close(terminal)


# --- Failures ---


def test_interface_disappears_and_returns(wire: Namespace, tool: str) -> None:
    create_wire(wire, "w0", "w1")
    with live(wire, tool, "-J", "-c", "3", "w1") as process:
        send(wire, GOOD_TCP, end="w0")
        wire.run("ip", "link", "set", "w1", "down")
        process.expect("carry: w1: is down")
        wire.run("ip", "link", "set", "w1", "up")
        process.expect("carry: w1: is back")
        await_carrier(wire, "w0", "w1")
        send(wire, GOOD_TCP, end="w0")
        wire.run("ip", "link", "delete", "w1")
        process.expect("carry: w1: is ")
        create_wire(wire, "w0", "w1")
        process.expect("carry: w1: is back")
        send(wire, GOOD_TCP, end="w0")
        process.wait()
    wire.run("ip", "link", "delete", "w0")
    assert process.status == CLEAN
    assert [side["packets"] for side in last_report(process.output)["sides"]] == [3]


def test_threads_report_an_interface_once(wire: Namespace, tool: str) -> None:
    """All threads together report once that an interface is down, and once that it is back."""
    create_wire(wire, "w0", "w1")
    try:
        wire.run("ip", "link", "set", "w1", "down")
        with live(wire, tool, "-j", "3", "w1") as process:
            wire.run("ip", "link", "set", "w1", "up")
            process.expect("carry: w1: is back")
            process.end()
    finally:
        wire.run("ip", "link", "delete", "w0")
    said = "".join(process.said).splitlines()
    assert said == ["carry: w1: is down", "watching w1; Ctrl-C ends", "carry: w1: is back"]


def test_interface_returns_with_another_link_type(
    wire: Namespace, tool: str, tmp_path: Path
) -> None:
    """If a tunnel of the same name replaces a wire, each packet is judged by its own link type, by
    the watch and by a check of the file."""
    path = tmp_path / "packets.pcapng"
    create_wire(wire, "t0", "t1")
    with live(wire, tool, "-J", "-c", "2", "-w", path, "t0") as process:
        send(wire, GOOD_TCP, end="t1")
        wire.run("ip", "link", "delete", "t0")
        process.expect("carry: t0: is ")
        with tunnel(wire) as receive:
            process.expect("carry: t0: is back")
            receive(packet(UDP, sums="bad"))
            process.wait()
    expected = {"ip": {"good": 2}, "tcp": {"good": 1}, "udp": {"bad": 1}}
    (side,) = last_report(process.output)["sides"]
    assert (side["interface"], counts(side)) == ("t0", expected)
    written = [(each.interface, each.linktype) for each in read_pcapng(path.read_bytes())]
    assert written == [("t0", 1), ("t0", 101)]
    checked = subprocess.run([tool, "check", "-J", path], capture_output=True, text=True)
    assert counts(conforming("check", checked.stdout)) == expected


# --- Kernels that lack an option ---


def test_kernel_does_not_locate_partial_sums(wire: Namespace, tool: str, tmp_path: Path) -> None:
    """A checksum that is left to the card is still recognised. One message reports that its place
    is only inferred."""
    path = tmp_path / "packets.pcapng"
    options = ["-J", "-j", "2", "-c", "2", "-w", path, "v1"]
    with live(wire, tool, *options, refused=PACKET_VNET_HDR) as process:
        send(wire, PARTIAL_UDP, left_at=6)
        send(wire, BAD_TCP)
        process.wait()
    assert process.said[0] == (
        "carry: v1: this kernel does not say which checksum of a packet is left to the network "
        "card: in tunnels, that is inferred\n"
    )
    assert process.said[1] == "watching v1; Ctrl-C ends\n"
    found = counts(last_report(process.output)["sides"][0])
    assert (found["udp"], found["tcp"]) == ({"partial": 1}, {"bad": 1})
    written = {(each.data, each.flags) for each in read_pcapng(path.read_bytes())}
    assert written == {(PARTIAL_UDP, RECEIVED | LEFT), (BAD_TCP, RECEIVED)}


def test_vlan_tags_are_restored_without_headroom(
    wire: Namespace, tool: str, tmp_path: Path
) -> None:
    path = tmp_path / "packets.pcapng"
    frames = [ethernet(packet(UDP, sums="bad"), [5]), BAD_TCP]
    with live(wire, tool, "-c", "2", "-w", path, "v1", refused=PACKET_RESERVE) as process:
        send(wire, *frames)
        process.wait()
    assert [each.data for each in read_pcapng(path.read_bytes())] == frames


@pytest.mark.parametrize(
    ("refused", "problem"),
    [
        (PACKET_VERSION, "this kernel has no TPACKET_V3"),
        (PACKET_FANOUT, "cannot share packets between threads, try --threads=1"),
    ],
)
def test_missing_required_option_is_named(
    wire: Namespace, tool: str, refused: int, problem: str
) -> None:
    done = wire.attempt(*without(refused), tool, "live", "-j", "2", "v1")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == f"carry: v1: {problem}: Protocol not available\n"


def test_a_larger_mtu_is_followed(wire: Namespace, tool: str) -> None:
    frame = ethernet(packet(UDP, bytes(8000)))
    with live(wire, tool, "-J", "-c", "2", "v1") as process:
        send(wire, GOOD_TCP)
        for end in ENDS:
            wire.run("ip", "link", "set", end, "mtu", "9000")
        try:
            send(wire, frame)
            process.wait()
        finally:
            for end in ENDS:
                wire.run("ip", "link", "set", end, "mtu", "1500")
    assert counts(last_report(process.output)["sides"][0])["udp"] == {"good": 1}


def test_without_the_capability(wire: Namespace, tool: str) -> None:
    """Without the capability to capture, the error names it."""
    if not shutil.which("setpriv"):
        pytest.skip("not installed: setpriv")
    done = wire.attempt("setpriv", "--bounding-set=-net_raw", tool, "live", "v0")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == "carry: v0: watching an interface needs the capability CAP_NET_RAW\n"


def test_capabilities_are_given_up(wire: Namespace, tool: str) -> None:
    with live(wire, tool, "-j", "2", "v0") as process:
        for task in Path(f"/proc/{process.process.pid}/task").iterdir():
            status = (task / "status").read_text()
            assert re.search(r"^CapPrm:\s+0+$", status, re.M)
            assert re.search(r"^CapEff:\s+0+$", status, re.M)
            assert re.search(r"^NoNewPrivs:\s+1$", status, re.M)
        process.end()


@pytest.mark.skipif(platform.machine() not in ("x86_64", "aarch64"), reason="no filter here")
def test_no_process_can_be_started(wire: Namespace, tool: str) -> None:
    """The filter of system calls applies to all threads. A forbidden call fails with EPERM."""
    words = wire.command(*without(SO_ATTACH_FILTER), "env", "FORKS=1", tool)
    with subprocess.Popen(
        [*words, "live", "-j", "2", "v0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        started = Live(process)
        started.expect("watching ")
        for task in Path(f"/proc/{process.pid}/task").iterdir():
            assert re.search(r"^Seccomp:\s+2$", (task / "status").read_text(), re.M)
        started.end()
    assert started.status == CLEAN
    before, after = re.findall(r"fork: (\d)", "".join(started.said[:-1])), started.said[-1]
    assert set(before) == {"0"} and after == f"fork: {errno.EPERM}\n" * 2


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize(
    ("options", "caller"),
    [([], "65534"), (["--user=65534"], "1"), (["--user=nobody"], "")],
)
def test_watch_continues_as_another_user(tool: str, options: list[str], caller: str) -> None:
    """The watch runs as the user who called sudo, or as the user that --user names."""
    with subprocess.Popen(
        [tool, "live", *options, "lo"],
        env=os.environ | {"SUDO_UID": caller},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr
        said = process.stderr.readline()
        if "CAP_NET_RAW" in said:
            pytest.skip("root may not watch interfaces here")
        status = Path(f"/proc/{process.pid}/status").read_text()
        process.send_signal(signal.SIGINT)
    assert said.startswith("watching lo")
    assert re.search(r"^Uid:(\s+65534){4}$", status, re.M)
    assert re.search(r"^CapPrm:\s+0+$", status, re.M)
    assert process.returncode == CLEAN


def test_unknown_user_is_refused(wire: Namespace, tool: str) -> None:
    done = wire.attempt(tool, "live", "--user=nobody-of-this-name", "v0")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == ("carry: cannot become user nobody-of-this-name: there is no such user\n")


def test_new_files_are_for_their_owner(wire: Namespace, tool: str, tmp_path: Path) -> None:
    """Only the owner of a new file may read it. An existing file keeps its permissions."""
    new, old = tmp_path / "new.pcapng", tmp_path / "old.pcapng"
    old.touch(0o644)
    old.chmod(0o644)
    for path in (new, old):
        watched(wire, tool, [GOOD_TCP], "-w", path)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (new, old)] == [0o600, 0o644]


def test_root_remains_where_the_user_does_not_exist(wire: Namespace, tool: str) -> None:
    done = wire.attempt("env", "SUDO_UID=65534", tool, "live", "-q", "--duration=1", "v0")
    assert (done.returncode, done.stderr) == (CLEAN, "")


def test_ring_that_is_too_large(wire: Namespace, tool: str) -> None:
    words = ["prlimit", f"--as={200 << 20}", tool, "live", "-B", str(1 << 19), "v0"]
    done = wire.attempt(*words)
    if "CARRY_SANITIZED" in os.environ:
        pytest.skip("sanitizers need more addresses than the limit")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert re.fullmatch(r"carry: v0: cannot (?:get|map) the ring.*Cannot .*\n", done.stderr)


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["absent"], "carry: absent: No such device\n"),
        ([], "carry live: no interface given; see carry live --help\n"),
        (["v0", "v0"], "carry live: interface 'v0' is given twice; see carry live --help\n"),
        (["any", "v0"], "carry live: any includes all other interfaces; see carry live --help\n"),
        (
            ["-w", "x.gz", "v0"],
            "carry live: --write does not compress: 'x.gz' is the name of a compressed file; "
            "see carry live --help\n",
        ),
        (
            ["--metrics-file=-", "v0"],
            "carry live: --metrics-file must name a file, not standard output; "
            "see carry live --help\n",
        ),
        (["-w", "/none/x", "v0"], "carry: /none/x: No such file or directory\n"),
        (
            ["--metrics=host:1", "v0"],
            "carry live: --metrics takes [ADDRESS:]PORT in numbers, not 'host:1'; "
            "see carry live --help\n",
        ),
    ],
)
def test_wrong_usage_is_refused_with_its_reason(
    wire: Namespace, tool: str, words: list[str], error: str
) -> None:
    done = wire.attempt(tool, "live", *words)
    assert (done.returncode, done.stdout, done.stderr) == (ERROR, "", error)


def test_packets_and_metrics_need_two_files(wire: Namespace, tool: str, tmp_path: Path) -> None:
    path, other = tmp_path / "file", tmp_path / "other"
    other.symlink_to(path)
    words = ["--duration=1", "-w", path, "--metrics-file", other, "v0"]
    done = wire.attempt(tool, "live", *words)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == f"carry: {path}: --write and --metrics-file must name two files\n"


def test_full_disk_ends_the_watch_with_a_report(wire: Namespace, tool: str) -> None:
    frames = [ethernet(packet(UDP, bytes(1000)))] * 2000
    with live(wire, tool, "-J", "-w", "/dev/full", "v1") as process:
        send(wire, *frames)
        process.wait()
    assert process.status == ERROR
    assert process.said[-1] == "carry: /dev/full: No space left on device\n"
    assert last_report(process.output)["sides"][0]["packets"] > 0


def test_reader_that_closes_its_pipe_ends_the_watch(wire: Namespace, tool: str) -> None:
    with live(wire, tool, "--bad-only", "v1") as process:
        assert process.process.stdout
        process.process.stdout.close()
        send(wire, *[BAD_TCP] * 100)
        assert process.process.wait(LONG) == ERROR


# --- Metrics ---


def fetch(there: Namespace, request: bytes, port: int = 9099) -> bytes:
    with there.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
        client.connect(("127.0.0.1", port))
        client.sendall(request)
        return b"".join(iter(lambda: client.recv(1 << 16), b""))


def samples(text: str) -> dict[str, int]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: int(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


EXPECTED = {
    'carry_packets_total{interface="v1",direction="in"}': 2,
    'carry_bytes_total{interface="v1",direction="in"}': len(GOOD_TCP) + len(BAD_TCP),
    'carry_checksums_total{interface="v1",direction="in",protocol="tcp",verdict="good"}': 1,
    'carry_checksums_total{interface="v1",direction="in",protocol="tcp",verdict="bad"}': 1,
    'carry_checksums_total{interface="v1",direction="in",protocol="tcp",verdict="partial"}': 0,
    'carry_capture_drops_total{interface="v1"}': 0,
}


def fetch_counted(there: Namespace) -> tuple[str, str]:
    """Returns the header of the response and the page of metrics once it counts two packets."""
    while True:
        head, page = (
            fetch(there, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").decode().split("\r\n\r\n", 1)
        )
        if 'carry_packets_total{interface="v1",direction="in"} 2' in page:
            return head, page


def test_metrics_are_served(wire: Namespace, tool: str) -> None:
    with live(wire, tool, "--metrics=9099", "v1") as process:
        send(wire, GOOD_TCP, BAD_TCP)
        head, page = fetch_counted(wire)
        assert head.startswith("HTTP/1.1 200 OK\r\n")
        assert "Content-Type: text/plain; version=0.0.4" in head
        assert f"Content-Length: {len(page)}" in head
        found = samples(page)
        assert {name: found[name] for name in EXPECTED} == EXPECTED
        for path, answer in ((b"/metrics", b"200"), (b"/other", b"404")):
            head_alone = fetch(wire, b"HEAD " + path + b" HTTP/1.0\r\n\r\n")
            assert head_alone.startswith(b"HTTP/1.1 " + answer)
            assert head_alone.index(b"\r\n\r\n") == len(head_alone) - 4
        for request in (b"GET / HTTP/1.1\r\n\r\n", b"POST /metrics HTTP/1.1\r\n\r\n", b"\r\n\r\n"):
            assert fetch(wire, request).startswith(b"HTTP/1.1 404 ")
        with contextlib.suppress(ConnectionResetError):
            assert fetch(wire, b"x" * 8192) == b""
        process.end()
    assert process.status == CLEAN


def test_new_scraper_replaces_the_longest_idle_one(wire: Namespace, tool: str) -> None:
    """If all places for connections are taken, each new connection replaces the connection that has
    been idle longest."""
    with live(wire, tool, "--metrics=127.0.0.1:9099", "v1") as process:
        with contextlib.ExitStack() as stack:
            idle = [
                stack.enter_context(wire.socket(socket.AF_INET, socket.SOCK_STREAM))
                for _ in range(20)
            ]
            for each in idle:
                each.connect(("127.0.0.1", 9099))
            fetch(wire, b"GET /metrics HTTP/1.1\r\n\r\n")
            assert [each.recv(1) for each in idle[:5]] == [b""] * 5
            assert select.select(idle[5:], [], [], 0)[0] == []
        process.end()
    assert process.status == CLEAN


def count_waits(pid: int) -> int:
    """Returns how often the main thread has waited."""
    status = Path(f"/proc/{pid}/task/{pid}/status").read_text()
    return int(status.split("\nvoluntary_ctxt_switches:")[1].split()[0])


def test_without_descriptors_the_server_waits(wire: Namespace, tool: str) -> None:
    """The server continues once descriptors are free. It closes idle connections for their
    descriptors."""
    many = [
        "-j",
        "32",
        "-B",
        "1024",
    ]  # poll() accepts no more descriptors than the limit on open files
    with live(wire, tool, "--metrics=9099", *many, "v1") as process:
        pid = process.process.pid
        fetch(wire, b"GET /metrics HTTP/1.1\r\n\r\n")
        used = len(os.listdir(f"/proc/{pid}/fd"))
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (used, limits[1]))
        with wire.socket(socket.AF_INET, socket.SOCK_STREAM) as client:
            client.connect(("127.0.0.1", 9099))
            wanted = count_waits(pid) + 4
            end = time.monotonic() + LONG / 2
            while count_waits(pid) < wanted:
                assert time.monotonic() < end, "it does not wait"
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 1, limits[1]))
            assert fetch(wire, b"GET /metrics HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 200")
            assert client.recv(1) == b""
        process.end()
    assert process.status == CLEAN


def page_of(there: Namespace) -> dict[str, int]:
    _, page = fetch(there, b"GET /metrics HTTP/1.1\r\n\r\n").decode().split("\r\n\r\n", 1)
    return samples(page)


NOT_WRITTEN = re.compile(
    r"^carry: standard output: its reader takes no more: ([\d,]+) lines? (?:is|are) not written$",
    re.M,
)


def lost_lines(errors: str) -> int:
    found = NOT_WRITTEN.findall(errors)
    assert len(found) == 1, errors
    return int(found[0].replace(",", ""))


def test_stalled_reader_of_lines_blocks_nothing(wire: Namespace, tool: str) -> None:
    """If the pipe is full, metrics are still served, and a signal ends the watch.

    Each line is in the pipe, or is counted as not written.
    """
    frames = [BAD_TCP] * 30000
    with live(wire, tool, "--bad-only", "--metrics=9099", "v1") as process:
        send(wire, *frames)
        name = 'carry_packets_total{interface="v1",direction="in"}'
        while page_of(wire).get(name, 0) < len(frames):
            continue
        process.process.send_signal(signal.SIGINT)
        assert process.process.wait(LONG) == ERROR
        process.wait()
    assert process.output.count("\n") + lost_lines(process.said[-1]) == len(frames)


def test_report_larger_than_the_pipe_blocks_nothing(wire: Namespace, tool: str) -> None:
    """If a report fits the pipe only partly, metrics are still served, and a signal ends the
    watch."""
    pairs = [(f"s{number}", f"t{number}") for number in range(6)]
    for pair in pairs:
        create_wire(wire, *pair)
    try:
        options = ("-J", "--interval=1", "--metrics=9099", "any")
        with live(wire, tool, *options) as process:
            assert process.process.stdout
            fcntl.fcntl(process.process.stdout, fcntl.F_SETPIPE_SZ, 4096)
            for one, _ in pairs:
                send(wire, GOOD_TCP, BAD_UDP, end=one)
            assert select.select([process.process.stdout], [], [], LONG)[0]
            while sum(v for k, v in page_of(wire).items() if "packets" in k) < 4 * len(pairs):
                continue
            process.process.send_signal(signal.SIGTERM)
            assert process.process.wait(LONG) == ERROR
            process.wait()
    finally:
        for one, _ in pairs:
            wire.run("ip", "link", "delete", one)
    assert lost_lines(process.said[-1]) > 0


def test_stalled_reader_of_messages_blocks_nothing(wire: Namespace, tool: str) -> None:
    """If reports and messages go to one pipe, which is full, a signal still ends the watch."""
    reading, writing = os.pipe()
    try:
        with subprocess.Popen(
            wire.command(tool, "live", "--interval=1", "v1"), stdout=writing, stderr=writing
        ) as process:
            patience = threading.Timer(LONG, process.kill)
            patience.start()
            while not os.read(reading, 4096).endswith(b"ends\n"):
                continue
            other = os.open(f"/proc/self/fd/{writing}", os.O_WRONLY | os.O_NONBLOCK)
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(other, bytes(4096))
            process.send_signal(signal.SIGTERM)
            assert process.wait(LONG) == ERROR
            patience.cancel()
            os.close(other)
    finally:
        os.close(reading)
        os.close(writing)


def test_metrics_with_few_descriptors(wire: Namespace, tool: str) -> None:
    """Metrics are served even if the limit on descriptors is smaller than the number of connections
    that the server accepts."""
    words = ["prlimit", "--nofile=14", tool, "live", "--metrics=9099", "v1"]
    with subprocess.Popen(
        wire.command(*words), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr
        assert process.stderr.readline().startswith("watching ")
        assert fetch(wire, b"GET /metrics HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 200")
        process.send_signal(signal.SIGINT)
        assert (process.wait(LONG), process.stderr.read()) == (CLEAN, "")


def test_port_in_use_is_reported(wire: Namespace, tool: str) -> None:
    with wire.socket(socket.AF_INET, socket.SOCK_STREAM) as taken:
        taken.bind(("127.0.0.1", 9098))
        taken.listen()
        done = wire.attempt(tool, "live", "--metrics=9098", "v0")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == "carry: cannot serve metrics at 9098: Address already in use\n"


def test_metrics_file(wire: Namespace, tool: str, tmp_path: Path) -> None:
    """--metrics-file writes the metrics, and leaves no other file."""
    path = tmp_path / "carry.prom"
    done = watched(wire, tool, [GOOD_TCP, BAD_TCP], "--metrics-file", path)
    assert done.status == CLEAN
    found = samples(path.read_text())
    assert {name: found[name] for name in EXPECTED} == EXPECTED
    assert [each.name for each in tmp_path.iterdir()] == ["carry.prom"]


def test_a_metrics_file_that_cannot_be_written(wire: Namespace, tool: str) -> None:
    done = watched(wire, tool, [GOOD_TCP], "-J", "--metrics-file=/none/x")
    assert done.status == ERROR
    assert done.said[-1] == "carry: /none/x: No such file or directory\n"
    assert last_report(done.output)["sides"][0]["packets"] == 1


# --- The manual ---


@pytest.mark.parametrize("command", [command for page, command in EXAMPLES if page == "carry-live"])
def test_examples_run(wire: Namespace, tool: str, tmp_path: Path, command: str) -> None:
    needs_filters(wire, tool)
    words = command.split()
    assert words[:2] == ["carry", "live"]
    create_wire(wire, "eth0", "eth1")
    try:
        with subprocess.Popen(
            wire.command(tool, *words[1:]), cwd=tmp_path, stderr=subprocess.PIPE, text=True
        ) as process:
            while process.poll() is None and not re.search(
                r"^\S+ +\S+ +3 +0003 +\d+ +1 ", wire.run("cat", "/proc/net/packet"), re.M
            ):
                continue
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            assert process.wait(LONG) == CLEAN
    finally:
        wire.run("ip", "link", "delete", "eth0")
