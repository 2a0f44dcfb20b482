# SPDX-License-Identifier: MIT
"""examples/offload.c between two hosts: network namespaces that nothing else connects.

Each host has one interface, eth0, which claims checksum offload. The peer of this interface,
wire-left or wire-right, lies in a third namespace, where the program runs.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import namespaces
import pytest
from captures import MAC, TCP, UDP, ethernet, packet
from carry_tool import SOURCE
from namespaces import Namespace

PROGRAM = Path(os.environ.get("CARRY_BUILD", SOURCE / "build")) / "examples/offload"
STOPPED, FAILED, WRONG_USAGE = 0, 1, 2
ENDS = ("wire-left", "wire-right")

PASSED = "passed on as they were"
FILLED = "passed on with checksums filled in"
BAD = "dropped, a checksum is bad"
LONG = "dropped, longer than the other end takes"
REFUSED = "dropped, the other end does not send now"

HOSTS = {socket.AF_INET: ("10.0.0.1", "10.0.0.2"), socket.AF_INET6: ("fd00::1", "fd00::2")}
HAS_IPV6 = Path("/proc/net/if_inet6").exists()
PORT = 9000

# Constants of Linux that Python does not name.
ETH_P_ALL, SOL_PACKET, PACKET_AUXDATA, PACKET_VNET_HDR = 3, 263, 8, 15
VLAN_VALID = 1 << 4
AUXDATA = struct.Struct("=LLLHHHH")  # status, 2 sizes, 2 offsets, VLAN tag, ethertype of the tag
VNET_HEADER = struct.Struct("=BBHHHH")  # flags, 3 members for segments, csum_start, csum_offset
NEEDS_CSUM, GSO_TCPV6 = 1, 4

V6 = {"src": "fd00::1", "dst": "fd00::2"}
MARK = ethernet(packet(UDP, b"this one ends a test"))


@pytest.fixture(autouse=True, scope="module")
def built() -> None:
    assert PROGRAM.is_file(), f"{PROGRAM} is missing: build it, or set CARRY_BUILD"


@dataclass(frozen=True)
class Wire:
    """Two hosts, and the namespace in which the program connects them."""

    left: Namespace
    middle: Namespace
    right: Namespace


def connect(middle: Namespace, host: Namespace, end: str, addresses: list[str]) -> None:
    peer = ["peer", "name", "eth0", "netns", str(host.holder.pid)]
    middle.run("ip", "link", "add", end, "type", "veth", *peer)
    middle.run("ip", "link", "set", end, "addrgenmode", "none", "up")  # only the program sends
    host.run("ip", "link", "set", "lo", "up")
    host.run("ip", "link", "set", "eth0", "gso_max_segs", "1", "up")
    for address in addresses:
        nodad = ["nodad"] if ":" in address else []
        host.run("ip", "address", "add", address, "dev", "eth0", *nodad)


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    tools = ("ip", "nsenter", "setpriv", "tc", "unshare")
    missing = [tool for tool in tools if not shutil.which(tool, path=namespaces.PATH)]
    if missing:
        pytest.skip(f"no {', '.join(missing)} here")
    with contextlib.ExitStack() as stack:
        try:
            middle = stack.enter_context(namespaces.make())
            left, right = (stack.enter_context(namespaces.make(middle)) for _ in range(2))
        except namespaces.NotPermittedError as error:
            pytest.skip(f"no network namespaces here: {error}")
        probe = middle.attempt("ip", "link", "add", "probe", "type", "veth")
        if probe.returncode:
            pytest.skip(f"no veth pairs here: {probe.stderr.strip()}")
        for host, end, number in ((left, ENDS[0], 0), (right, ENDS[1], 1)):
            addresses = [f"{HOSTS[socket.AF_INET][number]}/24"]
            if HAS_IPV6:
                addresses.append(f"{HOSTS[socket.AF_INET6][number]}/64")
            connect(middle, host, end, addresses)
        yield Wire(left, middle, right)


@pytest.fixture(params=HOSTS, ids=["ipv4", "ipv6"])
def family(request: pytest.FixtureRequest) -> socket.AddressFamily:
    if request.param == socket.AF_INET6 and not HAS_IPV6:
        pytest.skip("no IPv6 here")
    return request.param


class Offload:
    """The running program, and its counts once it has ended."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.errors = ""
        self.counts: dict[str, Counter[str]] = {}

    def stop(self, sent: signal.Signals | None = signal.SIGTERM) -> int:
        """Ends the program, or with `sent` None waits for its end; returns the exit status."""
        if sent:
            self.process.send_signal(sent)
        output, self.errors = self.process.communicate(timeout=namespaces.SECONDS)
        for line in output.splitlines():
            if line.endswith(":"):
                counts = self.counts[line.split(" to ")[0]] = Counter()
            else:
                number, fate = line.split(maxsplit=1)
                counts[fate] = int(number)
        return self.process.returncode


