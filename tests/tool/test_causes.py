# SPDX-License-Identifier: MIT
"""Reports of more than a verdict: causes, the rule if a protocol has several rules, and foreign
formats."""

from __future__ import annotations

import shutil
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest
from captures import TCP, UDP, V6, Record, ethernet, finish, network, packet, pcap, put16
from carry_tool import BAD, CLEAN, DAMAGED, Check, Run
from schemas import conforming

pytestmark = pytest.mark.covers_capture

SCTP, PIM, OSPF, VRRP, ICMP = 132, 103, 89, 112, 1


def checksum(carry: Run, frame: bytes | Record, layer: int = -1) -> dict[str, Any]:
    done = carry("explain", "--json", "-", "1", stdin=pcap([frame]))
    return conforming("explain", done.stdout)["layers"][layer]["checksum"]


# --- Adler-32, which SCTP had before RFC 3309 ---


def sctp(payload: bytes = b"data", change: int = 0) -> bytes:
    head = struct.pack(">HHLL", 40000, 5001, 0x12345678, 0)
    chunk = struct.pack(">BBH", 0, 3, 4 + len(payload)) + payload
    sum_ = zlib.adler32(head + chunk) ^ change
    return ethernet(
        network("10.0.0.5", "10.0.0.9", SCTP, head[:8] + struct.pack(">L", sum_) + chunk)
    )


def test_adler32_is_named(check: Check, carry: Run) -> None:
    data = pcap([sctp(), sctp(b"x" * 6000), sctp(change=1), sctp(b"y" * 20)])
    status, report = check(data)
    assert (status, report["protocols"]["sctp"]["bad"]) == (BAD, 4)
    assert report["causes"] == {"sctp": {"adler32": 3}}
    words = " ".join(carry("check", "-", stdin=data).stdout.split())
    assert "; 3 of them verify as Adler-32, which SCTP had before RFC 3309" in words
    lines = carry("check", "-bJ", "-", stdin=data).stdout.splitlines()
    causes = [conforming("check_bad_only", line)["cause"] for line in lines]
    assert causes == ["adler32", "adler32", None, "adler32"]
    found = checksum(carry, sctp())
    assert (found["verdict"], found["cause"]) == ("bad", "adler32")
    assert "Adler-32" in found["why"]


def test_adler32_is_repaired_only_on_request(carry: Run, tmp_path: Path) -> None:
    source, copy = tmp_path / "a.pcap", tmp_path / "b.pcap"
    source.write_bytes(pcap([sctp(), sctp(change=1)]))
    done = carry("fix", "--json", source, "-o", copy)
    report = conforming("fix", done.stdout)
    assert (done.returncode, report["repaired"]["sctp"]["bad"]) == (BAD, 1)
    assert report["left"]["sctp"]["bad"] == 1
    assert [reason["reason"] for reason in report["reasons"]] == ["adler32"]
    assert carry("check", "-q", copy).returncode == BAD
    assert sctp() in copy.read_bytes()
    done = carry("fix", "--only=bad", source, "-o", copy)
    assert (done.returncode, carry("check", "-q", copy).returncode) == (CLEAN, CLEAN)


# --- The rule that decides ---


def pim(kind: int, body: bytes, covered: int) -> bytes:
    message = struct.pack(">BBH", kind, 0, 0) + body
    message = put16(message, 2, finish(message[:covered]))
    return ethernet(network("10.0.0.5", "10.0.0.9", PIM, message))


def vrrp(head: bytes) -> bytes:
    message = struct.pack(">BBBBHH", 0x31, 1, 100, 1, 100, 0) + bytes((10, 0, 0, 1))
    message = put16(message, 6, finish(head + message))
    return ethernet(network("10.0.0.5", "224.0.0.18", VRRP, message))


PSEUDO = bytes((10, 0, 0, 5, 224, 0, 0, 18, 0, VRRP, 0, 12))
INNER = bytes(4) + packet(TCP)


@pytest.mark.parametrize(
    ("frame", "verdict", "rule"),
    [
        (pim(0x21, INNER, 8), "good", "covers its header, not the packet in it"),
        (pim(0x21, INNER, 4 + len(INNER)), "good", "may also cover the packet in it"),
        (pim(0x20, INNER, 4 + len(INNER)), "good", None),
        (vrrp(PSEUDO), "good", "version 3 has a pseudo-header"),
        (vrrp(b""), "good", "may omit the pseudo-header"),
        (
            ethernet(packet(UDP, b"\0" * 16, ports=(4789, 4789), sums="none", **V6)),
            "absent",
            "6935",
        ),
        (ethernet(packet(UDP, sums="none", **V6)), "illegal", "only tunnels"),
        (ethernet(packet(UDP, sums="none")), "absent", None),
        (ethernet(packet(TCP)), "good", None),
        (sctp(change=1), "bad", None),
    ],
    ids=[
        "pim-header",
        "pim-whole",
        "pim-other",
        "vrrp-pseudo",
        "vrrp-plain",
        "udp6-tunnel",
        "udp6-other",
        "udp4",
        "tcp",
        "sctp",
    ],
)
def test_rules(carry: Run, frame: bytes, verdict: str, rule: str | None) -> None:
    """If a protocol has several rules, the rule that decides the verdict is named."""
    found = checksum(carry, frame, 2)
    assert found["verdict"] == verdict
    assert (found["rule"] or "") == "" if rule is None else rule in found["rule"]
    text = " ".join(carry("explain", "-", "1", stdin=pcap([frame])).stdout.split())
    assert not rule or rule in text


