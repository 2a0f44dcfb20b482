# SPDX-License-Identifier: MIT
"""Checksums inside other packets: tunnels with reserved bits, Ethernet in GTP-U, wireless meshes,
and the extension of an ICMP request, followed by data."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from captures import ICMP, TCP, UDP, ethernet, finish, network, packet, pcap, put16
from carry_tool import BAD, CLEAN, Check, Run

pytestmark = pytest.mark.covers_capture

WLAN, WLAN_MAC = 105, bytes.fromhex("020000000001")
FRAME = ethernet(packet(TCP, bytes(99), sums="bad"))


def in_udp(port: int, content: bytes) -> bytes:
    return ethernet(packet(UDP, content, ports=(49152, port)))


def tcp_verdicts(check: Check, frames: list[bytes], link: int = 1) -> tuple[int, int]:
    """Returns the exit status, and how many bad sums of TCP were found."""
    status, report = check(pcap(frames, link=link))
    return status, report["protocols"].get("tcp", {}).get("bad", 0)


# --- VXLAN ---

VXLAN = [
    *("0800000000000b00", "0800000000000b01", "ff01d1f300000b01", "0c00000000000b01"),
    *("0c01d1f300000b00", "4800000000000b00", "0f00000000000b01", "f800000000000b01"),
    *("08ffffff00000bff", "0c00000600000b00", "ff01d1f200000b00", "8c00000000000b00"),
]


def test_vxlan_with_reserved_bits(check: Check) -> None:
    """Receivers ignore reserved bits (RFC 7348, section 5), even the bit for a next protocol."""
    frames = [in_udp(4789, bytes.fromhex(header) + FRAME) for header in VXLAN]
    assert tcp_verdicts(check, frames) == (BAD, len(VXLAN))


@pytest.mark.parametrize("header", VXLAN[1:])
def test_other_traffic_on_the_port_of_vxlan(check: Check, header: str) -> None:
    head = bytes.fromhex(header)
    others = [
        head + FRAME + bytes(4),
        head + FRAME[:-1],
        head + FRAME[:12] + b"\x08\x06" + FRAME[14:],
        bytes([head[0] & 0xF3]) + head[1:] + FRAME,
        *(bytes((at * step + at // 7) & 255 for at in range(120)) for step in (7, 83, 129)),
    ]
    assert tcp_verdicts(check, [in_udp(4789, other) for other in others]) == (CLEAN, 0)


# --- GTP-U ---


def gtp(content: bytes, flags: int = 0x34) -> bytes:
    """Returns GTP-U with the container of a PDU session, or without extensions."""
    more = bytes.fromhex("00000085 01100900") if flags & 4 else b""
    return struct.pack(">BBHL", flags, 255, len(more + content), 77) + more + content


SESSIONS = {
    "ethernet": [gtp(FRAME), gtp(FRAME, 0x30), gtp(ethernet(FRAME[14:], tags=[7]))],
    "stations": [gtp(mac + FRAME[1:]) for mac in (b"\x46", b"\x48", b"\x4c", b"\x60", b"\x6c")],
    "spare": [gtp(FRAME[14:], 0x38), gtp(FRAME[14:], 0x3C), gtp(FRAME, 0x38), gtp(FRAME, 0x3C)],
    "bytes behind": [gtp(FRAME) + b"behind", gtp(FRAME[14:], 0x38) + b"behind"],
}


@pytest.mark.parametrize("name", SESSIONS)
def test_user_packets_in_gtp(check: Check, name: str) -> None:
    """A session carries IP or Ethernet (TS 23.501, section 5.6.10.2). Receivers ignore the spare
    bit (TS 29.281, section 5.1)."""
    frames = [in_udp(2152, content) for content in SESSIONS[name]]
    assert tcp_verdicts(check, frames) == (BAD, len(frames))


def test_other_frames_and_traffic_on_the_port_of_gtp(check: Check) -> None:
    """No checksum is found inside Ethernet frames without IP, even if their first byte could begin
    an IP packet, nor inside other traffic on the port."""
    arp = b"\x08\x06" + bytes.fromhex("0001080006040001") + bytes(38)
    frames = [
        *(bytes([first]) + FRAME[1:12] + arp for first in (0x02, 0x46, 0x4A, 0x60, 0xFF)),
        *(bytes([first]) + FRAME[1:12] + b"\x88\x92" + bytes(40) for first in (0x48, 0x60, 0x6E)),
        FRAME + bytes(4),
        FRAME[:-1],
    ]
    others = [
        *map(gtp, frames),
        gtp(FRAME[14:] + b"behind", 0x38),
        gtp(FRAME, 0x20),
        gtp(FRAME, 0x50),
        *(bytes((at * step + at // 7) & 255 for at in range(120)) for step in (7, 83, 129)),
    ]
    status, report = check(pcap([in_udp(2152, other) for other in others]))
    assert (status, sorted(report["protocols"])) == (CLEAN, ["ip", "udp"])
    assert report["protocols"]["ip"]["good"] == len(others)


# --- Meshes of IEEE 802.11 ---


def wlan(control: str, mesh: str, receiver: bytes = WLAN_MAC) -> bytes:
    """Returns a QoS frame; `control` holds two bytes of frame control and two of QoS control."""
    frame, qos = bytes.fromhex(control)[:2], bytes.fromhex(control)[2:]
    addresses = receiver + WLAN_MAC * 2 + bytes(2) + (WLAN_MAC if frame[1] & 3 == 3 else b"")
    head = frame + bytes(2) + addresses + qos + bytes.fromhex(mesh)
    return head + bytes.fromhex("aaaa030000000800") + FRAME[14:]


MESH = "00 1f 00000001"
GROUP = b"\x01" + WLAN_MAC[1:]


def test_mesh_control(check: Check) -> None:
    frames = [
        wlan("8803 0001", MESH),
        wlan("8803 0001", "01 1f 00000001" + "02" * 6),
        wlan("8803 0001", "02 1f 00000001" + "02" * 12),
        wlan("8802 0001", MESH, GROUP),
        wlan("8803 0001", ""),
        wlan("8801 0001", ""),
    ]
    assert tcp_verdicts(check, frames, WLAN) == (BAD, len(frames))
    others = [
        wlan("8803 0001", "03 1f 00000001" + "02" * 18),
        wlan("8803 0000", MESH),
        wlan("8801 0001", MESH),
        wlan("8802 0001", MESH),
        wlan("8803 0001", "04 1f 00000001"),
    ]
    status, report = check(pcap(others, link=WLAN))
    assert (status, report["protocols"]) == (CLEAN, {})


# --- The extension of extended echo ---


IN_ICMP = 14 + 20 + 8


def request(extension: bytes, data: bytes) -> bytes:
    message = struct.pack(">BBHHBB", 42, 0, 0, 7, 1, 1) + extension + data
    return ethernet(network("10.0.0.5", "10.0.0.9", ICMP, put16(message, 2, finish(message))))


OBJECTS = ("0008 03 02 0000002a", "000a 03 01 656e70317330", "000c 03 03 00010400 951c4aed")


def test_extension_of_a_request_ends_with_its_object(
    carry: Run, check: Check, tmp_path: Path
) -> None:
    """A request holds one object (RFC 8335, section 2); ping appends a time stamp."""
    frames = []
    for named in map(bytes.fromhex, OBJECTS):
        extension = b"\x20\0\0\0" + named
        good = put16(extension, 2, finish(extension))
        frames += [request(good, data) for data in (b"", bytes.fromhex("6593 3a33 000d dc2b"))]
    status, report = check(pcap(frames))
    assert (status, report["protocols"]["icmpext"]["good"]) == (CLEAN, len(frames))
    source, copy = tmp_path / "a.pcap", tmp_path / "b.pcap"
    source.write_bytes(pcap(frames))
    assert carry("fix", source, "-o", copy).returncode == CLEAN
    assert copy.read_bytes() == source.read_bytes()

    for frame in frames:
        damaged = put16(put16(frame, IN_ICMP + 2, 0x1234), IN_ICMP - 6, 0)
        damaged = put16(damaged, IN_ICMP - 6, finish(damaged[IN_ICMP - 8 :]))
        source.write_bytes(pcap([damaged]))
        assert check(source.read_bytes())[0] == BAD
        assert carry("fix", source, "-o", copy).returncode == CLEAN
        assert copy.read_bytes() == pcap([frame])