@contextlib.contextmanager
def offload(wire: Wire, *options: str) -> Iterator[Offload]:
    """Starts the program, waits until it forwards frames, and stops it at the end."""
    with subprocess.Popen(
        wire.middle.command(PROGRAM, *options, *ENDS),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout and process.stderr
            ready = process.stdout.readline()
            assert ready == "Passing frames between wire-left and wire-right\n", (
                ready + process.stderr.read()
            )
            program = Offload(process)
            yield program
            if process.returncode is None:
                assert program.stop() == STOPPED
        finally:
            process.kill()


def family_of(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def server(host: Namespace, address: str) -> socket.socket:
    listening = host.socket(family_of(address), socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind((address, PORT))
    listening.listen()
    return listening


def receive_all(stream: socket.socket) -> bytes:
    return b"".join(iter(lambda: stream.recv(1 << 16), b""))


def random_bytes(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def exchange(wire: Wire, address: str) -> None:
    """Connects the left host to `address` of the right one, and sends data both ways."""
    data = random_bytes(1_000_001)
    with (
        server(wire.right, address) as listening,
        wire.left.socket(family_of(address), socket.SOCK_STREAM) as client,
    ):
        client.connect((address, PORT))
        stream, _ = listening.accept()

        def send_back() -> None:
            with stream:
                stream.sendall(receive_all(stream))

        def send() -> None:
            client.sendall(data)
            client.shutdown(socket.SHUT_WR)

        threads = [threading.Thread(target=work) for work in (send_back, send)]
        for thread in threads:
            thread.start()
        assert receive_all(client) == data
        for thread in threads:
            thread.join()


def assert_filled(program: Offload) -> None:
    for end in ENDS:
        assert program.counts[end][FILLED] > 0
        assert sum(program.counts[end][fate] for fate in (BAD, LONG, REFUSED)) == 0


def test_tcp(wire: Wire, family: socket.AddressFamily) -> None:
    """TCP connects, and its packets get their checksums."""
    with offload(wire) as program:
        exchange(wire, HOSTS[family][1])
        program.stop()
    assert_filled(program)


def udp(host: Namespace, family: socket.AddressFamily, number: int) -> socket.socket:
    made = host.socket(family, socket.SOCK_DGRAM)
    made.bind((HOSTS[family][number], PORT))
    return made


def test_udp(wire: Wire, family: socket.AddressFamily) -> None:
    """UDP data of odd and even sizes arrives. The largest are sent in fragments, which the kernel
    sums itself."""
    sizes = [0, 1, 2, 3, 100, 1451, 1452, 4000, 9001]
    ends = [udp(wire.left, family, 0), udp(wire.right, family, 1)]
    with offload(wire) as program, ends[0], ends[1]:
        for size in sizes:
            for number in (0, 1):
                data = random_bytes(size)
                ends[number].sendto(data, (HOSTS[family][1 - number], PORT))
                assert ends[1 - number].recvfrom(1 << 16)[0] == data
        program.stop()
    assert_filled(program)


def bad_sums(host: Namespace, counter: str) -> int:
    """Returns how many packets the host dropped for their checksums; `counter` is Tcp, Udp or
    Udp6."""
    if counter == "Udp6":
        found = re.search(r"^Udp6InCsumErrors\s+(\d+)$", host.run("cat", "/proc/net/snmp6"), re.M)
        assert found
        return int(found[1])
    rows = host.run("cat", "/proc/net/snmp").splitlines()
    names, numbers = (row.split() for row in rows if row.startswith(f"{counter}:"))
    return int(numbers[names.index("InCsumErrors")])


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + namespaces.SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_without_fill_no_datagram_arrives(wire: Wire, family: socket.AddressFamily) -> None:
    protocol = "Udp" if family == socket.AF_INET else "Udp6"
    before = bad_sums(wire.right, protocol)
    ends = [udp(wire.left, family, 0), udp(wire.right, family, 1)]
    with offload(wire, "--no-fill") as program, ends[0], ends[1]:
        ends[0].sendto(b"lost", (HOSTS[family][1], PORT))
        wait_until(lambda: bad_sums(wire.right, protocol) > before)
        ends[1].setblocking(False)
        with pytest.raises(BlockingIOError):
            ends[1].recv(100)
        program.stop()
    assert program.counts[ENDS[0]][PASSED] > 0
    assert program.counts[ENDS[0]][FILLED] == 0


def test_without_fill_nothing_connects(wire: Wire, family: socket.AddressFamily) -> None:
    before = bad_sums(wire.right, "Tcp")
    with offload(wire, "--no-fill"), server(wire.right, HOSTS[family][1]) as listening:
        client = wire.left.socket(family, socket.SOCK_STREAM)
        with client:
            client.setblocking(False)
            client.connect_ex((HOSTS[family][1], PORT))
            wait_until(lambda: bad_sums(wire.right, "Tcp") > before)
            assert select.select([listening], [client], [], 0) == ([], [], [])


@pytest.mark.parametrize("outer", ["udpcsum", "noudpcsum"])
def test_vxlan(wire: Wire, outer: str) -> None:
    """Sums inside VXLAN are filled in. The sender leaves the inner sum to the interface; the outer
    sum is complete or absent."""
    with contextlib.ExitStack() as stack:
        for host, number in ((wire.left, 0), (wire.right, 1)):
            near, far = HOSTS[socket.AF_INET][number], HOSTS[socket.AF_INET][1 - number]
            tunnel = ["id", "7", "local", near, "remote", far, "dstport", "4789", outer]
            if host.attempt("ip", "link", "add", "vx", "type", "vxlan", *tunnel).returncode:
                pytest.skip("no VXLAN here")
            stack.callback(host.run, "ip", "link", "delete", "vx")
            host.run("ip", "link", "set", "vx", "gso_max_segs", "1", "up")
            host.run("ip", "address", "add", f"10.1.0.{number + 1}/24", "dev", "vx")
        program = stack.enter_context(offload(wire))
        exchange(wire, "10.1.0.2")
        program.stop()
    assert_filled(program)


def raw(host: Namespace, interface: str) -> socket.socket:
    made = host.socket(socket.AF_PACKET, socket.SOCK_RAW)
    made.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    made.bind((interface, ETH_P_ALL))
    return made


def receive_frame(sniffer: socket.socket) -> bytes:
    """Returns the next frame. Inserts the outermost VLAN tag where it was on the wire."""
    data, [(_, _, control)], _, _ = sniffer.recvmsg(1 << 16, socket.CMSG_SPACE(AUXDATA.size))
    status, *_, tag, ethertype = AUXDATA.unpack(control)
    if status & VLAN_VALID:
        data = data[:12] + struct.pack(">HH", ethertype, tag) + data[12:]
    return data


def what_is_left(sniffer: socket.socket) -> Iterator[bytes]:
    sniffer.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            yield receive_frame(sniffer)


def what_passes(
    wire: Wire, frame: bytes, fate: str, left_to_interface: bytes = bytes(VNET_HEADER.size)
) -> list[bytes]:
    """Sends a frame from the left host; returns the frames that arrive at the right host. Unless
    `fate` is PASSED, checks that the program counted the frame as `fate`."""
    with offload(wire) as program, raw(wire.left, "eth0") as sender, raw(wire.right, "eth0") as end:
        sender.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
        sender.send(left_to_interface + frame)
        sender.send(bytes(VNET_HEADER.size) + MARK)
        frames = list(iter(lambda: receive_frame(end), MARK))
        program.stop()
        frames += what_is_left(end)
    # Frames of the kernel, such as a retransmitted segment, are filled in too, and arrive.
    others = sum(found[:12] != MAC for found in frames) if fate == FILLED else 0
    assert fate == PASSED or 1 <= program.counts[ENDS[0]][fate] <= 1 + others
    return [found for found in frames if found[:12] == MAC]


BAD_IP = bytearray(ethernet(packet(UDP)))
BAD_IP[24] ^= 1
DAMAGED = {
    "bad tcp": ethernet(packet(TCP, sums="bad")),
    "bad udp": ethernet(packet(UDP, sums="bad")),
    "bad ip": bytes(BAD_IP),
    "bad in a vlan": ethernet(packet(UDP, sums="bad"), [5]),
    "partial, but finished": ethernet(packet(UDP, sums="partial")),
    "udp over ipv6 without": ethernet(packet(UDP, sums="none", **V6)),
}
SOUND = {
    "tcp": ethernet(packet(TCP)),
    "udp over ipv4 without": ethernet(packet(UDP, sums="none")),
    "one vlan": ethernet(packet(UDP), [0xE005]),
    "vlans in each other": ethernet(packet(UDP), [5, 6]).replace(b"\x81\0", b"\x88\xa8", 1),
    "no ip": MAC + b"\x88\xb5" + bytes(range(46)),
}


@pytest.mark.parametrize("frame", DAMAGED.values(), ids=DAMAGED)
def test_damaged_frames_are_dropped(wire: Wire, frame: bytes) -> None:
    assert what_passes(wire, frame, BAD) == []


@pytest.mark.parametrize("frame", SOUND.values(), ids=SOUND)
def test_good_frames_pass_unchanged(wire: Wire, frame: bytes) -> None:
    assert what_passes(wire, frame, PASSED) == [frame]


@pytest.mark.parametrize("tags", [[], [5], [5, 6]], ids=["untagged", "one vlan", "two vlans"])
@pytest.mark.parametrize("addresses", [{}, V6], ids=["ipv4", "ipv6"])
def test_partial_sums_are_filled_in(wire: Wire, tags: list[int], addresses: dict[str, str]) -> None:
    partial = ethernet(packet(UDP, sums="partial", **addresses), tags)
    good = ethernet(packet(UDP, **addresses), tags)
    start = 14 + 4 * len(tags) + (40 if addresses else 20)
    left = VNET_HEADER.pack(NEEDS_CSUM, 0, 0, 0, start, 6)
    assert what_passes(wire, partial, FILLED, left) == [good]


@pytest.mark.parametrize(
    ("size", "mtu"), [(2000, 1500), (65515, 65535)], ids=["than MTU", "than any MTU"]
)
def test_longer_frames_are_dropped(wire: Wire, size: int, mtu: int) -> None:
    """Frames whose segmentation the sender leaves to its interface are dropped."""
    frame = ethernet(packet(TCP, bytes(size), sums="partial", **V6))
    left = VNET_HEADER.pack(NEEDS_CSUM, GSO_TCPV6, 14 + 40 + 20, 1000, 14 + 40, 16)

    def configure(mtu: int, segments: int, size: int) -> None:
        wire.middle.run("ip", "link", "set", ENDS[1], "mtu", str(mtu))
        wire.right.run("ip", "link", "set", "eth0", "mtu", str(mtu))
        limits = ["gso_max_segs", str(segments), "gso_max_size", str(size)]
        wire.left.run("ip", "link", "set", "eth0", *limits)

    configure(mtu, 65535, 131072)
    try:
        assert what_passes(wire, frame, LONG, left) == []
    finally:
        configure(1500, 1, 65536)


def test_frames_that_an_end_refuses_are_dropped(wire: Wire) -> None:
    """Frames that an end refuses are counted: here a queue for one byte accepts no frame."""
    wire.middle.run("tc", "qdisc", "add", "dev", ENDS[1], "root", "bfifo", "limit", "1")
    try:
        with offload(wire) as program, raw(wire.left, "eth0") as sender:
            sender.send(MARK)
            queue = ["tc", "-s", "qdisc", "show", "dev", ENDS[1]]
            wait_until(lambda: "(dropped 0," not in wire.middle.run(*queue))
            program.stop()
    finally:
        wire.middle.run("tc", "qdisc", "delete", "dev", ENDS[1], "root")
    assert program.counts[ENDS[0]][REFUSED] > 0


def test_frames_of_this_host_are_not_forwarded(wire: Wire) -> None:
    """Frames that the program's own host sends by one end are not forwarded to the other end."""
    with (
        offload(wire),
        raw(wire.middle, ENDS[0]) as own,
        raw(wire.left, "eth0") as left,
        raw(wire.right, "eth0") as right,
    ):
        own.send(SOUND["tcp"])
        assert SOUND["tcp"] in iter(lambda: receive_frame(left), None)
        left.send(MARK)
        assert SOUND["tcp"] not in iter(lambda: receive_frame(right), MARK)


def test_interfaces_are_promiscuous(wire: Wire) -> None:
    def modes() -> list[str]:
        return [wire.middle.run("ip", "-details", "link", "show", end) for end in ENDS]

    with offload(wire):
        assert all("promiscuity 1" in mode for mode in modes())
    assert all("promiscuity 0" in mode for mode in modes())


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_program(wire: Wire, sent: signal.Signals) -> None:
    with offload(wire) as program:
        assert program.stop(sent) == STOPPED
    assert program.errors == ""
    for end in ENDS:
        assert set(program.counts[end]) == {PASSED, FILLED, BAD, LONG, REFUSED}


def test_interface_that_goes_down_ends_the_program(wire: Wire) -> None:
    with offload(wire) as program:
        wire.middle.run("ip", "link", "set", ENDS[1], "down")
        try:
            assert program.stop(None) == FAILED
        finally:
            wire.middle.run("ip", "link", "set", ENDS[1], "up")
    assert program.errors == "offload: wire-right: Network is down\n"
    assert set(program.counts) >= set(ENDS)


@pytest.mark.parametrize(
    ("names", "error"),
    [
        (["wire-left", "absent"], "offload: absent: No such device\n"),
        (["wire-left", "lo"], "offload: lo: not an Ethernet interface\n"),
    ],
)
def test_interfaces_that_cannot_be_used(wire: Wire, names: list[str], error: str) -> None:
    done = wire.middle.attempt(PROGRAM, *names)
    assert (done.returncode, done.stdout, done.stderr) == (FAILED, "", error)


def test_without_permission(wire: Wire) -> None:
    """Without permission to capture, the error says so."""
    done = wire.middle.attempt("setpriv", "--bounding-set=-net_raw", PROGRAM, *ENDS)
    assert done.returncode == FAILED
    assert done.stderr == "offload: packet socket: Operation not permitted\n"


def test_help() -> None:
    """--help shows the usage."""
    done = subprocess.run([PROGRAM, "--help"], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: offload [OPTION] A B\n")


@pytest.mark.parametrize(
    "arguments", [[], ["wire"], ["wire", "wire"], ["a", "b", "c"], ["--unknown", "a", "b"]]
)
def test_wrong_usage_is_refused_in_one_line(arguments: list[str]) -> None:
    done = subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=600)
    assert (done.returncode, done.stdout) == (WRONG_USAGE, "")
    assert done.stderr.startswith("offload: ")
    assert done.stderr.count("\n") == 1
