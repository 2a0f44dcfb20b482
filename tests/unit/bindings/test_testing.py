# SPDX-License-Identifier: MIT
"""assert_checksums() for captures, bytes, and packets of scapy and dpkt."""

from __future__ import annotations

import array
import io

import captures
import libcarry
import pytest
from conftest import SOURCE
from libcarry.testing import assert_checksums, to_capture, to_frame

pytestmark = pytest.mark.sanitized

BROKEN = SOURCE / "examples/broken.pcap"
FRAME = captures.ethernet(captures.packet(captures.UDP, b"hello, here is carry"))
WRONG = FRAME[:40] + b"\x12\x34" + FRAME[42:]


def test_message() -> None:
    """A failed assertion names frame, protocol, values, addresses and ports."""
    with pytest.raises(AssertionError) as caught:
        assert_checksums([FRAME, WRONG])
    expected = f"0x{int.from_bytes(FRAME[40:42]):04x}"
    assert str(caught.value).splitlines() == [
        "<packets>: 1 bad checksum",
        f"  frame 2: udp bad: stored 0x1234, expected {expected}, 10.0.0.5:40000 -> 10.0.0.9:443",
    ]


def test_message_names_the_cause() -> None:
    swapped = FRAME[:24] + FRAME[25:26] + FRAME[24:25] + FRAME[26:]
    with pytest.raises(AssertionError, match=r"frame 1: ip bad: .*; swapped: it "):
        assert_checksums(swapped)


def test_message_is_short() -> None:
    with pytest.raises(AssertionError, match="and 90 more") as caught:
        assert_checksums([WRONG] * 100)
    assert len(str(caught.value).splitlines()) == 12


def test_captures() -> None:
    """Paths, files and reports are checked like packets."""
    for source in (str(BROKEN), BROKEN, io.BytesIO(BROKEN.read_bytes()), libcarry.check(BROKEN)):
        with pytest.raises(AssertionError, match=r"udp illegal: stored 0x0000, expected 0x1671"):
            assert_checksums(source)
    assert assert_checksums(SOURCE / "examples/offload.pcapng").ok


def test_partial_and_complete() -> None:
    offload = SOURCE / "examples/offload.pcapng"
    with pytest.raises(AssertionError, match="4 partial"):
        assert_checksums(offload, partial=False)
    fragment = bytearray(FRAME)
    fragment[20] |= 0x20
    libcarry.packet_fix(fragment)
    assert_checksums([fragment])
    with pytest.raises(AssertionError, match="not all checksums could be verified"):
        assert_checksums([fragment], complete=True)


def test_bytes() -> None:
    """Bytes, and iterables of bytes, are frames."""
    for packets in (FRAME, bytearray(FRAME), memoryview(FRAME), [FRAME, FRAME], iter([FRAME])):
        assert assert_checksums(packets).ok
    assert assert_checksums(FRAME[14:], linktype=101).ok


def test_arrays() -> None:
    """Arrays of one dimension are frames; arrays of more dimensions are refused."""
    numpy = pytest.importorskip("numpy", reason="python3-numpy is not installed")
    frame = numpy.frombuffer(WRONG, dtype=numpy.uint8)
    for packets in (frame, [frame], array.array("B", WRONG)):
        with pytest.raises(AssertionError, match="udp bad"):
            assert_checksums(packets)
    with pytest.raises(TypeError, match="one dimension, not 2"):
        assert_checksums(numpy.stack([frame, frame]))
    with pytest.raises(ValueError, match="linktype must be"):
        assert_checksums(frame, linktype=1 << 16)


def test_scapy() -> None:
    """Packets of scapy are checked with the link type of their first layer."""
    inet = pytest.importorskip("scapy.layers.inet", reason="python3-scapy is not installed")
    from scapy.layers.inet6 import IPv6
    from scapy.layers.l2 import CookedLinux, Ether, Loopback
    from scapy.plist import PacketList

    ip = inet.IP(src="10.0.0.5", dst="10.0.0.9") / inet.UDP() / b"hello"
    ip6 = IPv6(src="::1", dst="::2") / inet.TCP() / b"hello"
    ether = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / ip
    for packets in (ip, ip6, ether, [ip, ether, ip6], PacketList([ether, ether])):
        report = assert_checksums(packets, complete=True)
        assert report.ok and report.packets == (
            len(packets) if isinstance(packets, list) else report.packets
        )
    assert to_frame(CookedLinux() / ip)[1] == 113
    assert to_frame(ip) == (bytes(ip), 101)
    assert to_frame(ip, 228) == (bytes(ip), 228)
    ip6[inet.TCP].chksum = 0x1234
    with pytest.raises(AssertionError, match=r"\[::1\]:20 -> \[::2\]:80"):
        assert_checksums(ip6)
    ip[inet.UDP].chksum = 0x1234
    with pytest.raises(AssertionError, match="udp bad: stored 0x1234"):
        assert_checksums(ip)
    with pytest.raises(ValueError, match="begins no frame"):
        assert_checksums(inet.UDP())
    assert to_frame(Loopback() / ip)[1] == 108
    assert to_frame(type("Own", (Ether,), {})() / ip)[1] == 1


def test_dpkt() -> None:
    """Packets of dpkt are checked; objects that cannot be the start of a frame are refused."""
    dpkt = pytest.importorskip("dpkt", reason="python3-dpkt is not installed")
    frame = dpkt.ethernet.Ethernet(FRAME)
    assert assert_checksums([frame, frame.data]).packets == 2
    assert assert_checksums(frame).ok
    wrong = dpkt.ethernet.Ethernet(WRONG)
    with pytest.raises(AssertionError, match="udp bad: stored 0x1234"):
        assert_checksums(wrong)
    with pytest.raises(ValueError, match="begins no frame"):
        to_frame(frame.data.data)


def test_capture_of_packets_is_read_by_other_programs() -> None:
    dpkt = pytest.importorskip("dpkt", reason="python3-dpkt is not installed")
    capture = to_capture([FRAME, FRAME[:33]])
    assert [data for _, data in dpkt.pcapng.Reader(io.BytesIO(capture))] == [FRAME, FRAME[:33]]
    assert [bytes(frame.data) for frame in libcarry.frames(capture)] == [FRAME, FRAME[:33]]
