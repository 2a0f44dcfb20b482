# SPDX-License-Identifier: MIT
"""Causes that the values of a flow's bad checksums show together, and near misses.

The checksums of a rewritten flow are all off by one difference. The checksums of these flows all
hold one value instead, or one value plus the length.
"""

from __future__ import annotations

import json
import random
import struct
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from captures import TCP, UDP, Record, ethernet, finish, network, packet, pcap, pseudo, put16
from carry_tool import BAD, Check, Run
from schemas import conforming

pytestmark = pytest.mark.covers_capture

OLD, NEW = ("10.1.1.1", "10.1.1.2"), ("192.0.2.1", "192.0.2.2")
SIZES = (4, 0, 20, 33, 500)
VRRP, PIM = 112, 103


def payload(number: int, size: int) -> bytes:
    """Returns bytes that differ in each packet, if there are any."""
    return bytes((number * 37 + at * 11) & 0xFF for at in range(size))


def numbered(ip: bytes, number: int, header: int | None = None) -> bytes:
    """Returns a frame whose IPv4 header has the identification `number`, and the checksum `header`
    (by default, the right one)."""
    ip = put16(put16(ip, 4, number), 10, 0)
    return ethernet(put16(ip, 10, finish(ip[:20]) if header is None else header))


def moved(
    sizes: Sequence[int] = SIZES,
    *,
    protocol: int = TCP,
    header: int | None = None,
    ports: tuple[int, int] = (40000, 80),
    ends: Sequence[str] = OLD,
    to: Sequence[str] = NEW,
) -> list[bytes]:
    """Returns packets whose checksums were left to a card before their addresses were changed."""
    frames = []
    for number, size in enumerate(sizes):
        ip = packet(
            protocol, payload(number, size), src=ends[0], dst=ends[1], ports=ports, sums="partial"
        )
        frames.append(numbered(network(*to, protocol, ip[20:]), number, header))
    return frames


def constant(
    value: int,
    sizes: Sequence[int] = (10, 20, 30, 40),
    *,
    protocol: int = UDP,
    same: bool = False,
) -> list[bytes]:
    """Returns packets that all hold this checksum."""
    frames = []
    for number, size in enumerate(sizes):
        ip = packet(protocol, payload(0 if same else number, size), ports=(26898, 4789))
        frames.append(numbered(put16(ip, 26 if protocol == UDP else 36, value), number))
    return frames


def advertisement(number: int, to: str = "10.1.0.2", summed: str = "10.1.0.1") -> bytes:
    """Returns a VRRP message that is summed for another address than it is sent to."""
    message = struct.pack(">BBBBHH", 0x31, 2, 150, 1, 100, 0) + bytes((192, 0, 2, 99))
    head = pseudo("10.1.0.3", summed, VRRP, len(message))
    message = put16(message, 6, finish(head + message))
    return numbered(network("10.1.0.3", to, VRRP, message), number)


def shown(check: Check, frames: Sequence[bytes | Record]) -> dict[str, dict[str, int]]:
    causes: dict[str, dict[str, int]] = check(pcap(frames))[1]["causes"]
    return causes


def lines(carry: Run, frames: Sequence[bytes], protocol: str) -> list[str | None]:
    done = carry("check", "-bJ", "-", stdin=pcap(frames))
    found = [conforming("check_bad_only", line) for line in done.stdout.splitlines()]
    return [line["cause"] for line in found if line["protocol"] == protocol]


def explained(carry: Run, frames: Sequence[bytes], number: int, layer: int) -> dict[str, Any]:
    done = carry("explain", "--json", "-", str(number), stdin=pcap(frames))
    checksum: dict[str, Any] = conforming("explain", done.stdout)["layers"][layer]["checksum"]
    return checksum


GOOD = ethernet(packet(TCP, b"good", src=NEW[0], dst=NEW[1], ports=(40000, 80)))
GOOD_UDP = ethernet(packet(UDP, b"good", ports=(26898, 4789)))


# --- Checksums left to a card, then addresses changed ---


@pytest.mark.parametrize("protocol", [TCP, UDP])
def test_left_then_changed(check: Check, carry: Run, protocol: int) -> None:
    """A partial checksum of former addresses is a constant plus the length of the payload of IP."""
    name = "tcp" if protocol == TCP else "udp"
    frames = moved(protocol=protocol)
    assert shown(check, frames) == {name: {"left_then_changed": 5}}
    assert lines(carry, frames, name) == [None, None] + ["left_then_changed"] * 3
    for number in (1, 5):
        found = explained(carry, frames, number, -1)
        assert (found["verdict"], found["cause"]) == ("bad", "left_then_changed")
        assert "tx off" in found["advice"]


