# SPDX-License-Identifier: MIT
"""IPv4 header sums of 0: left to a network card, or damage?

A frame with another partial sum decides by itself. Otherwise the sender's frames decide: a sender
that leaves one header to its card leaves others, too. All other such sums are damage.
"""

from __future__ import annotations

import gzip
import json
import random
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from captures import (
    ICMP,
    TCP,
    UDP,
    Pcapng,
    Record,
    ethernet,
    finish,
    network,
    packet,
    pcap,
    put16,
)
from carry_tool import BAD, CLEAN, DAMAGED, ERROR, Check, Run
from schemas import conforming

CARD, OTHER, THIRD = "10.0.0.5", "10.0.0.7", "10.0.0.8"
HEADER = 14 + 10  # offset of the sum of an IPv4 header in a frame
ROOM = 4096  # the most senders whose headers are judged by their other frames


def sent(ip: bytes, card: bytes | None = None) -> bytes:
    """Returns a frame from the network card `card`; by default, each source address has its own."""
    frame = ethernet(ip)
    return frame[:6] + (card or b"\2\0" + ip[12:16]) + frame[12:]


def empty(ip: bytes, card: bytes | None = None) -> bytes:
    """Returns a frame with an IPv4 packet whose header sum is set to 0."""
    return sent(put16(ip, 10, 0), card)


def left(src: str) -> bytes:
    """Returns a frame whose two sums are left to the card: evidence that the sender leaves header
    sums to the card."""
    return empty(packet(TCP, src=src, sums="partial"))


def alone(src: str, number: int = 0) -> bytes:
    """Returns a frame with a header sum of 0, and another sum that is no evidence: good, or
    absent."""
    protocol, sums = ((ICMP, "good"), (UDP, "none"), (TCP, "good"))[number % 3]
    return empty(packet(protocol, b"payload!" * (1 + number % 5), src=src, sums=sums))


def header_counts(report: dict[str, Any]) -> dict[str, int]:
    return {name: n for name, n in report["protocols"]["ip"].items() if n}


def lines(carry: Run, *arguments: str | Path, stdin: bytes | None = None) -> list[dict[str, Any]]:
    done = carry("check", "-bJ", *arguments, stdin=stdin)
    return [conforming("check_bad_only", line) for line in done.stdout.splitlines()]


# --- Verdicts by the frame itself ---


def test_frame_alone_shows_offload(check: Check) -> None:
    status, report = check(pcap([left(CARD)]))
    assert status == CLEAN
    assert header_counts(report) == {"partial": 1}
    assert report["causes"] == {"ip": {"beside_partial": 1}, "tcp": {"offload": 1}}


@pytest.mark.parametrize("sums", ["good", "bad", "none"])
@pytest.mark.parametrize("protocol", [TCP, UDP])
def test_a_header_alone_is_bad(check: Check, protocol: int, sums: str) -> None:
    status, report = check(pcap([empty(packet(protocol, sums=sums))] * 3))
    assert (status, header_counts(report)) == (BAD, {"bad": 3})
    assert report["causes"]["ip"] == {"zero": 3}


def test_a_header_that_is_not_0_is_bad(check: Check) -> None:
    frame = put16(left(CARD), HEADER, 1)
    status, report = check(pcap([frame, left(CARD)]))
    assert (status, header_counts(report)) == (BAD, {"bad": 1, "partial": 1})


def test_cut_frames_are_neither_bad_nor_partial(check: Check) -> None:
    whole = left(CARD)
    for size in (34, 50, 54, len(whole) - 1):
        status, report = check(pcap([Record(whole[:size], wire=len(whole))]))
        assert (status, header_counts(report)) == (CLEAN, {"unverifiable": 1})
        assert report["reasons"]["ip"] == {"snaplen": 1}
    other = empty(packet(TCP))
    status, report = check(pcap([Record(other[:54], wire=len(other))]))
    assert (status, header_counts(report)) == (BAD, {"bad": 1})


# --- Verdicts by other frames of the sender ---


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_other_frames_of_the_sender_show_offload(check: Check, place: int) -> None:
    frames = [alone(CARD, number) for number in range(3)]
    frames.insert(place, left(CARD))
    status, report = check(pcap(frames))
    assert (status, header_counts(report)) == (CLEAN, {"partial": 4})
    assert report["causes"]["ip"] == {"beside_partial": 1, "by_sender": 3}


