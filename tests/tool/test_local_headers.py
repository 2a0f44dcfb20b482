# SPDX-License-Identifier: MIT
"""IPv4 header checksums of 0 in packets that stay on their machine, where nothing verifies them."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest
from captures import TCP, ethernet, finish, network, packet, pcap, put16
from carry_tool import BAD, CLEAN, Check, Run
from schemas import conforming

pytestmark = pytest.mark.covers_capture

ENDS = ("192.0.2.1", "192.0.2.2")


def looped(src: str, dst: str, link: int = 0, protocol: int = TCP) -> bytes:
    """Returns a packet of a loopback device, with 0 in the checksum of the IPv4 header."""
    ip = put16(packet(protocol, src=src, dst=dst), 10, 0)
    return struct.pack("<L" if link == 0 else ">L", 2) + ip


LOCAL = {
    "127": pcap([looped("127.0.0.1", "127.0.0.1")] * 3, link=0),
    "to itself": pcap([ethernet(put16(packet(TCP, src=ENDS[0], dst=ENDS[0]), 10, 0))] * 3),
    "127 on ethernet": pcap([ethernet(looped("127.0.0.1", "127.1.2.3")[4:])] * 3),
    "null": pcap([looped(*ENDS)] * 3, link=0),
    "loop": pcap([looped(*ENDS, link=108)] * 3, link=108),
}


@pytest.mark.parametrize("name", LOCAL)
def test_local_headers_are_partial(carry: Run, check: Check, tmp_path: Path, name: str) -> None:
    """Headers that stay on their machine are partial: nothing verifies them, and some systems leave
    their checksums 0."""
    status, report = check(LOCAL[name])
    assert (status, report["causes"]) == (CLEAN, {"ip": {"local": 3}})
    assert report["protocols"]["ip"]["partial"] == 3
    done = carry("check", "-bJ", "--partial=report", "-", stdin=LOCAL[name])
    found = [conforming("check_bad_only", line) for line in done.stdout.splitlines()]
    assert [(one["verdict"], one["cause"]) for one in found] == [("partial", "local")] * 3
    shown = carry("explain", "--json", "-", "2", stdin=LOCAL[name])
    layers = conforming("explain", shown.stdout)["layers"]
    assert (layers[1]["checksum"]["verdict"], layers[1]["checksum"]["cause"]) == (
        "partial",
        "local",
    )
    source, copy = tmp_path / "a.pcap", tmp_path / "b.pcap"
    source.write_bytes(LOCAL[name])
    for only, repaired in (("partial", 3), ("bad", 0), ("bad,partial", 3)):
        done = carry("fix", "--json", source, "-o", copy, "--only", only)
        fixed = conforming("fix", done.stdout)
        assert done.returncode == CLEAN
        assert fixed["repaired"] == ({"ip": {"partial": 3}} if repaired else {})
        assert fixed["left"] == ({} if repaired else {"ip": {"partial": 3}})
        after = json.loads(carry("check", "--json", copy).stdout)["protocols"]["ip"]
        assert (after["good"], after["partial"]) == (repaired, 3 - repaired)


@pytest.mark.parametrize(
    "data",
    [
        pcap([ethernet(put16(packet(TCP), 10, 0))]),
        pcap([ethernet(put16(packet(TCP, src="127.0.0.1"), 10, 0))]),
        pcap([ethernet(put16(packet(TCP, src="0.0.0.0", dst="0.0.0.0"), 10, 0))]),
        pcap([put16(looped(*ENDS), 14, 1)], link=0),
        pcap(
            [struct.pack("<L", 2) + network(*ENDS, 4, put16(packet(TCP), 10, 0))],
            link=0,
        ),
    ],
    ids=["other", "from 127", "no addresses", "not 0", "in a tunnel"],
)
def test_near_misses_of_local_headers(check: Check, data: bytes) -> None:
    status, report = check(data)
    assert (status, report["protocols"]["ip"]["bad"]) == (BAD, 1)


def test_local_headers_show_nothing_of_their_sender(check: Check) -> None:
    """A local header does not show that its sender leaves header sums to a card: a header of 0 that
    the same address sends to another machine is bad."""
    frames = [ethernet(put16(packet(TCP, dst=dst), 10, 0)) for dst in ("10.0.0.5", "10.0.0.9")]
    assert check(pcap(frames))[1]["causes"] == {"ip": {"local": 1, "zero": 1}}


def test_local_headers_in_datagrams(check: Check, carry: Run, tmp_path: Path) -> None:
    """A local header in a tunnel whose packets came in fragments is judged and repaired as well."""
    inner = put16(packet(TCP, b"x" * 32, src="127.0.0.1", dst="127.0.0.1"), 10, 0)
    frames = []
    for at, end in ((0, 16), (16, len(inner))):
        part = network(*ENDS, 4, inner[at:end])
        part = put16(put16(part, 6, at // 8 | (0x2000 if end < len(inner) else 0)), 10, 0)
        frames.append(ethernet(put16(part, 10, finish(part[:20]))))
    source, copy = tmp_path / "a.pcap", tmp_path / "b.pcap"
    source.write_bytes(pcap(frames))
    status, report = check(pcap(frames))
    assert (status, report["causes"]) == (CLEAN, {"ip": {"local": 1}})
    for only, good in (("partial", 3), ("bad", 2)):
        done = carry("fix", source, "-o", copy, "--only", only)
        assert done.returncode == CLEAN
        after = json.loads(carry("check", "--json", copy).stdout)["protocols"]["ip"]
        assert (after["good"], after["partial"]) == (good, 3 - good)
