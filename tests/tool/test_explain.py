# SPDX-License-Identifier: MIT
"""`carry explain`: its report on one frame."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from captures import (
    GOOD,
    TCP,
    UDP,
    V6,
    WRONG,
    Pcapng,
    Record,
    ethernet,
    fold,
    network,
    packet,
    pcap,
    pseudo,
)
from carry_tool import BAD, CLEAN, DAMAGED, ERROR, Run
from schemas import conforming
from test_reassemble import datagram, fragments, raw

pytestmark = pytest.mark.covers_capture

START = 24 + 16  # offset of the first frame in a pcap file


def explain(carry: Run, data: bytes, frame: int = 1) -> tuple[int, dict[str, Any]]:
    done = carry("explain", "--json", "-", str(frame), stdin=data)
    assert done.stderr == ""
    return done.returncode, conforming("explain", done.stdout)


def names(report: dict[str, Any]) -> list[str]:
    return [layer["protocol"] for layer in report["layers"]]


def test_each_layer_and_its_checksum(carry: Run) -> None:
    """Each layer is reported with its place, and with everything that decides its checksum."""
    status, report = explain(carry, pcap([GOOD, Record(WRONG, fraction=5)]), 2)
    at = START + len(GOOD) + 16
    assert status == BAD
    assert {key: report[key] for key in report if key != "layers"} == {
        "schema": 1,
        "file": "-",
        "frame": 2,
        "time": "2023-11-14T22:13:20.000005000Z",
        "offset": at,
        "captured": len(WRONG),
        "wire": len(WRONG),
        "linktype": 1,
        "datagrams": [],
    }
    link, ip, tcp = report["layers"]
    assert link == {"protocol": "ethernet", "at": 0, "checksum": None}
    assert (ip["protocol"], ip["at"], ip["checksum"]["verdict"]) == ("ip", 14, "good")
    assert ip["checksum"]["pseudo"] is None
    assert (tcp["protocol"], tcp["at"]) == ("tcp", 34)
    right = int.from_bytes(GOOD[50:52], "big")
    assert tcp["checksum"] == {
        "verdict": "bad",
        "reason": None,
        "why": "it does not match the bytes that it covers",
        "stored": right ^ 0x1234,
        "expected": right,
        "size": 2,
        "at": 50,
        "offset": at + 50,
        "covers_at": 34,
        "covers_size": 28,
        "gap": None,
        "pseudo": {
            "protocol": 6,
            "size": 28,
            "sum": fold(pseudo("10.0.0.5", "10.0.0.9", TCP, 28)),
        },
        "quoted": False,
        "cause": None,
        "rule": None,
        "certain": None,
        "bit": None,
        "advice": None,
    }


@pytest.mark.parametrize(
    ("frame", "verdict", "reason", "known", "why"),
    [
        (GOOD, "good", None, True, "matches"),
        (ethernet(packet(TCP, sums="none")), "bad", None, True, "never filled in"),
        (ethernet(packet(TCP, sums="partial")), "partial", None, True, "transmit offload"),
        (ethernet(packet(UDP, sums="none")), "absent", None, False, "chose to send none"),
        (ethernet(packet(UDP, sums="none", **V6)), "illegal", None, True, "demands one"),
        (Record(GOOD, 100), "good", None, True, "matches"),
        (Record(GOOD[:61], 62), "unverifiable", "snaplen", False, "cut off"),
    ],
)
def test_explanation_names_the_reason(
    carry: Run, frame: bytes | Record, verdict: str, reason: str | None, known: bool, why: str
) -> None:
    """The explanation of a verdict names its reason."""
    _, report = explain(carry, pcap([frame]))
    checksum = report["layers"][-1]["checksum"]
    assert (checksum["verdict"], checksum["reason"]) == (verdict, reason)
    assert (checksum["expected"] is not None) == known
    assert why in checksum["why"]


def test_headers_without_a_checksum_are_layers_too(carry: Run) -> None:
    inner = packet(TCP, **V6)
    status, report = explain(carry, pcap([ethernet(network("10.0.0.1", "10.0.0.2", 41, inner))]))
    assert (status, names(report)) == (CLEAN, ["ethernet", "ip", "ipv6", "tcp"])
    assert [layer["at"] for layer in report["layers"]] == [0, 14, 34, 74]
    assert [layer["checksum"] is None for layer in report["layers"]] == [True, False, True, False]


def test_same_protocol_twice(carry: Run) -> None:
    """Both headers of the same protocol have a verdict of their own."""
    inner = bytearray(packet(TCP))
    inner[10] ^= 1
    outer = network("10.0.0.1", "10.0.0.2", 4, bytes(inner))
    status, report = explain(carry, pcap([ethernet(outer)]))
    verdicts = [layer["checksum"] and layer["checksum"]["verdict"] for layer in report["layers"]]
    assert (status, verdicts) == (BAD, [None, "good", "bad", "good"])


def test_text(carry: Run, tmp_path: Path) -> None:
    """The text has exactly the expected lines."""
    file = tmp_path / "capture.pcap"
    file.write_bytes(pcap([WRONG]))
    done = carry("explain", file, "1", env={"LC_ALL": "C"})
    assert done.stdout == (
        f"{file}, frame 1: 62 bytes at offset 40, link type 1 (Ethernet)\n"
        "2023-11-14T22:13:20.000000000Z\n"
        "\n"
        "     0  ethernet\n"
        f"    14  ip        0x{WRONG[24:26].hex()}  good  10.0.0.5 -> 10.0.0.9\n"
        "                  it matches the bytes that it covers\n"
        "                  stored at byte 24, at offset 64 in the file\n"
        "                  covers 20 bytes from byte 14\n"
        f"    34  tcp       0x{WRONG[50:52].hex()}  bad  10.0.0.5:40000 -> 10.0.0.9:443\n"
        "                  it does not match the bytes that it covers\n"
        f"                  expected 0x{GOOD[50:52].hex()}\n"
        "                  stored at byte 50, at offset 90 in the file\n"
        "                  covers 28 bytes from byte 34\n"
        "                  and a pseudo-header of 10.0.0.5, 10.0.0.9, protocol 6, length\n"
        "                    28: sum 0x1430\n"
    )


def test_frames_without_known_headers(carry: Run) -> None:
    done = carry("explain", "-", "1", stdin=pcap([GOOD], link=147))
    assert done.stdout.endswith("\n  no known protocol in this frame\n")
    done = carry("explain", "-", "1", stdin=pcap([b"\xff" * 12 + b"\x08\x06" + bytes(40)]))
    assert done.stdout.endswith("     0  ethernet\n\n  no known checksum in this frame\n")
    for size in range(len(GOOD)):
        assert carry("explain", "-", "1", stdin=pcap([GOOD[:size]])).returncode == CLEAN


def test_unknown_time(carry: Run) -> None:
    file = Pcapng().section().interface().simple_packet(GOOD)
    assert explain(carry, file.bytes())[1]["time"] is None


def test_the_letter_for_json(carry: Run) -> None:
    """-J prints the object of --json."""
    done = carry("explain", "-J", "-", "1", stdin=pcap([GOOD]))
    assert json.loads(done.stdout) == explain(carry, pcap([GOOD]))[1]


def test_frames_that_cannot_be_reached(carry: Run, tmp_path: Path) -> None:
    done = carry("explain", "-", "3", stdin=pcap([GOOD, GOOD]))
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert (
        done.stderr == "carry: standard input: there is no frame 3: the capture holds 2 packets\n"
    )
    done = carry("explain", "-", "2", stdin=pcap([GOOD]) + b"\x00")
    assert (done.returncode, done.stdout) == (DAMAGED, "")
    assert "damaged at offset 102: record header cut" in done.stderr
    assert explain(carry, pcap([GOOD]) + b"\x00")[0] == CLEAN
    assert carry("explain", tmp_path / "none", "1").returncode == ERROR


def test_usage(carry: Run) -> None:
    """Wrong usage is refused with its reason; both ways to the help show the same."""
    for frame in ("0", "-1", "x", "1x", "", "99999999999999999999999"):
        done = carry("explain", "--", "file", frame)
        assert done.returncode == ERROR and "FRAME must be a number" in done.stderr
    for arguments in ([], ["file"], ["file", "1", "2"]):
        assert "are needed" in carry("explain", *arguments).stderr
    assert "--nonsense" in carry("explain", "--nonsense").stderr
    assert carry("explain", "--help").stdout == carry("help", "explain").stdout != ""


# --- Datagrams ---


def bad_datagram() -> list[bytes]:
    return fragments(datagram(sums="bad"))


def test_a_datagram_is_explained_by_each_of_its_frames(carry: Run) -> None:
    """`carry check` lists the datagram with the frame that completes it."""
    parts = bad_datagram()
    data = raw([GOOD[14:], *parts, GOOD[14:]])
    done = carry("check", "-b", "--json", "-", stdin=data)
    listed = conforming("check_bad_only", done.stdout)
    assert listed["frame"] == len(parts) + 1
    for frame in range(2, len(parts) + 2):
        status, report = explain(carry, data, frame)
        (whole,) = report["datagrams"]
        assert status == BAD
        assert (whole["reassembly"], whole["frame"]) == ("complete", listed["frame"])
        assert whole["frames"] == list(range(2, len(parts) + 2))
        assert whole["captured"] == whole["wire"] == len(datagram())
        assert names(whole) == ["ip", "udp"]
        ip, udp = (layer["checksum"] for layer in whole["layers"])
        assert ip is None  # each fragment has a header of its own
        for name in ("verdict", "stored", "expected", "offset"):
            assert udp[name] == listed[name]
        assert (udp["covers_at"], udp["covers_size"]) == (20, 308)
    for frame in (1, len(parts) + 2):
        status, report = explain(carry, data, frame)
        assert (status, report["datagrams"]) == (CLEAN, [])


def test_a_good_datagram_is_clean(carry: Run) -> None:
    status, report = explain(carry, raw(fragments(datagram())), 2)
    assert (status, report["layers"][-1]["protocol"]) == (CLEAN, "ip")
    assert report["datagrams"][0]["layers"][1]["checksum"]["verdict"] == "good"


def test_a_field_beyond_the_first_fragment_has_its_place(carry: Run) -> None:
    data = raw(fragments(datagram(protocol=TCP, sums="bad"), 8))
    _, report = explain(carry, data, 1)
    checksum = report["datagrams"][0]["layers"][1]["checksum"]
    field = data[checksum["offset"] : checksum["offset"] + 2]
    assert int.from_bytes(field, "big") == checksum["stored"]


def test_truncated_field_has_no_place(carry: Run) -> None:
    first, *rest = fragments(datagram(protocol=TCP, sums="bad"))
    _, report = explain(carry, raw([Record(first[:30], wire=len(first)), *rest]), 2)
    checksum = report["datagrams"][0]["layers"][1]["checksum"]
    assert (checksum["verdict"], checksum["offset"]) == ("unverifiable", None)


def test_incomplete_datagrams(carry: Run) -> None:
    first, *rest = bad_datagram()
    wrong = rest[0][:-1] + b"\xff"
    for parts, fate, frames in (
        ([first, *rest[:-1]], "missing", list(range(1, len(rest) + 1))),
        ([first, rest[0], wrong, *rest], "overlapping", [1, 2, 3]),
        ([first], "missing", [1]),
    ):
        status, report = explain(carry, raw(parts))
        assert status == CLEAN
        assert report["datagrams"] == [
            {
                "reassembly": fate,
                "frames": frames,
                "frame": None,
                "captured": None,
                "wire": None,
                "layers": None,
            }
        ]
    late = explain(carry, raw([first, rest[0], wrong, *rest]), 5)[1]["datagrams"]
    assert [(each["reassembly"], each["frames"]) for each in late] == [("overlapping", [5])]


def test_a_frame_of_several_datagrams(carry: Run) -> None:
    """The frame completes a packet of a tunnel, and that packet contains a fragment."""
    parts = [
        part
        for ident, inner in enumerate(fragments(datagram(sums="bad"), 160))
        for part in fragments(network("10.0.0.1", "10.0.0.2", 4, inner), 96, ident=ident)
    ]
    status, report = explain(carry, raw(parts), 2)
    outer, inner = report["datagrams"]
    assert status == BAD
    assert (outer["frames"], names(outer)) == ([1, 2], ["ip", "ip", "udp"])
    assert (inner["frames"], names(inner)) == ([2, 4], ["ip", "udp"])
    assert inner["frame"] == len(parts)


def test_a_pipe_is_read_no_further_than_needed(carry: Run) -> None:
    """Damage after the last fragment is not reached."""
    parts = bad_datagram()
    data = raw(parts) + b"\x00"
    assert explain(carry, data, 1)[0] == BAD
    assert explain(carry, raw(parts[:-1]) + b"\x00", 1)[1]["datagrams"][0]["frame"] is None


def test_text_of_a_datagram(carry: Run) -> None:
    """The text of a fragment shows the datagram that it belongs to."""
    parts = fragments(datagram(sums="bad"), 160)
    done = carry("explain", "-", "2", stdin=raw(parts), env={"LC_ALL": "C"})
    head, whole = done.stdout.split("\ndatagram of ")
    wrong, right = datagram(sums="bad")[26:28].hex(), datagram()[26:28].hex()
    assert "ip" in head
    assert whole == (
        "frames 1 and 2: 328 bytes\n"
        "frame 2 completes it: carry check lists its checksums with that frame\n"
        "\n"
        "     0  ip\n"
        f"    20  udp       0x{wrong}  bad  10.0.0.5:40000 -> 10.0.0.9:443\n"
        "                  it does not match the bytes that it covers\n"
        f"                  expected 0x{right}\n"
        "                  stored at byte 26, at offset 66 in the file\n"
        "                  covers 308 bytes from byte 20\n"
        "                  and a pseudo-header of 10.0.0.5, 10.0.0.9, protocol 17, length\n"
        "                    308: sum 0x1553\n"
    )
    done = carry("explain", "-", "1", stdin=raw(parts[:1]))
    assert done.stdout.endswith(
        "\n\ndatagram of frame 1,\nwith fragments missing:\nits checksums cannot be verified\n"
    )
