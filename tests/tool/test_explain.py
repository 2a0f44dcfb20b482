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
    VALID,
    WRONG,
    Pcapng,
    Record,
    ethernet,
    flagged,
    fold,
    network,
    packet,
    pcap,
    pseudo,
    put16,
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


def evidence_of_wrong(right: int) -> dict[str, Any]:
    """Returns the evidence about WRONG: what each mistake would make of the right value."""
    sum_ = fold(pseudo("10.0.0.5", "10.0.0.9", TCP, 28))
    values = [
        ("not_inverted", "if it were not inverted", right ^ 0xFFFF),
        ("swapped", "with its bytes swapped", right >> 8 | (right & 0xFF) << 8),
        ("no_pseudo", "without the pseudo-header", (right + sum_) % 0xFFFF),
        ("pseudo_twice", "with the pseudo-header counted twice", (right - sum_) % 0xFFFF),
        ("pseudo_length", "with a length of 0 in the pseudo-header", right + 28),
        ("pseudo_length", "with the IP length in the pseudo-header", right - 20),
        ("pseudo_address", "with the source address twice", right + 4),
    ]
    return {
        "difference": ((right ^ 0x1234) - right) % 0xFFFF,
        "others": [],
        "others_total": 0,
        "assumptions": [
            {"assumption": words, "cause": cause, "value": value} for cause, words, value in values
        ],
    }


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
        "evidence": evidence_of_wrong(right),
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
    """Each of two headers of the same protocol has its own verdict."""
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
        f"                  expected 0x{GOOD[50:52].hex()}, off by 0xedf3\n"
        "                  stored at byte 50, at offset 90 in the file\n"
        "                  covers 28 bytes from byte 34\n"
        "                  and a pseudo-header of 10.0.0.5, 10.0.0.9, protocol 6, length\n"
        "                    28: sum 0x1430\n"
        "                  would be right:\n"
        + "".join(
            f"                    0x{each['value']:04x} {each['assumption']}\n"
            for each in evidence_of_wrong(int.from_bytes(GOOD[50:52], "big"))["assumptions"]
        )
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
    """Wrong usage is refused with its reason; `carry help` shows the text of --help."""
    for frame in ("0", "-1", "x", "1x", "", "99999999999999999999999"):
        done = carry("explain", "--", "file", frame)
        assert done.returncode == ERROR and "FRAME must be a number" in done.stderr
    for arguments in ([], ["file"], ["file", "1", "2"]):
        assert "are needed" in carry("explain", *arguments).stderr
    assert "--nonsense" in carry("explain", "--nonsense").stderr
    assert carry("explain", "--help").stdout == carry("help", "explain").stdout != ""


# --- Evidence ---


def evidence(carry: Run, data: bytes, frame: int = 1) -> dict[str, Any]:
    found: dict[str, Any] = explain(carry, data, frame)[1]["layers"][-1]["checksum"]["evidence"]
    return found


def rewritten(count: int, ports: tuple[int, int] = (40000, 443)) -> list[bytes]:
    """Returns packets of one flow whose sums are off by 0x1234."""
    frames = [ethernet(packet(TCP, bytes([n]) * 9, ports=ports)) for n in range(1, count + 1)]
    return [put16(frame, 50, (sum_of(frame) + 0x1234) % 0xFFFF) for frame in frames]


def sum_of(frame: bytes) -> int:
    return int.from_bytes(frame[50:52], "big")


def test_other_checksums_of_the_flow(carry: Run) -> None:
    """The first five other bad checksums of the flow are listed, and all are counted, before and
    after the frame."""
    frames = rewritten(9)
    data = pcap([GOOD, GOOD, *frames[:3], *rewritten(2, (1, 2)), *frames[3:]])
    numbers = [3, 4, 5, 8, 9, 10, 11, 12, 13]
    for frame in (3, 9, 13):
        found = evidence(carry, data, frame)
        others = [number for number in numbers if number != frame]
        assert [other["frame"] for other in found["others"]] == others[:5]
        assert (found["others_total"], found["assumptions"]) == (8, [])
    data = pcap(frames)
    found = evidence(carry, data, 9)
    assert found["others_total"] == 8
    assert found["others"] == [
        {
            "frame": number,
            "stored": sum_of(frame),
            "expected": (sum_of(frame) - 0x1234) % 0xFFFF,
            "difference": 0x1234,
        }
        for number, frame in enumerate(frames[:5], 1)
    ]
    text = carry("explain", "-", "9", stdin=data).stdout
    assert text.endswith(
        "                  other bad checksums of its flow, or between its addresses:\n"
        + "".join(
            f"                    frame {each['frame']}: 0x{each['stored']:04x}, expected "
            f"0x{each['expected']:04x}, off by 0x1234\n"
            for each in found["others"]
        )
        + "                    and 3 more\n"
    )
    assert "would be right" not in text


def test_other_checksums_between_the_addresses(carry: Run) -> None:
    """If the flow has no other bad checksum, bad checksums of other flows between its addresses are
    listed."""
    frames = [frame for port in range(1, 10) for frame in rewritten(1, (port, 53))]
    far = ethernet(packet(TCP, b"far away", src="10.0.0.77", sums="bad"))
    found = evidence(carry, pcap([far, *frames]), 4)
    assert {each["difference"] for each in found["others"]} == {0x1234}
    assert [each["frame"] for each in found["others"]] == [2, 3, 5, 6, 7]
    assert (found["others_total"], found["assumptions"]) == (8, [])