def test_left_then_changed_over_ipv6(check: Check) -> None:
    """IPv6 addresses that replaced IPv4 addresses (NAT64) do not change the cause."""
    frames = []
    for number, size in enumerate(SIZES):
        ip = packet(TCP, payload(number, size), src=OLD[0], dst=OLD[1], sums="partial")
        frames.append(ethernet(network("2001:db8::1", "2001:db8::2", TCP, ip[20:])))
    assert shown(check, frames) == {"tcp": {"left_then_changed": 5}}


def wrong(frames: list[bytes], by: int = 1) -> list[bytes]:
    """Returns the frames, with another checksum in the last one."""
    at = 14 + 36
    (stored,) = struct.unpack(">H", frames[-1][at : at + 2])
    return [*frames[:-1], put16(frames[-1], at, (stored + by) & 0xFFFF)]


@pytest.mark.parametrize(
    "frames",
    [
        moved(SIZES[:2]),
        moved([20] * 5),
        moved(SIZES[:1]) * 5,
        [*moved(), GOOD],
        wrong(moved(), 1),
        wrong(moved(), 300),
        moved(SIZES[:1], ports=(1, 80)) + moved(SIZES[:1], ports=(2, 80)),
        [frame for port in range(5) for frame in moved([20], ports=(port, 80))],
        [
            frame
            for port in range(5)
            for frame in moved([20 + port], ports=(port, 80), ends=("10.1.1.1", f"10.1.1.{port}"))
        ],
        constant(0x1357, protocol=TCP),
    ],
    ids=[
        "few",
        "one length",
        "the same",
        "good",
        "off by 1",
        "off by 300",
        "two ports",
        "ports of one length",
        "former addresses",
        "constant",
    ],
)
def test_near_misses_of_left_then_changed(check: Check, frames: list[bytes]) -> None:
    assert "left_then_changed" not in json.dumps(shown(check, frames))


def test_flows_of_one_length_agree(check: Check, carry: Run) -> None:
    """Each flow has packets of one length, but the lengths differ between flows."""
    frames = moved([20] * 2, ports=(1, 80)) + moved([33], ports=(2, 80))
    assert shown(check, frames) == {"tcp": {"left_then_changed": 3}}
    assert lines(carry, frames, "tcp") == [None, None, "left_then_changed"]
    assert explained(carry, frames, 1, -1)["cause"] == "left_then_changed"
    frames = moved([20] * 2) + moved([20], protocol=UDP) + moved([9], protocol=UDP, ports=(1, 2))
    assert shown(check, frames) == {
        "tcp": {"left_then_changed": 2},
        "udp": {"left_then_changed": 2},
    }


# --- IPv4 headers of packets with changed addresses ---


def test_headers_of_0_were_left_as_well(check: Check, carry: Run) -> None:
    frames = moved(header=0)
    both = {"left_then_changed": 5}
    assert shown(check, frames) == {"ip": both, "tcp": both}
    assert lines(carry, frames, "ip") == ["zero"] * 3 + ["left_then_changed"] * 2
    for number in (1, 5):
        assert explained(carry, frames, number, 1)["cause"] == "left_then_changed"
    text = " ".join(carry("check", "-n9", "-", stdin=pcap(frames)).stdout.split())
    assert "never filled in" not in text


def test_flows_between_two_addresses_explain_their_headers(check: Check) -> None:
    """Flows of all protocols and ports between two addresses share the sum of the former
    addresses."""
    frames = moved(SIZES[:3], header=0) + moved(header=0, protocol=UDP, ports=(5, 6))
    assert shown(check, frames)["ip"] == {"left_then_changed": 8}
    other = moved(header=0, ports=(5, 6), ends=("10.1.1.1", "10.1.1.3"))
    causes = shown(check, moved(header=0) + other)
    assert causes == {"ip": {"zero": 10}, "tcp": {"left_then_changed": 10}}


def alone(number: int) -> bytes:
    return numbered(packet(TCP, b"good", src=NEW[0], dst=NEW[1], ports=(1, 2)), number, 0)


@pytest.mark.parametrize(
    "frames",
    [
        moved(SIZES[:2], header=0),
        [*moved(header=0), alone(9)],
        [alone(9), *moved(header=0)],
        [*moved(header=0), GOOD],
        [alone(number) for number in range(6)],
        wrong(moved(header=0), 300),
    ],
    ids=["few", "good content", "good before", "good flow", "no flow", "differs"],
)
def test_near_misses_of_headers(check: Check, frames: list[bytes]) -> None:
    assert shown(check, frames)["ip"].keys() == {"zero"}


