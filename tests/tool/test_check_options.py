# SPDX-License-Identifier: MIT
"""Options of `carry check` choose what is checked, and what counts as wrong."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from captures import (
    GOOD,
    ICMP,
    PARTIAL,
    TCP,
    UDP,
    V6,
    WRONG,
    Record,
    ethernet,
    packet,
    pcap,
)
from carry_tool import BAD, CLEAN, DAMAGED, ERROR, SOURCE, Run
from schemas import conforming

pytestmark = pytest.mark.covers_capture


def test_count(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([GOOD, GOOD, WRONG]) + b"x")
    for count, packets, status in ((1, 1, CLEAN), (2, 2, CLEAN), (3, 3, BAD), (4, 3, DAMAGED)):
        done = carry("check", "--json", "-c", str(count), path, path)
        reports = [json.loads(line) for line in done.stdout.splitlines()]
        assert [report["packets"] for report in reports] == [packets] * 2
        assert done.returncode == status
    assert (
        "--count takes a number of at least 1, not '0'" in carry("check", "--count=0", path).stderr
    )


def test_proto(carry: Run, tmp_path: Path) -> None:
    """--proto checks only the named protocols, and refuses unknown ones."""
    path = tmp_path / "a.pcap"
    ping = ethernet(packet(ICMP, sums="bad"))
    path.write_bytes(pcap([GOOD, WRONG, ping, ethernet(packet(UDP))]))

    def protocols(*options: str) -> tuple[int, dict[str, Any], int]:
        done = carry("check", "--json", *options, path)
        report = json.loads(done.stdout)
        return done.returncode, sorted(report["protocols"]), report["packets"]

    assert protocols() == (BAD, ["icmp", "ip", "tcp", "udp"], 4)
    assert protocols("--proto=udp,ip") == (CLEAN, ["ip", "udp"], 4)
    assert protocols("-p", "icmp") == protocols("-p", "ICMP") == (BAD, ["icmp"], 4)
    lines = carry("check", "-b", "-p", "icmp", path).stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["3", "icmp"]]
    assert "without a checksum" not in carry("check", "-p", "icmp", path).stdout
    for value in ("nosuch", "", "tcp,", "tc", "tcp,,udp"):
        done = carry("check", "--proto", value, path)
        assert (done.returncode, done.stdout) == (ERROR, "")
        assert "no protocol '" in done.stderr
    _, known = carry("check", "--help").stdout.split("Protocols for --proto:")
    table = (SOURCE / "include/carry/protocols.def").read_text()
    names = re.findall(r'^CARRY_PROTOCOL\(\w+, "?(\w+)', table, re.MULTILINE)
    assert known.replace(",", "").split() == names
    assert protocols(f"--proto={','.join(names)}") == protocols()


def test_partial(carry: Run, tmp_path: Path) -> None:
    """--partial decides whether partial sums are listed, and whether they are wrong."""
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([GOOD, PARTIAL, PARTIAL, WRONG]))
    clean = tmp_path / "b.pcap"
    clean.write_bytes(pcap([GOOD, PARTIAL, PARTIAL]))
    for choice, listed, status in (("ok", 1, CLEAN), ("bad", 3, BAD), ("report", 3, CLEAN)):
        option = f"--partial={choice}"
        assert len(carry("check", option, "-b", path).stdout.splitlines()) == listed
        assert carry("check", option, clean).returncode == status
        assert carry("check", option, path).returncode == BAD
        assert carry("check", clean).stdout == carry("check", "--partial=ok", clean).stdout
    assert carry("check", "--partial=bad", path).stdout.endswith(
        "\n1 bad and 2 partial checksums\n"
    )
    illegal = pcap([WRONG, PARTIAL, ethernet(packet(UDP, sums="none", **V6))])
    assert carry("check", "--partial=bad", "-", stdin=illegal).stdout.endswith(
        "\n1 bad, 1 partial and 1 illegal checksums\n"
    )
    text = carry("check", "--partial=report", clean).stdout
    assert text.count(" (partial)\n") == 2
    assert text.endswith("\nclean, 2 left to transmit offload\n")
    (first, _) = carry("check", "--partial=report", "-bJ", clean).stdout.splitlines()
    assert json.loads(first)["verdict"] == "partial"
    assert json.loads(first)["expected"] == struct.unpack_from(">H", GOOD, 14 + 20 + 16)[0]
    done = carry("check", "--partial=no", path)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert "--partial takes ok, bad or report, not 'no'" in done.stderr


def test_udp_zero6(carry: Run) -> None:
    """--udp-zero6 decides whether UDP over IPv6 may lack a sum."""
    path = SOURCE / "examples/broken.pcap"
    for value, illegal, absent in (("illegal", 1, 1), ("ok", 0, 2)):
        done = carry("check", "--json", f"--udp-zero6={value}", path)
        udp = json.loads(done.stdout)["protocols"]["udp"]
        assert (udp["illegal"], udp["absent"]) == (illegal, absent)
    assert carry("check", "--udp-zero6=no", path).returncode == ERROR


def filled(protocol: int = TCP, **ends: str) -> bytes:
    """Returns a frame whose checksums hold 0."""
    frame = bytearray(ethernet(packet(protocol, sums="none", **ends)))
    if frame[14] >> 4 == 4:
        frame[24:26] = bytes(2)
    return bytes(frame)


def test_all_zero(carry: Run, tmp_path: Path) -> None:
    """--all-zero=ok accepts a capture in which every checksum is 0."""
    frames = [filled(), filled(protocol=UDP), filled(protocol=UDP, **V6), filled(**V6)]
    path, other = tmp_path / "zero.pcap", tmp_path / "other.pcap"
    path.write_bytes(pcap(frames))
    for options, status, outcome in (([], BAD, "wrong"), (["--all-zero=ok"], CLEAN, "unchecked")):
        done = carry("check", "--json", *options, path)
        report = conforming("check", done.stdout)
        assert (done.returncode, report["outcome"], report["all_zero"]) == (status, outcome, True)
        assert report["protocols"]["ip"]["bad"] == 2
        text = carry("check", *options, path).stdout
        assert text.count("every checksum is 0") == 1
    assert "nothing was checked: every checksum is 0" in text
    assert carry("check", "-q", "--all-zero=ok", "--strict", path).returncode == 4
    other.write_bytes(pcap([WRONG]))
    done = carry("check", "--all-zero=ok", path, other)
    assert done.returncode == BAD
    assert "; 1 in which every checksum is 0, accepted" in done.stdout
    assert carry("check", "--all-zero=ok", "--list-bad", tmp_path).stdout == f"{other}\n"
    assert carry("check", "-q", "--all-zero=ok", path, path).returncode == CLEAN
    assert carry("check", "--all-zero=no", path).returncode == ERROR


@pytest.mark.parametrize("other", [GOOD, WRONG, PARTIAL, ethernet(packet(TCP))[:40]])
def test_not_all_zero(carry: Run, other: bytes) -> None:
    """One checksum that is not 0, or not captured, makes --all-zero=ok refuse a capture."""
    data = pcap([filled(), Record(other, wire=60)])
    done = carry("check", "--json", "--all-zero=ok", "-", stdin=data)
    assert (done.returncode, conforming("check", done.stdout)["all_zero"]) == (BAD, False)


def test_no_tunnels(carry: Run, tmp_path: Path) -> None:
    """--no-tunnels checks only the outermost headers."""
    inner = bytes.fromhex("4500001400000000403b0000 0a000001 0a000002".replace(" ", ""))
    outer = bytes.fromhex("4500002800000000400400000a0000030a000004")
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([outer + inner], link=101))
    for options, bad in (([], 2), (["--no-tunnels"], 1)):
        done = carry("check", "--json", *options, path)
        assert json.loads(done.stdout)["protocols"]["ip"]["bad"] == bad


def test_help_lists_every_option(carry: Run) -> None:
    shown = carry("check", "--help").stdout
    page = (SOURCE / "docs/man/carry-check.1").read_text().replace("\\-", "-")
    for option in re.findall(
        r'\{"([a-z-]+)"', (SOURCE / "tools/carry/check/check_options.c").read_text()
    ):
        if option not in ("ok", "bad", "report"):
            assert f"--{option}" in shown
            assert f"--{option}" in page
