# SPDX-License-Identifier: MIT
"""Statements of captures about their checksums: causes that are certain, and wrong statements."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

import pytest
from captures import (
    GOOD,
    ICMP,
    LEFT,
    PARTIAL,
    RECEIVED,
    SENT,
    TCP,
    UDP,
    VALID,
    WRONG,
    ethernet,
    finish,
    flagged,
    network,
    packet,
    pcap,
    put16,
)
from carry_tool import BAD, CLEAN, Check, Run
from schemas import conforming
from test_reassemble import fragments

pytestmark = pytest.mark.covers_capture


def findings(carry: Run, data: bytes) -> list[tuple[Any, ...]]:
    done = carry("check", "-bJ", "--partial=report", "-", stdin=data)
    found = [conforming("check_bad_only", line) for line in done.stdout.splitlines()]
    return [(one["frame"], one["cause"], one["certain"]) for one in found]


@pytest.mark.parametrize("order", ["<", ">"])
def test_flags_make_a_cause_certain(carry: Run, check: Check, order: str) -> None:
    data = flagged([(PARTIAL, SENT | LEFT), (PARTIAL, SENT), (PARTIAL, 0), (GOOD, 0)], order)
    assert findings(carry, data) == [(1, "sent", True), (2, "sent", False), (3, "offload", False)]
    status, report = check(data)
    assert (status, report["certain"], report["left_without"]) == (CLEAN, {"tcp": 1}, 0)
    assert report["causes"] == {"tcp": {"sent": 2, "offload": 1}}
    text = " ".join(carry("check", "-", stdin=data).stdout.split())
    assert "; 1 of them certain, as the capture says so" in text
    rows = carry("check", "-t", "-", stdin=data).stdout.splitlines()
    assert [row.split("\t")[-1] for row in rows] == ["certain", "1", "0", "1"]
    lines = carry("check", "-b", "--partial=report", "-", stdin=data).stdout.splitlines()
    assert [line.split("443")[-1] for line in lines] == [
        " (partial, certain)  sent",
        " (partial)  sent",
        " (partial)  offload",
    ]
    rows = carry("check", "-bt", "--partial=report", "-", stdin=data).stdout.splitlines()
    assert [row.split("\t")[12:15] for row in rows] == [
        ["cause", "certain", "bit"],
        ["sent", "true", ""],
        ["sent", "false", ""],
        ["offload", "false", ""],
    ]


def explained(carry: Run, data: bytes, frame: int) -> tuple[dict[str, Any], str]:
    done = carry("explain", "--json", "-", str(frame), stdin=data)
    layer = conforming("explain", done.stdout)["layers"][-1]
    text = carry("explain", "-", str(frame), stdin=data).stdout
    return layer["checksum"], " ".join(text.split())


def test_explain_shows_certainty(carry: Run) -> None:
    data = flagged([(PARTIAL, SENT | LEFT), (PARTIAL, 0), (GOOD, SENT), (PARTIAL, RECEIVED)])
    found, text = explained(carry, data, 1)
    assert (found["certain"], found["cause"], found["advice"]) == (True, "sent", None)
    assert "certain: the capture says that it was left to the network card" in text
    found, text = explained(carry, data, 2)
    assert (found["certain"], found["cause"]) == (False, "offload")
    assert "inferred: the capture does not say so" in text
    found, text = explained(carry, data, 3)
    assert (found["certain"], found["cause"]) == (None, None)
    found, text = explained(carry, data, 4)
    assert found["cause"] == "received"
    assert f"try: {found['advice']}" in text
    assert "ethtool -K IFACE tx off" in found["advice"]


def test_received_partial_sum_was_not_completed(carry: Run) -> None:
    data = flagged(2 * [(PARTIAL, RECEIVED)])
    assert findings(carry, data) == [(1, "received", False), (2, "received", False)]
    text = " ".join(carry("check", "-", stdin=data).stdout.split())
    assert "this is normal over virtual links (veth, virtio); over other links," in text
    assert "a virtual switch did not complete them" in text
    assert "finished by the network card after the capture" not in text
    assert text.count("try (received): if the link is not virtual, run ethtool -K IFACE tx") == 1


def test_received_partial_sum_with_a_flag_is_normal(carry: Run) -> None:
    data = flagged(2 * [(PARTIAL, RECEIVED | LEFT)])
    assert findings(carry, data) == [(1, "passed_on", True), (2, "passed_on", True)]
    text = " ".join(carry("check", "-", stdin=data).stdout.split())
    assert "the rest is left, which is normal" in text
    assert "try" not in text


def test_partial_sum_between_local_addresses_is_normal(carry: Run) -> None:
    for ends in ({"dst": "127.0.0.1"}, {"dst": "10.0.0.5"}, {"src": "::1", "dst": "::1"}):
        data = flagged([(ethernet(packet(TCP, sums="partial", **ends)), RECEIVED)])
        assert findings(carry, data) == [(1, "local", False)]


def tunnel(inner: bytes, udp: str = "good") -> bytes:
    """Returns an Ethernet frame with VXLAN. `udp` is the kind of its UDP sum, as for packet()."""
    return ethernet(packet(UDP, b"\x08" + bytes(7) + inner, ports=(50000, 4789), sums=udp))


def test_two_partial_sums_are_not_certain(carry: Run) -> None:
    both = tunnel(PARTIAL, "partial")
    found = findings(carry, flagged([(both, SENT | LEFT)]))
    assert found == [(1, "sent", False), (1, "sent", False)]
    inner = tunnel(PARTIAL)
    assert (1, "inside_good", True) in findings(carry, flagged([(inner, SENT | LEFT)]))


def test_two_partial_sums_in_fragments_are_not_certain(carry: Run) -> None:
    """`carry explain` judges the datagram in the same way as `carry check`."""
    parts = [ethernet(part) for part in fragments(tunnel(PARTIAL, "partial")[14:])]
    data = flagged([(part, SENT | LEFT) for part in parts])
    last = len(parts)
    assert findings(carry, data) == [(last, "sent", False), (last, "sent", False)]
    done = carry("explain", "--json", "-", "1", stdin=data)
    layers = conforming("explain", done.stdout)["datagrams"][0]["layers"]
    found = [layer["checksum"] for layer in layers if layer["protocol"] in ("udp", "tcp")]
    assert [(one["cause"], one["certain"]) for one in found] == [("sent", False)] * 2


# --- Wrong statements ---


def test_flag_of_a_missing_partial_sum_is_reported(carry: Run, check: Check) -> None:
    data = flagged([(WRONG, LEFT), (GOOD, LEFT), (PARTIAL, LEFT), (WRONG, 0)])
    assert findings(carry, data) == [
        (1, "said_left", None),
        (3, "offload", True),
        (4, None, None),
    ]
    status, report = check(data)
    assert (status, report["left_without"]) == (BAD, 2)
    text = " ".join(carry("check", "-", stdin=data).stdout.split())
    assert "flags: 2 packets said to hold a checksum that is left" in text
    found, text = explained(carry, data, 1)
    assert found["why"].startswith("it is bad, though the capture says that it was left")


def test_flag_of_a_fragment_is_not_reported(carry: Run, check: Check) -> None:
    """A flag of a fragment is not reported as wrong: only the complete datagram shows whether its
    checksum is left to the card."""
    parts = [ethernet(part) for part in fragments(packet(UDP, bytes(100), sums="partial"))]
    data = flagged([(part, SENT | LEFT) for part in parts])
    assert findings(carry, data) == [(len(parts), "sent", True)]
    assert check(data)[1]["left_without"] == 0


def test_flags_do_not_concern_ip_headers(carry: Run) -> None:
    header = bytearray(GOOD)
    header[24] ^= 0x55
    assert findings(carry, flagged([(bytes(header), LEFT | VALID)])) == [(1, None, None)]


def test_flag_of_a_bad_valid_sum_is_reported(carry: Run) -> None:
    data = flagged([(WRONG, VALID), (GOOD, VALID), (PARTIAL, VALID), (WRONG, RECEIVED)])
    assert findings(carry, data) == [
        (1, "said_valid", None),
        (3, "offload", False),
        (4, None, None),
    ]
    assert "ethtool -K IFACE rx off" in carry("check", "-", stdin=data).stdout


def test_valid_flag_may_mean_another_good_sum(carry: Run) -> None:
    assert findings(carry, flagged([(tunnel(WRONG), VALID)])) == [(1, None, None)]


# --- Directions in link headers ---


def cooked(kind: int, ip: bytes, device: int = 1) -> bytes:
    return struct.pack(">HHH8sH", kind, device, 6, b"\2\0\0\0\0\1", 0x800) + ip


def cooked2(kind: int, ip: bytes, device: int = 1) -> bytes:
    head = struct.pack(">HHLHBB8s", 0x800, 0, 2, device, kind, 6, b"\2\0\0\0\0\1")
    return head + ip


@pytest.mark.parametrize(("link", "make"), [(113, cooked), (276, cooked2)])
def test_cooked_links_record_the_direction(
    carry: Run, link: int, make: Callable[..., bytes]
) -> None:
    ip = packet(TCP, sums="partial")
    frames = [make(kind, ip) for kind in (0, 1, 2, 3, 4, 5)] + [make(0, ip, 772)]
    causes = ["received"] * 4 + ["sent", "offload", "local"]
    assert [row[1] for row in findings(carry, pcap(frames, link=link))] == causes
    flagged_frames = flagged([(make(0, ip), SENT), (make(4, ip), RECEIVED)], link=link)
    assert [row[1] for row in findings(carry, flagged_frames)] == ["sent", "received"]


def serial(head: str) -> Callable[[int, bytes], bytes]:
    return lambda way, ip: bytes([way]) + bytes.fromhex(head) + ip


def ipnet(way: int, ip: bytes) -> bytes:
    return struct.pack(">BBHL16x", 1, 2, way, len(ip)) + ip


@pytest.mark.parametrize(
    ("link", "make", "ways"),
    [
        (8, serial("c0" + 14 * "00"), (0, 1)),
        (166, serial("03 0021"), (0, 1)),
        (204, serial("ff03 0021"), (0, 1)),
        (205, serial("0f00 0800"), (0, 1)),
        (206, serial("1841 03 cc"), (0, 1)),
        (226, ipnet, (1, 2)),
    ],
)
def test_other_links_record_the_direction(
    carry: Run, link: int, make: Callable[[int, bytes], bytes], ways: tuple[int, int]
) -> None:
    ip = packet(TCP, sums="partial")
    frames = [make(way, ip) for way in ways]
    assert [row[1] for row in findings(carry, pcap(frames, link=link))] == ["received", "sent"]


def test_ipnet_loopback_is_local(carry: Run) -> None:
    data = pcap([ipnet(3, packet(TCP, sums="partial"))], link=226)
    assert [row[1] for row in findings(carry, data)] == ["local"]


# --- Partial sums in tunnels ---


def test_partial_sum_inside_a_good_one(carry: Run) -> None:
    over_ipv6 = ethernet(packet(TCP, sums="partial", src="fd00::5", dst="fd00::9"))
    data = pcap([tunnel(PARTIAL), tunnel(over_ipv6)])
    assert findings(carry, data) == [(1, "inside_good", False), (2, "inside_good", False)]
    text = " ".join(carry("check", "-", stdin=data).stdout.split())
    assert "completes the inner one breaks the outer one" in text
    found, text = explained(carry, data, 1)
    assert found["cause"] == "inside_good"
    assert "ethtool -K IFACE tx-checksum-ip-generic off" in text


def test_partial_sum_inside_no_good_one(carry: Run) -> None:
    """The cause of a partial sum is just offload if the outer sum is absent, partial or bad, if an
    ICMP error with a good sum quotes the packet, or if there is no tunnel."""
    frames = [tunnel(PARTIAL, udp) for udp in ("none", "partial", "bad")]
    assert {row[1] for row in findings(carry, pcap(frames))} - {None} == {"offload"}
    error = b"\3\3" + bytes(6) + packet(TCP, sums="partial")
    quoting = network("10.0.0.9", "10.0.0.5", ICMP, put16(error, 2, finish(error)))
    assert findings(carry, pcap([ethernet(quoting)])) == [(1, "offload", False)]
    assert findings(carry, pcap([PARTIAL])) == [(1, "offload", False)]