def test_an_authenticated_packet_needs_no_sum(carry: Run) -> None:
    ospf = struct.pack(">BBH4s4sHH", 2, 1, 24, bytes(4), bytes(4), 0, 2) + bytes(8)
    found = checksum(carry, ethernet(network("10.0.0.5", "10.0.0.9", OSPF, ospf)))
    assert (found["verdict"], "authentication" in found["rule"]) == ("absent", True)


def test_truncated_packet_may_verify(carry: Run) -> None:
    """A report on a truncated packet says whether the remaining bytes verify by themselves: some
    senders of ICMP truncate a packet, and sum only these bytes."""
    message = struct.pack(">BBHL", 8, 0, 0, 1) + b"payload!" * 6
    message = put16(message, 2, finish(message))
    long = network("10.0.0.5", "10.0.0.9", ICMP, message + bytes(100))
    cut = ethernet(long[: 20 + len(message)])
    found = checksum(carry, cut)
    assert (found["verdict"], found["reason"]) == ("unverifiable", "length")
    assert found["why"].endswith("the bytes on the wire verify by themselves")
    other = checksum(carry, put16(cut, len(cut) - 2, 1))
    assert other["why"].endswith("or the enclosing packet")


# --- Foreign files ---


EDITCAP = "convert it with editcap -F pcap"
FOREIGN = {
    "netxray": (b"XCP\0002.002\0", f"a NetXray or Windows Sniffer file: {EDITCAP}"),
    "ngsniffer": (b"TRSNIFF data    \x1a", f"a DOS Sniffer file: {EDITCAP}"),
    "iptrace": (b"iptrace 2.0", f"an iptrace file: {EDITCAP}"),
}


def etl(bits: int, kind: int = 4, flags: int = 0xC0, event: int = 0) -> bytes:
    """Returns the beginning of an event trace: the header of its first buffer, and an event."""
    buffer = struct.pack("<LLL40xHH16x", 0x10000, 0x500, 0x500, 1, kind)
    header = struct.pack("<HBBHHLLQ", 2, bits // 32, flags, 0x300, event, 4, 4, 0)
    return buffer + header + bytes(0x10000 - len(buffer) - len(header))


PKTMON = (
    "an event trace of Windows: on Windows, convert it with pktmon etl2pcap (or etl2pcapng, if "
    "netsh trace wrote it)"
)
FOREIGN |= {f"etl{bits}": (etl(bits), PKTMON) for bits in (32, 64)}


@pytest.mark.parametrize(
    "data",
    [etl(64, kind=0), etl(96), etl(64, flags=0x80), etl(64, event=1), etl(64)[:0x4F]],
    ids=["no file header", "bits", "flags", "event", "cut"],
)
def test_other_files_are_not_mistaken_for_event_traces(check: Check, data: bytes) -> None:
    status, report = check(data)
    assert (status, report["damage"]["reason"][:29]) == (DAMAGED, "not a capture: it starts with")


def test_event_traces_in_a_folder_are_skipped(carry: Run, tmp_path: Path) -> None:
    """Event traces in a folder are skipped, because most of them hold no packets."""
    (tmp_path / "boot.etl").write_bytes(etl(64))
    (tmp_path / "a.pcap").write_bytes(pcap([ethernet(packet(TCP))]))
    done = carry("check", tmp_path)
    assert done.returncode == CLEAN
    assert "1 other file skipped" in done.stdout


@pytest.mark.parametrize("name", FOREIGN)
def test_foreign_formats_are_named(check: Check, name: str) -> None:
    data, what = FOREIGN[name]
    status, report = check(data)
    assert status == DAMAGED
    assert report["damage"] == {"offset": 0, "reason": f"not a capture but {what}"}


@pytest.mark.skipif(not shutil.which("editcap"), reason="editcap is not installed")
@pytest.mark.parametrize("name", ["ngsniffer", "ngwsniffer_1_1", "ngwsniffer_2_0"])
def test_the_advice_works(carry: Run, tmp_path: Path, name: str) -> None:
    """The formats of files that editcap writes are named, and files that it converts back are
    read."""
    source, foreign, back = (tmp_path / part for part in ("a.pcap", "foreign", "back.pcap"))
    source.write_bytes(pcap([ethernet(packet(TCP))] * 3))
    made = subprocess.run(
        ["editcap", "-F", name, source, foreign], capture_output=True, timeout=600
    )
    if made.returncode:
        pytest.skip(f"editcap makes no {name}")
    report = conforming("check", carry("check", "--json", foreign).stdout)
    assert EDITCAP in report["damage"]["reason"]
    subprocess.run(["editcap", "-F", "pcap", foreign, back], check=True, timeout=600)
    assert carry("check", "-q", back).returncode == CLEAN
