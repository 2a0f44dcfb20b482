# SPDX-License-Identifier: MIT
"""Captures that claim to have Ethernet headers, but hold IP packets without a link header."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from captures import GOOD, TCP, UDP, V6, Pcapng, Record, ethernet, packet, pcap, put16
from carry_tool import BAD, CLEAN, Check, Run

pytestmark = pytest.mark.covers_capture

ADVICE = "as rvictl of iOS writes them: set the type with editcap -T rawip IN OUT"
BAD4 = packet(UDP, sums="bad")
RAW = {
    "good": packet(TCP),
    "bad over a good header": BAD4,
    "IPv6": packet(TCP, **V6),
    "UDP over IPv6": packet(UDP, **V6),
}


@pytest.mark.parametrize("name", RAW)
def test_raw_ip_in_ethernet_is_named(carry: Run, check: Check, name: str) -> None:
    for data in (pcap([RAW[name]] * 3), Pcapng().section().interface().packet(RAW[name]).bytes()):
        status, report = check(data)
        packets = report["packets"]
        assert (status, report["without"], report["raw_ip"]) == (CLEAN, packets, packets)
    done = carry("check", "-", stdin=pcap([RAW[name]] * 3))
    text = " ".join(done.stdout.split())
    assert (
        f"link type: 3 packets are said to be Ethernet, but IP without a link header, {ADVICE}"
        in text
    )
    assert text.endswith(
        "nothing was checked: packets are not of the link type that the capture claims"
    )
    one = " ".join(carry("check", "-", stdin=pcap([RAW[name], GOOD])).stdout.split())
    assert "link type: 1 packet is said to be Ethernet" in one


ARP = b"\xff" * 6 + b"\x02\0\0\0\0\x01\x08\x06" + bytes(46)

OTHERS = {
    "Ethernet": pcap([GOOD, ethernet(packet(TCP, **V6))]),
    "ARP": pcap([ARP]),
    "ARP to 45:00": pcap([b"\x45\0\0\x3c\0\0" + ARP[6:]]),
    "ARP to 60:00": pcap([b"\x60\0\0\0\0\x14" + b"\x06" + ARP[7:]]),
    "a wrong header": pcap([put16(packet(TCP, sums="bad"), 10, 1)]),
    "IPv6 with a wrong sum": pcap([packet(TCP, sums="bad", **V6)]),
    "IPv6 with a partial sum": pcap([packet(TCP, sums="partial", **V6)]),
    "cut": pcap([Record(packet(TCP)[:19], wire=100)]),
    "empty": pcap([b""]),
    "another link type": pcap([packet(TCP)], link=105),
    "raw": pcap([packet(TCP)], link=101),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_packets_are_not_raw_ip(carry: Run, check: Check, name: str) -> None:
    assert check(OTHERS[name])[1]["raw_ip"] == 0
    assert "link type:" not in carry("check", "-", stdin=OTHERS[name]).stdout


def test_random_frames_are_not_raw_ip(check: Check) -> None:
    dice = random.Random(1)
    first = (b"\x45", b"\x60")
    frames = [first[i % 2] + dice.randbytes(dice.randrange(100)) for i in range(20_000)]
    assert check(pcap(frames))[1]["raw_ip"] == 0


@pytest.mark.skipif(not shutil.which("editcap"), reason="editcap is not installed")
def test_the_advice_works(carry: Run, check: Check, tmp_path: Path) -> None:
    source, made = tmp_path / "a.pcap", tmp_path / "b.pcap"
    source.write_bytes(pcap([BAD4, packet(TCP, **V6)]))
    command = ["editcap", "-F", "pcap", "-T", "rawip", source, made]
    subprocess.run(command, check=True, timeout=600)
    status, report = check(made.read_bytes())
    assert (status, report["raw_ip"]) == (BAD, 0)
    assert report["protocols"]["udp"]["bad"] == report["protocols"]["tcp"]["good"] == 1