@pytest.mark.parametrize("place", [0, 3, 5])
def test_headers_that_the_sender_leaves_stay_partial(check: Check, carry: Run, place: int) -> None:
    """If other packets of the sender show that headers are partial, their cause is by_sender,
    whatever their flow shows."""
    frames = moved(header=0)
    left = packet(TCP, src=NEW[0], dst="10.0.0.9", sums="partial")
    frames.insert(place, ethernet(put16(left, 10, 0)))
    status, report = check(pcap(frames))
    assert report["causes"]["ip"] == {"beside_partial": 1, "by_sender": 5}
    assert report["causes"]["tcp"] == {"offload": 1, "left_then_changed": 5}
    assert (status, report["protocols"]["ip"]["bad"]) == (BAD, 0)
    assert explained(carry, frames, 2 if place == 0 else 1, 1)["cause"] == "by_sender"


# --- Checksums of 0 that NAT updated ---


@pytest.mark.parametrize(
    ("value", "sizes"), [(0xFFFF, (10, 20, 30)), (0xA81F, (10, 20, 30)), (0xFFFF, (20, 20, 20))]
)
def test_none_updated(check: Check, carry: Run, value: int, sizes: Sequence[int]) -> None:
    frames = constant(value, sizes)
    assert shown(check, frames) == {"udp": {"none_updated": 3}}
    first = "twice" if value == 0xFFFF else None  # two packets do not refute "twice"
    assert lines(carry, frames, "udp") == [first, first, "none_updated"]
    found = explained(carry, frames, 1, 2)
    assert (found["cause"], "tx-checksum-ip-generic" in found["advice"]) == ("none_updated", True)


@pytest.mark.parametrize(
    "frames",
    [
        constant(0xFFFF, (20, 20, 20), same=True),
        constant(0xA81F, (20, 20, 20)),
        constant(0xFFFF, (10, 20)),
        [*constant(0xFFFF), GOOD_UDP],
        constant(0xFFFF) + constant(0xFFFE),
        constant(0xFFFF, protocol=TCP),
    ],
    ids=["same content", "one length", "few", "good", "another", "tcp"],
)
def test_near_misses_of_none_updated(check: Check, frames: list[bytes]) -> None:
    assert "none_updated" not in json.dumps(shown(check, frames))


def test_sums_computed_twice_are_not_called_repeated(check: Check) -> None:
    """A message that is sent again with 0xffff keeps the cause `twice`, although its checksum is
    off by the same difference each time."""
    assert shown(check, constant(0xFFFF, (20, 20, 20), same=True)) == {"udp": {"twice": 3}}


# --- One value, whatever the packets hold ---


def test_constant(check: Check, carry: Run) -> None:
    """A value in packets of one length may be the sum of a pseudo-header, or anything else."""
    for frames in (moved([20] * 9), constant(0x1357, (10, 20, 30) * 3, protocol=TCP)):
        assert shown(check, frames) == {"tcp": {"constant": 9}}
        assert lines(carry, frames, "tcp") == [None] * 7 + ["constant"] * 2
        assert explained(carry, frames, 1, -1)["cause"] == "constant"
    frames = [frame for port in range(4) for frame in moved([20], ports=(port, 80))]
    assert shown(check, frames) == {"tcp": {"constant": 4}}
    assert shown(check, constant(0xA81F, [20] * 8)) == {"udp": {"constant": 8}}


def test_headers_of_0_before_constant_sums(check: Check) -> None:
    both = {"constant": 8}
    assert shown(check, moved([20] * 8, header=0)) == {"ip": both, "tcp": both}


@pytest.mark.parametrize("value", [0x5678, 0x0040])
def test_headers_with_one_value(check: Check, value: int) -> None:
    """A sum that is copied with its header is right for one identification only."""
    frames = [numbered(packet(TCP, b"data"), 7 * number, value) for number in range(8)]
    assert shown(check, frames) == {"ip": {"constant": 8}}


@pytest.mark.parametrize(
    "frames",
    [
        moved([20] * 7),
        moved([20]) * 9,
        moved([20] * 2) * 5,
        [*moved([20] * 9), GOOD],
        wrong(moved([20] * 9)),
        constant(0x1357, [20] * 9, protocol=TCP, same=True),
        [frame for port in range(4) for frame in moved([20], ports=(port, 53), protocol=UDP)],
        [frame for end in range(4) for frame in moved([20], to=(NEW[0], f"192.0.2.{end}"))],
    ],
    ids=["few", "the same", "two packets", "good", "differs", "same content", "udp", "receivers"],
)
def test_near_misses_of_constant(check: Check, frames: list[bytes]) -> None:
    assert "constant" not in json.dumps(shown(check, frames))


# --- Repeated messages ---


def test_repeated(check: Check, carry: Run) -> None:
    """A message summed for another address has the same bad checksum each time."""
    frames = [advertisement(number) for number in range(4)]
    assert shown(check, frames) == {"vrrp": {"repeated": 4}}
    assert lines(carry, frames, "vrrp") == ["one_bit", "one_bit", "repeated", "repeated"]
    found = explained(carry, frames, 1, -1)
    assert (found["cause"], found["bit"]) == ("repeated", None)