def test_only_bad_checksums_of_16_bits_have_evidence(carry: Run) -> None:
    sctp = b"\x9c\x40\x13\x89" + bytes(8) + b"\0\3\0\x10" + bytes(12)
    for frame in (
        GOOD,
        ethernet(packet(TCP, sums="partial")),
        ethernet(packet(UDP, sums="none", **V6)),
        ethernet(network("10.0.0.5", "10.0.0.9", 132, sctp)),
    ):
        assert evidence(carry, pcap([frame])) is None


def test_evidence_about_a_datagram(carry: Run) -> None:
    """Fragments have the evidence of their datagram; other datagrams have the numbers of the
    packets that complete them."""
    data = raw([*bad_datagram(), *bad_datagram()])
    size = len(bad_datagram())
    for frame, other in ((1, 2 * size), (2 * size, size)):
        (whole,) = explain(carry, data, frame)[1]["datagrams"]
        found = whole["layers"][1]["checksum"]["evidence"]
        assert [each["frame"] for each in found["others"]] == [other]
        assert found["others"][0]["difference"] == found["difference"]
        assert found["others_total"] == 1


def test_a_flag_leaves_all_assumptions(carry: Run) -> None:
    """Where the capturing machine's flags show the cause, all assumptions are listed."""
    found = explain(carry, flagged([(WRONG, VALID)]))[1]["layers"][-1]["checksum"]
    assert found["cause"] == "said_valid"
    assert found["evidence"] == evidence_of_wrong(sum_of(GOOD))


MISTAKES = [
    Record(WRONG),
    ethernet(packet(TCP, b"odd", sums="bad")),
    ethernet(packet(UDP, b"padded", sums="bad")) + bytes(range(1, 13)),
    ethernet(packet(UDP, b"odd" * 30, sums="bad", **V6)),
    ethernet(packet(TCP, b"\xff" * 600, sums="bad")),
]


@pytest.mark.parametrize("frame", MISTAKES)
def test_each_assumption_is_what_its_cause_stands_for(carry: Run, frame: bytes | Record) -> None:
    """A checksum with the value of an assumption has the cause of this assumption, unless one
    flipped bit explains it, and lists only assumptions with this value."""
    data = frame.data if isinstance(frame, Record) else frame
    report = explain(carry, pcap([data]))[1]["layers"][-1]["checksum"]
    assumptions = report["evidence"]["assumptions"]
    assert report["cause"] is None
    assert len(assumptions) > 5
    for each in assumptions:
        mistaken = put16(data, report["at"], each["value"])
        found = explain(carry, pcap([mistaken]))[1]["layers"][-1]["checksum"]
        if found["cause"] == "one_bit":
            assert found["evidence"]["assumptions"] == []
        else:
            assert found["cause"] == each["cause"]
            assert each in found["evidence"]["assumptions"]
            assert {each["value"] for each in found["evidence"]["assumptions"]} == {each["value"]}


# --- Datagrams ---


def bad_datagram() -> list[bytes]:
    return fragments(datagram(sums="bad"))


def test_a_datagram_is_explained_by_each_of_its_frames(carry: Run) -> None:
    """Each frame of a datagram shows the whole datagram, and the frame with which `carry check`
    lists it."""
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
    """A frame may belong to two datagrams: it completes a packet of a tunnel, and that packet
    contains a fragment."""
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
    """A pipe is read only up to the last fragment of the datagram: damage after it is not
    reached."""
    parts = bad_datagram()
    data = raw(parts) + b"\x00"
    assert explain(carry, data, 1)[0] == BAD
    assert explain(carry, raw(parts[:-1]) + b"\x00", 1)[1]["datagrams"][0]["frame"] is None


def test_text_of_a_datagram(carry: Run) -> None:
    """The text of a fragment shows the datagram that the fragment is part of."""
    parts = fragments(datagram(sums="bad"), 160)
    done = carry("explain", "-", "2", stdin=raw(parts), env={"LC_ALL": "C"})
    head, whole = done.stdout.split("\ndatagram of ")
    wrong, right = datagram(sums="bad")[26:28].hex(), datagram()[26:28].hex()
    assert "ip" in head
    assert whole.startswith(
        "frames 1 and 2: 328 bytes\n"
        "frame 2 completes it: carry check lists its checksums with that frame\n"
        "\n"
        "     0  ip\n"
        f"    20  udp       0x{wrong}  bad  10.0.0.5:40000 -> 10.0.0.9:443\n"
        "                  it does not match the bytes that it covers\n"
        f"                  expected 0x{right}, off by 0xedcb\n"
        "                  stored at byte 26, at offset 66 in the file\n"
        "                  covers 308 bytes from byte 20\n"
        "                  and a pseudo-header of 10.0.0.5, 10.0.0.9, protocol 17, length\n"
        "                    308: sum 0x1553\n"
    )
    done = carry("explain", "-", "1", stdin=raw(parts[:1]))
    assert done.stdout.endswith(
        "\n\ndatagram of frame 1,\nwith fragments missing:\nits checksums cannot be verified\n"
    )