def test_frames_of_another_sender_show_nothing(check: Check) -> None:
    status, report = check(pcap([left(CARD), alone(OTHER), alone(CARD)]))
    assert (status, header_counts(report)) == (BAD, {"bad": 1, "partial": 2})
    reversed_ends = empty(packet(ICMP, src="10.0.0.9", dst=CARD))
    status, report = check(pcap([left(CARD), reversed_ends]))
    assert (status, header_counts(report)) == (BAD, {"bad": 1, "partial": 1})


def test_partial_sums_below_a_good_header_show_nothing(check: Check) -> None:
    """A partial sum below a good header is no evidence of offload: such a sender sums its headers
    itself, as Linux does, so that a header of 0 is damage."""
    right = ethernet(packet(TCP, src=CARD, sums="partial"))
    status, report = check(pcap([right, alone(CARD), right]))
    assert (status, header_counts(report)) == (BAD, {"bad": 1, "good": 2})


def test_frames_of_another_capture_show_nothing(carry: Run, tmp_path: Path) -> None:
    first, second = tmp_path / "a.pcap", tmp_path / "b.pcap"
    first.write_bytes(pcap([left(CARD), alone(CARD)]))
    second.write_bytes(pcap([alone(CARD)]))
    done = carry("check", "--json", first, second, first)
    counts = [header_counts(conforming("check", line)) for line in done.stdout.splitlines()]
    assert (done.returncode, counts) == (BAD, [{"partial": 2}, {"bad": 1}, {"partial": 2}])
    total = carry("check", first, second, first).stdout.splitlines()[-2:]
    assert total == ["3 captures, 5 packets: 1 bad checksum", f"not clean: {second}"]


def forwarded(card: bytes, src: str = OTHER) -> bytes:
    """Returns a frame from `card` with a header sum of 0; `src` is the address of another host."""
    return empty(packet(ICMP, src=src), card)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_other_frames_of_the_card_show_offload(carry: Run, check: Check, place: int) -> None:
    """Headers of packets that a card forwards are judged by the other frames of the card."""
    card = left(CARD)[6:12]
    frames = [forwarded(card), forwarded(card, THIRD)]
    frames.insert(place, left(CARD))
    status, report = check(pcap(frames))
    assert (status, header_counts(report)) == (CLEAN, {"partial": 3})
    assert report["causes"]["ip"] == {"beside_partial": 1, "by_sender": 2}
    for number, frame in enumerate(frames, 1):
        status, checksum = explained(carry, pcap(frames), number)
        kind = "beside_partial" if frame == left(CARD) else "by_sender"
        assert (status, checksum["cause"]) == (CLEAN, kind)


@pytest.mark.parametrize("card", [bytes(6), b"\3\0\0\0\0\1", b"\2\0\0\0\0\1"])
def test_cards_that_show_nothing(check: Check, card: bytes) -> None:
    """A frame with a partial sum is no evidence if its card is unknown (a loopback device, a group
    address), or is another card."""
    evidence = card if card[0] != 2 else b"\2\0\0\0\0\2"
    frames = [empty(packet(TCP, src=CARD, sums="partial"), evidence), forwarded(card)]
    status, report = check(pcap(frames))
    assert (status, header_counts(report)) == (BAD, {"bad": 1, "partial": 1})


def test_a_card_leaves_no_header_inside_another_packet(check: Check) -> None:
    inner = put16(packet(ICMP, src=OTHER), 10, 0)
    status, report = check(pcap([left(CARD), sent(network(CARD, THIRD, 4, inner))]))
    assert (status, header_counts(report)) == (BAD, {"good": 1, "bad": 1, "partial": 1})


def test_fix_repairs_by_the_card(carry: Run, tmp_path: Path) -> None:
    """Headers that a card left are repaired as partial ones."""
    card = left(CARD)[6:12]
    source, copy = tmp_path / "a.pcap", tmp_path / "b.pcap"
    source.write_bytes(pcap([forwarded(card), left(CARD), alone(THIRD)]))
    for only, repaired in (("partial", 2), ("bad", 0)):
        done = carry("fix", source, "-o", copy, f"--only={only}", "--json")
        report = conforming("fix", done.stdout)
        assert report["repaired"].get("ip", {}).get("partial", 0) == repaired
        assert report["left"]["ip"].get("partial", 0) == 2 - repaired