def hello(second: float) -> Record:
    """Returns a PIM message over IPv6 that was sent at `second`. Its checksum is computed for
    another address."""
    message, ends = struct.pack(">BBHHHL", 0x20, 0, 0, 20, 4, 77), ("fe80::3", "ff02::d")
    head = pseudo(ends[0], "ff02::e", PIM, len(message))
    message = put16(message, 2, finish(head + message))
    frame = ethernet(network(*ends, PIM, message))
    return Record(frame, seconds=1_700_000_000 + int(second), fraction=int(second % 1 * 1e6))


def test_repeated_at_other_times(check: Check) -> None:
    """IPv6 packets have no identification. Equal packets that are captured more than a second apart
    were sent separately."""
    assert shown(check, [hello(second) for second in (0, 30, 60)]) == {"pim": {"repeated": 3}}
    assert shown(check, [hello(second) for second in (0, 0.5, 60, 60.1)]) == {"pim": {"one_bit": 4}}


@pytest.mark.parametrize(
    "frames",
    [
        [advertisement(number) for number in range(2)],
        [advertisement(1)] * 5,
        [advertisement(number % 2) for number in range(5)],
        [*(advertisement(number) for number in range(4)), advertisement(5, "10.1.0.2", "10.1.0.2")],
        [advertisement(number, summed=f"10.1.0.{number + 3}") for number in range(4)],
    ],
    ids=["few", "captured again", "two packets", "good", "differs"],
)
def test_near_misses_of_repeated(check: Check, frames: list[bytes]) -> None:
    assert "repeated" not in json.dumps(shown(check, frames))


# --- All causes together ---


def mixture(dice: random.Random) -> list[bytes]:
    """Returns packets between few ends, with sums of each kind that flows may explain."""
    differences = [dice.randrange(3, 65_000) for _ in range(6)] + [0x40]
    frames = []
    for number in range(dice.randrange(20, 60)):
        protocol = dice.choice((TCP, UDP))
        ends = (dice.choice(OLD), dice.choice(NEW))
        ports = (dice.randrange(1, dice.choice((3, 40))), 53)
        at = 36 if protocol == TCP else 26
        size = dice.choice((4, 20))
        ip = packet(protocol, dice.randbytes(size), src=ends[0], dst=ends[1], ports=ports)
        kind, by = dice.choice(("one", "both", "value", "left", "good")), dice.choice(differences)
        for place in {"one": (at,), "both": (10, at)}.get(kind, ()):
            ip = put16(ip, place, (int.from_bytes(ip[place : place + 2], "big") + by) % 0xFFFF)
        if kind == "value":
            ip = put16(ip, at, dice.choice((0xFFFF, 0x1357)))
        frames.append(
            moved([size], protocol=protocol, ports=ports, to=ends, header=dice.choice((0, None)))[0]
            if kind == "left"
            else ethernet(put16(ip, 4, number) if kind == "value" else ip)
        )
    return frames


@pytest.mark.parametrize("seed", range(4))
def test_counts_are_those_of_the_packets(check: Check, carry: Run, seed: int) -> None:
    """Each checksum is counted for the cause that is explained, whatever was forgotten."""
    frames = mixture(random.Random(seed))
    found: Counter[tuple[str, str]] = Counter()
    for number in range(1, len(frames) + 1):
        done = carry("explain", "--json", "-", str(number), stdin=pcap(frames))
        for layer in conforming("explain", done.stdout)["layers"]:
            if layer.get("checksum") and layer["checksum"]["cause"]:
                found[layer["protocol"], layer["checksum"]["cause"]] += 1
    causes = shown(check, frames)
    assert found == {(name, cause): n for name, of in causes.items() for cause, n in of.items()}


def test_threads_and_places_do_not_matter(carry: Run, tmp_path: Path) -> None:
    """Reports and written packets are the same for any number of threads, even if there are more
    flows than the tables hold."""
    path, bad = tmp_path / "a.pcap", tmp_path / "bad.pcap"
    frames = []
    for index in range(400):
        to = (f"192.0.{index % 7}.{index % 251}", "192.0.2.2")
        frames += moved(header=0 if index % 3 else None, ports=(index + 1, 80), to=to)
        frames += constant(0xFFFF) if index % 50 == 0 else [advertisement(index)]
    path.write_bytes(pcap(frames))
    seen = set()
    for threads in (1, 2, 3, 8):
        bad.unlink(missing_ok=True)
        done = carry("check", "-bJ", f"-j{threads}", "-w", bad, path)
        report = carry("check", "--json", f"-j{threads}", path).stdout
        seen.add((done.stdout, report, bad.read_bytes()))
    assert len(seen) == 1
    assert '"left_then_changed":' in seen.pop()[1]