def test_senders_in_tunnels(check: Check) -> None:
    """Each header is judged by its own sender."""
    inner = put16(packet(TCP, src=CARD, sums="partial"), 10, 0)
    good = ethernet(network(OTHER, THIRD, 4, inner))
    both = put16(good, HEADER, 0)
    _, report = check(pcap([good, alone(CARD), alone(OTHER)]))
    assert header_counts(report) == {"bad": 1, "good": 1, "partial": 2}
    _, report = check(pcap([both, alone(CARD), alone(OTHER)]))
    assert header_counts(report) == {"partial": 4}


def test_datagrams_that_are_reassembled(check: Check) -> None:
    """A header of 0 in a fragmented datagram counts once, for its sender."""
    inner = put16(packet(UDP, b"x" * 32, src=CARD, sums="none"), 10, 0)
    frames = []
    for at, end, flags in ((0, 24, 0x2000), (24, len(inner), 24 // 8)):
        part = network(OTHER, THIRD, 4, inner[at:end])
        frames.append(empty(put16(part, 6, flags)))
    status, report = check(pcap([*frames, left(CARD)]))
    assert report["reassembly"]["complete"] == 1
    assert (status, header_counts(report)) == (BAD, {"bad": 2, "partial": 2})
    status, report = check(pcap([*frames, left(CARD), left(OTHER)]))
    assert (status, header_counts(report)) == (CLEAN, {"partial": 5})


def test_the_first_packets_only(carry: Run, tmp_path: Path) -> None:
    """--count hides packets that show offload, so that 0 is damage."""
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([alone(CARD), left(CARD)]))
    assert carry("check", "-q", path).returncode == CLEAN
    assert carry("check", "-q", "--count=1", path).returncode == BAD


def test_protocols(carry: Run) -> None:
    """A sum left to a card is recognised, whichever protocols are selected."""
    data = pcap([alone(CARD), left(CARD)])
    assert carry("check", "-q", "--proto=ip", "-", stdin=data).returncode == CLEAN
    done = carry("check", "--json", "--proto=tcp", "-", stdin=data)
    assert (done.returncode, json.loads(done.stdout)["causes"]) == (CLEAN, {"tcp": {"offload": 1}})


def test_damage_ends_the_evidence(check: Check) -> None:
    status, report = check(pcap([alone(CARD), left(CARD)]) + b"x")
    assert (status, header_counts(report)) == (DAMAGED, {"partial": 2})
    status, report = check(pcap([alone(CARD), left(CARD)])[:-1])
    assert (status, header_counts(report)) == (DAMAGED, {"bad": 1})


def test_senders_beyond_the_limit(check: Check) -> None:
    """Senders beyond the limit are judged by single frames: their lone headers remain bad, whatever
    other frames show."""
    hosts = [f"10.{number >> 8}.{number & 255}.1" for number in range(ROOM)]
    file = Pcapng().section().interface()
    for host in hosts:
        file.packet(alone(host))
    file.packet(alone(OTHER))
    for host in (hosts[0], hosts[-1], OTHER):
        file.packet(left(host))
    status, report = check(file.bytes())
    assert status == BAD
    assert header_counts(report) == {"bad": ROOM - 1, "partial": 2 + 3}


def test_senders_in_json(check: Check) -> None:
    """The link of a sender is reported for headers that wait for evidence, too, unless the sender
    uses several links."""
    tagged = ethernet(put16(packet(ICMP, src=OTHER), 10, 0), [7])
    tagged = tagged[:6] + alone(OTHER)[6:12] + tagged[12:]
    frames = [alone(CARD), alone(OTHER), left(CARD), alone(CARD), tagged, alone(OTHER)]
    sender = {"vlans": [], "at_least": 3, "at_most": 3}
    assert check(pcap(frames))[1]["senders"]["ip"] == {
        "bad": [{"address": OTHER, "mac": None, **sender}],
        "partial": [{"address": CARD, "mac": "02:00:0a:00:00:05", **sender}],
    }


# --- All ways to read a capture ---


def mixture() -> bytes:
    """Returns many batches, with evidence at the beginning, at the end, in between, and nowhere."""
    chance = random.Random(1071)
    frames = []
    for number in range(12000):
        host = chance.randrange(40)
        src = f"10.1.0.{host}"
        if host % 4 == 0 and number > 300 * host:
            frames.append(left(src))
        elif chance.random() < 0.2:
            frames.append(alone(src, number))
        else:
            frames.append(ethernet(packet(TCP, b"x" * (number % 700), src=src)))
    return pcap(frames)


MODES = [
    [],
    ["--json"],
    ["--tsv"],
    ["--bad-only"],
    ["--bad-only", "--json", "--partial=report"],
    ["--partial=bad", "--show=100"],
]


J = ["-j1", "-j2", "-j7"]


def through_pipe(command: list[str], path: Path) -> subprocess.CompletedProcess[bytes]:
    """Runs a command whose standard input is a pipe with the bytes of the file, in small blocks."""
    with (
        path.open("rb") as file,
        subprocess.Popen(
            ["dd", "bs=777"], stdin=file, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as pipe,
    ):
        return subprocess.run(
            command, stdin=pipe.stdout, capture_output=True, timeout=600, check=False
        )


@pytest.mark.parametrize("mode", MODES, ids=" ".join)
def test_any_number_of_threads_functions_and_pipes(
    carry: Run, tool: str, tmp_path: Path, mode: list[str]
) -> None:
    """Reports do not depend on threads, generated functions or pipes; only the lines of --bad-only
    may differ for a pipe."""
    path, bad = tmp_path / "a.pcap", tmp_path / "bad.pcapng"
    path.write_bytes(mixture())
    alone = carry("check", "-j1", "-w", bad, *mode, path)
    written = bad.read_bytes()
    assert alone.returncode == BAD
    for options in (["-j2"], ["-j7"], ["-j1", "--jit=1"], ["-j7", "--jit=1"]):
        done = carry("check", "-w", bad, *options, *mode, path)
        if "built without" in done.stderr:
            continue
        assert (done.returncode, done.stdout, done.stderr) == (
            alone.returncode,
            alone.stdout,
            alone.stderr,
        )
        assert bad.read_bytes() == written
    pipes = [through_pipe([tool, "check", threads, *mode, "/dev/stdin"], path) for threads in J]
    assert {pipe.returncode for pipe in pipes} == {alone.returncode}
    outputs = {pipe.stdout.decode() for pipe in pipes}
    if "--bad-only" in mode:  # later packets decide only if the input is a file
        assert len(outputs) == 1
    else:
        assert outputs == {alone.stdout.replace(str(path), "/dev/stdin")}


# --- Output ---


def test_summary(carry: Run) -> None:
    """The summary separates headers left to a card from damaged ones."""
    frames = [alone(CARD), left(CARD), alone(OTHER), alone(CARD, 1)]
    done = carry("check", "-", stdin=pcap(frames), env={"LC_ALL": "C"})
    words = " ".join(done.stdout.split())
    assert "ip: 1 bad, sent by 10.0.0.7; it holds 0: never filled in" in words
    assert (
        "ip: 3 partial, all sent by 10.0.0.5; transmit offload, finished by the network card after "
        "the capture; 2 of them shown by other packets of the same sender"
    ) in words
    assert done.stdout.count("0x0000") == 1
    assert done.stdout.endswith("\n1 bad checksum\n")
    clean = carry("check", "-", stdin=pcap(frames[:2]))
    assert clean.stdout.endswith("\nclean, 3 left to transmit offload\n")


def test_summary_shows_headers_that_remain_bad(carry: Run) -> None:
    """The summary shows the headers that remain bad. The bad sums that are found first may become
    partial, so more sums are kept than are shown."""
    frames = [alone(CARD, number) for number in range(4)]
    wrong = ethernet(packet(TCP, src=THIRD, sums="bad"))
    data = pcap([*frames, wrong, alone(OTHER), wrong, left(CARD), wrong])
    done = carry("check", "--show=6", "-", stdin=data, env={"LC_ALL": "C"})
    shown = [line.split()[0] for line in done.stdout.splitlines() if "->" in line and "0x" in line]
    assert shown == ["5", "6", "7", "9"]
    assert "more: --bad-only" not in done.stdout
    done = carry("check", "--show=2", "-", stdin=data, env={"LC_ALL": "C"})
    assert "and 2 more: --bad-only lists them all" in done.stdout


def test_lines_use_evidence_so_far(carry: Run) -> None:
    data = pcap([alone(CARD), alone(OTHER), left(CARD), alone(CARD)])
    done = carry("check", "-bJ", "-", stdin=data)
    found = [conforming("check_bad_only", line) for line in done.stdout.splitlines()]
    assert [(one["frame"], one["verdict"], one["cause"]) for one in found] == [
        (1, "bad", "zero"),
        (2, "bad", "zero"),
    ]
    assert done.returncode == BAD
    assert done.stderr == (
        "carry: standard input: reported 1 IPv4 header sum of 0 as bad before later packets of "
        "the same sender or network card showed transmit offload\n"
    )
    found = lines(carry, "--partial=report", "-", stdin=data)
    assert [(one["frame"], one["verdict"], one["cause"]) for one in found] == [
        (1, "bad", "zero"),
        (2, "bad", "zero"),
        (3, "partial", "beside_partial"),
        (3, "partial", "offload"),
        (4, "partial", "by_sender"),
    ]
    assert [one["early"] for one in found] == [True, True, False, False, False]
    done = carry("check", "-b", "-", stdin=data)
    assert done.stdout.count(" (early)  zero") == 2
    known = carry("check", "-b", "-", stdin=pcap([left(CARD), alone(CARD)]))
    assert (known.returncode, known.stdout, known.stderr) == (CLEAN, "", "")
    early = carry("check", "-b", "-", stdin=pcap([alone(CARD), left(CARD)]))
    assert (early.returncode, early.stdout.count("\n")) == (CLEAN, 1)
    assert "reported 1 IPv4 header sum of 0 as bad" in early.stderr


def test_columns_show_the_cause(carry: Run) -> None:
    data = pcap([alone(CARD), left(CARD)])
    done = carry("check", "-bt", "--partial=report", "-", stdin=data)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert [row[12] for row in rows] == ["cause", "zero", "beside_partial", "offload"]
    assert [row[15] for row in rows] == ["early", "true", "false", "false"]
    assert {len(row) for row in rows} == {16}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
def test_lines_of_files_agree_with_the_summary(
    carry: Run, tmp_path: Path, threads: int, packed: bool
) -> None:
    """A file is read again, so that later packets decide the verdicts of earlier lines, too."""
    data = pcap([left(THIRD), alone(CARD), alone(OTHER), left(CARD), alone(CARD)] * 50)
    path = tmp_path / "a.pcap.gz"
    path.write_bytes(gzip.compress(data) if packed else data)
    done = carry("check", "-bJ", f"-j{threads}", path)
    found = [conforming("check_bad_only", line) for line in done.stdout.splitlines()]
    assert [(one["frame"], one["verdict"], one["early"]) for one in found] == [
        (5 * index + 3, "bad", False) for index in range(50)
    ]
    assert (done.returncode, done.stderr) == (BAD, "")
    found = lines(carry, "--partial=report", path)
    counts = Counter((one["protocol"], one["verdict"]) for one in found)
    assert counts == {("ip", "partial"): 200, ("ip", "bad"): 50, ("tcp", "partial"): 100}
    assert "early" not in carry("check", "-b", path).stdout


SHORTENS = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

off_t lseek64(int file, off_t offset, int whence) {
    off_t (*next)(int, off_t, int) = (off_t (*)(int, off_t, int))dlsym(RTLD_NEXT, "lseek64");
    if (whence == SEEK_SET && !offset && truncate("short.pcap", 24))
        _exit(99);
    return next(file, offset, whence);
}

off_t lseek(int file, off_t offset, int whence) {
    return lseek64(file, offset, whence);
}
"""


def test_a_file_that_becomes_shorter_between_its_readings(
    tool: str, tmp_path: Path, preload: Callable[[str], str]
) -> None:
    """The lines of the second reading are lost; a message says that the file became shorter."""
    (tmp_path / "short.pcap").write_bytes(pcap([alone(CARD), alone(OTHER), left(CARD)]))
    done = subprocess.run(
        ["env", preload(SHORTENS), tool, "check", "-b", "short.pcap"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == "carry: short.pcap: became shorter while it was read\n"


@pytest.mark.parametrize("link", [1, 101])
def test_lines_beyond_the_limit_agree_with_the_summary(
    carry: Run, tmp_path: Path, link: int
) -> None:
    """All commands judge the same headers as bad, among them the headers of senders beyond the
    limit."""
    card, skip = left(CARD)[6:12], 14 if link == 101 else 0
    hosts = [f"10.{number >> 8}.{number & 255}.1" for number in range(ROOM + 100)]
    frames = [forwarded(card, host) for host in hosts]
    frames += [left(CARD), empty(packet(TCP, src=hosts[-1], sums="partial"), card)]
    path, copy = tmp_path / "a.pcap", tmp_path / "b.pcap"
    path.write_bytes(pcap([frame[skip:] for frame in frames], link=link))
    report = json.loads(carry("check", "--json", path).stdout)
    bad = header_counts(report)["bad"]
    assert bad == (100 if link == 1 else ROOM + 100)
    assert len(lines(carry, path)) == bad
    found = json.loads(carry("explain", "--json", path, str(len(hosts))).stdout)
    assert found["layers"][-2]["checksum"]["verdict"] == "bad"
    fixed = conforming("fix", carry("fix", path, "-o", copy, "--only=bad", "--json").stdout)
    assert fixed["repaired"]["ip"] == {"bad": bad}


def test_written_packets_of_files_agree_with_the_summary(carry: Run, tmp_path: Path) -> None:
    path, bad, page = tmp_path / "a.pcap", tmp_path / "bad.pcapng", tmp_path / "a.html"
    path.write_bytes(pcap([alone(CARD), alone(OTHER), left(CARD), alone(CARD)]))
    done = carry("check", "-w", bad, "--html", page, path)
    assert (done.returncode, done.stderr) == (BAD, "")
    assert json.loads(carry("check", "--json", bad).stdout)["packets"] == 1


def test_a_damaged_file_is_read_again_up_to_the_damage(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([alone(CARD), alone(OTHER), left(CARD)]) + b"x")
    done = carry("check", "-b", path)
    assert (done.returncode, done.stdout.count("\n")) == (DAMAGED, 1)
    assert done.stderr.count("damaged at offset") == 1


def test_written_packets_depend_on_evidence_so_far(carry: Run, tmp_path: Path) -> None:
    bad = tmp_path / "bad.pcapng"
    data = pcap([alone(CARD), alone(OTHER), left(CARD), alone(CARD)])
    done = carry("check", "-w", bad, "-", stdin=data)
    assert "reported 1 IPv4 header sum of 0 as bad before" in done.stderr
    assert json.loads(carry("check", "--json", bad).stdout)["packets"] == 2
    quiet = carry("check", "-q", "-w", bad, "-", stdin=data)
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (BAD, "", "")
    done = carry("check", "--partial=bad", "-w", bad, "-", stdin=data)
    assert (done.returncode, done.stderr) == (BAD, "")
    assert json.loads(carry("check", "--json", bad).stdout)["packets"] == 4


# --- explain ---


def explained(carry: Run, data: bytes, frame: int) -> tuple[int, dict[str, Any]]:
    done = carry("explain", "--json", "-", str(frame), stdin=data)
    return done.returncode, conforming("explain", done.stdout)["layers"][1]["checksum"]


def test_explain(carry: Run) -> None:
    """The explanation names the evidence that a sum was left to a card."""
    data = pcap([alone(CARD), left(CARD), alone(CARD), alone(OTHER)])
    by_sender = "other packets of its sender, or of the network card that sent it, show"
    for frame, cause, why in (
        (1, "by_sender", by_sender),
        (2, "beside_partial", "another checksum of the packet is partial"),
        (3, "by_sender", by_sender),
    ):
        status, checksum = explained(carry, data, frame)
        assert (status, checksum["verdict"], checksum["cause"]) == (CLEAN, "partial", cause)
        assert why in checksum["why"]
    status, checksum = explained(carry, data, 4)
    assert (status, checksum["verdict"], checksum["cause"]) == (BAD, "bad", "zero")
    assert checksum["why"] == "it holds 0: never filled in, or computed twice"


def test_explain_of_a_cut_frame(carry: Run) -> None:
    """A truncated frame cannot show whether its sum was left to a card."""
    whole = left(CARD)
    status, checksum = explained(carry, pcap([Record(whole[:54], wire=len(whole))]), 1)
    assert (status, checksum["verdict"], checksum["reason"]) == (CLEAN, "unverifiable", "snaplen")
    assert "cut off the bytes that would show" in checksum["why"]


# --- fix ---


Row = tuple[int, str, str]
ALL: list[Row] = [(1, "ip", "partial"), (2, "ip", "partial"), (2, "tcp", "partial")]
ALL += [(3, "ip", "bad"), (4, "ip", "partial")]


@pytest.mark.parametrize(
    ("only", "repaired", "status"),
    [
        ("bad,partial", ALL, CLEAN),
        ("partial", [row for row in ALL if row[2] == "partial"], BAD),
        ("bad", [(3, "ip", "bad")], CLEAN),
        ("illegal", [], BAD),
    ],
)
def test_fix_repairs_by_the_sender(
    carry: Run, tool: str, tmp_path: Path, only: str, repaired: list[Row], status: int
) -> None:
    """Packets before and after a header are evidence for its repair. A check of the copy has the
    same exit status."""
    source, copy, log = (tmp_path / name for name in ("a.pcap", "b.pcap", "log"))
    source.write_bytes(pcap([alone(CARD), left(CARD), alone(OTHER), alone(CARD)]))
    done = carry("fix", source, "-o", copy, "--log", log, "--only", only, "--json")
    lines = [conforming("fix_log", line) for line in log.read_text().splitlines()]
    changes = {(one["frame"], one["protocol"]): one for one in lines if one["reason"] is None}
    assert sorted(changes) == sorted(row[:2] for row in repaired)
    report = conforming("fix", done.stdout)
    counts = Counter(row[1:] for row in repaired)
    assert counts == {
        (protocol, verdict): count
        for protocol, row in report["repaired"].items()
        for verdict, count in row.items()
    }
    assert {row["reason"] for row in report["reasons"]} <= {"only"}
    assert done.returncode == carry("check", "-q", copy).returncode == status
    left_now = json.loads(carry("check", "--json", copy).stdout)["protocols"]
    for (protocol, verdict), before in Counter(row[1:] for row in ALL).items():
        assert left_now[protocol][verdict] == before - counts[protocol, verdict]
    with source.open("rb") as file:  # standard input can be read twice: it is not a pipe
        command = [tool, "fix", "-", "--dry-run", "--only", only, "--json"]
        again = subprocess.run(command, stdin=file, capture_output=True, timeout=600)
    same = report | {"file": "-", "output": None}
    assert json.loads(again.stdout) == same


def test_fix_of_a_pipe_uses_evidence_so_far(carry: Run) -> None:
    data = pcap([alone(CARD), left(CARD), alone(CARD)])
    done = carry("fix", "-", "--dry-run", "--only=partial", "--json", stdin=data)
    report = conforming("fix", done.stdout)
    assert (done.returncode, report["repaired"]["ip"]) == (BAD, {"partial": 2})
    (reason,) = report["reasons"]
    assert (reason["verdict"], reason["reason"], reason["frames"]) == ("bad", "early", [1])
    done = carry("fix", "-", "--dry-run", "--only=partial", stdin=data, env={"LC_ALL": "C"})
    assert "ip: 1 bad in frame 1: a later packet shows that it is partial" in done.stdout
    done = carry("fix", "-", "--dry-run", "--only=bad", "--json", stdin=data)
    report = conforming("fix", done.stdout)
    assert (done.returncode, report["repaired"]) == (CLEAN, {"ip": {"partial": 1}})
    assert report["left"]["ip"] == {"partial": 2}


def test_fix_by_the_sender_in_packed_and_damaged_files(carry: Run, tmp_path: Path) -> None:
    """Sums that a sender left to its card are repaired in packed and damaged files."""
    data = pcap([alone(CARD), left(CARD)])
    source, copy = tmp_path / "a.pcap.gz", tmp_path / "b.pcap"
    source.write_bytes(gzip.compress(data))
    right = pcap([sent(packet(ICMP, src=CARD)), sent(packet(TCP, src=CARD))])
    assert carry("fix", source, "-o", copy, "--only=partial").returncode == CLEAN
    assert copy.read_bytes() == right
    source.write_bytes(gzip.compress(data + b"x"))
    assert carry("fix", source, "-o", copy, "--only=partial").returncode == DAMAGED
    assert copy.read_bytes() == right + b"x"


def test_fix_by_the_sender_around_other_sums(carry: Run, tmp_path: Path) -> None:
    """An outer sum that covers a repaired header is right in the copy."""
    inner = put16(packet(ICMP, src=CARD), 10, 0)
    vxlan = bytes.fromhex("0800000000002a00") + ethernet(inner)
    source, copy = tmp_path / "a.pcap", tmp_path / "b.pcap"
    outer = ethernet(packet(UDP, vxlan, src=OTHER, ports=(40000, 4789)))
    source.write_bytes(pcap([outer, left(CARD)]))
    assert carry("check", "-q", source).returncode == CLEAN
    assert carry("fix", source, "-o", copy, "--only=partial").returncode == CLEAN
    counts = json.loads(carry("check", "--json", copy).stdout)["protocols"]
    assert {name: row["good"] for name, row in counts.items()} == dict(ip=3, udp=1, icmp=1, tcp=1)
    assert all(row["good"] == sum(row.values()) for row in counts.values())


def test_sums_not_repaired_have_their_final_verdict(carry: Run, tmp_path: Path) -> None:
    source = tmp_path / "a.pcap"
    frames = [alone(OTHER), alone(CARD), alone(OTHER), *[alone(CARD)] * 6, left(CARD), alone(CARD)]
    source.write_bytes(pcap(frames))
    done = carry("fix", "--json", "--dry-run", source, "--only=illegal")
    found = [row for row in json.loads(done.stdout)["reasons"] if row["protocol"] == "ip"]
    assert {row["verdict"]: (row["count"], row["frames"]) for row in found} == {
        "bad": (2, [1, 3]),
        "partial": (9, [2, 4, 5, 6, 7]),
    }
    assert done.returncode == carry("check", "-q", source).returncode == BAD


ROWS = ("bad", "partial", "illegal")


def parts_of(inner: bytes, first: int) -> list[bytes]:
    """Returns the two fragments of an IP packet that contains the packet `inner`."""
    frames = []
    for at, end in ((0, first), (first, len(inner))):
        part = network(OTHER, THIRD, 4, inner[at:end])
        part = put16(put16(part, 6, at // 8 | (0x2000 if end < len(inner) else 0)), 10, 0)
        frames.append(ethernet(put16(part, 10, finish(part[:20]))))
    return frames


# The inner header lies in both fragments, or only in the first.
@pytest.mark.parametrize(("first", "is_evidence"), [(16, False), (24, False), (16, True)])
def test_fix_by_the_sender_in_datagrams(
    carry: Run, tmp_path: Path, first: int, is_evidence: bool
) -> None:
    """Reassembled datagrams give evidence and are judged by it, exactly as carry check reports."""
    inner = packet(TCP, b"x" * 32, src=CARD, sums="partial" if is_evidence else "good")
    other = alone(CARD) if is_evidence else left(CARD)
    source, copy = tmp_path / "a.pcap", tmp_path / "b.pcap"
    source.write_bytes(pcap([*parts_of(put16(inner, 10, 0), first), other]))
    checked = json.loads(carry("check", "--json", source).stdout)["protocols"]
    found = {(name, verdict): row[verdict] for name, row in checked.items() for verdict in ROWS}
    assert found["ip", "partial"] == 2
    for verdicts in ("partial", "bad", "illegal", "bad,partial"):
        done = carry("fix", source, "-o", copy, "--only", verdicts, "--json")
        report = conforming("fix", done.stdout)
        assert done.returncode == carry("check", "-q", copy).returncode
        for (name, verdict), count in found.items():
            repaired = count if verdict in verdicts.split(",") else 0
            assert report["repaired"].get(name, {}).get(verdict, 0) == repaired
            assert report["left"].get(name, {}).get(verdict, 0) == count - repaired


def test_fix_where_a_frame_has_headers_of_two_senders(carry: Run, tmp_path: Path) -> None:
    """No header of the frame is repaired: the outer one is partial only because of another frame of
    its sender, and the inner one, of another sender, is bad. The summary gives the reasons."""
    inner = put16(packet(ICMP, src=OTHER), 10, 0)
    source, copy = tmp_path / "a.pcap", tmp_path / "b.pcap"
    source.write_bytes(pcap([empty(network(CARD, THIRD, 4, inner)), left(CARD)]))
    done = carry("fix", source, "-o", copy, "--only=partial", "--json")
    report = conforming("fix", done.stdout)
    assert done.returncode == carry("check", "-q", copy).returncode == BAD
    assert {row["reason"] for row in report["reasons"]} == {"beside", "only"}


def test_fix_limits_unpacked_bytes_in_its_first_pass(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap.gz"
    path.write_bytes(gzip.compress(pcap([alone(CARD)]) + bytes(16) * (6 << 20), mtime=0))
    for options in (["--dry-run"], ["-o", tmp_path / "b.pcap"]):
        done = carry("fix", path, "--only=partial", *options)
        assert (done.returncode, done.stdout) == (ERROR, "")
        assert "decompresses to far more bytes than captures do" in done.stderr
    assert not (tmp_path / "b.pcap").exists()
