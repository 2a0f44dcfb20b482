# SPDX-License-Identifier: MIT
"""Packets selected by filters, times and numbers, for `carry check` and `carry fix`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from captures import (
    GOOD,
    PARTIAL,
    TCP,
    UDP,
    V6,
    WRONG,
    Pcapng,
    Record,
    ethernet,
    finish,
    packet,
    pcap,
    put16,
)
from carry_tool import BAD, CLEAN, DAMAGED, ERROR, SOURCE, Run
from schemas import conforming

START = 1_700_000_000  # 2023-11-14T22:13:20Z
UDP_WRONG = ethernet(packet(UDP, ports=(50000, 53), sums="bad"))
BROKEN = SOURCE / "examples/broken.pcap"


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Returns the path of a capture: TCP good, TCP bad, UDP bad, TCP partial, TCP over IPv6 good, a
    second apart."""
    path = tmp_path / "mixed.pcap"
    frames = [GOOD, WRONG, UDP_WRONG, PARTIAL, ethernet(packet(TCP, **V6))]
    path.write_bytes(
        pcap([Record(frame, seconds=START + i, fraction=i) for i, frame in enumerate(frames)])
    )
    return path


@pytest.fixture
def filters(carry: Run) -> None:
    """Skips a test if the tool has no filters."""
    done = carry("check", "-f", "tcp", BROKEN)
    if "libpcap" in done.stderr:
        pytest.skip(done.stderr.strip())


def selected(carry: Run, path: Path, *arguments: str) -> list[int]:
    """Returns the numbers of the selected packets, each found by --frames; checks that one run
    without --frames selects as many."""
    done = carry("check", "-J", *arguments[:1], path, *arguments[1:])
    assert done.stderr == ""
    whole = conforming("check", done.stdout)
    with_frames = [
        number
        for number in range(1, 6)
        if json.loads(
            carry("check", "-J", f"--frames={number}", *arguments[:1], path, *arguments[1:]).stdout
        )["packets"]
    ]
    assert whole["packets"] == len(with_frames)
    assert whole["packets"] + whole["unselected"] == 5
    return with_frames


# --- Filters ---


@pytest.mark.parametrize(
    ("expression", "frames"),
    [
        ("tcp", [1, 2, 4, 5]),
        ("udp port 53", [3]),
        ("ip6", [5]),
        ("host 10.0.0.5 and not udp", [1, 2, 4]),
        ("less 10", []),
        ("", [1, 2, 3, 4, 5]),
    ],
)
def test_filters(
    filters: None, carry: Run, mixed: Path, expression: str, frames: list[int]
) -> None:
    """A filter selects its packets, as an option and after a double dash."""
    assert selected(carry, mixed, f"--filter={expression}") == frames
    if expression:
        assert selected(carry, mixed, "--no-tunnels", "--", *expression.split()) == frames
        assert selected(carry, mixed, "--no-tunnels", "--", expression) == frames


def test_the_summary_counts_what_was_not_selected(filters: None, carry: Run, mixed: Path) -> None:
    done = carry("check", mixed, "--", "udp")
    assert done.returncode == BAD
    assert f"{mixed}: 1 of 5 packets, " in done.stdout
    done = carry("check", "--filter", "port 9", mixed)
    assert done.returncode == CLEAN
    assert done.stdout.endswith("nothing was checked: no packet was selected\n")
    done = carry("check", "--filter=tcp", mixed, mixed)
    assert "\n2 captures, 8 of 10 packets: 2 bad checksums\n" in done.stdout
    assert carry("check", "-b", "-f", "udp", mixed).stdout.split()[:2] == ["3", "udp"]


def test_a_double_dash_before_files_only_ends_options(carry: Run, mixed: Path) -> None:
    (mixed.parent / "-f").write_bytes(mixed.read_bytes())
    done = subprocess.run(
        [carry("check", "--help").args[0], "check", "--", "-f", "mixed.pcap"],
        cwd=mixed.parent,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (BAD, "")
    assert "2 captures, 10 packets" in done.stdout


def test_wrong_filters_end_before_any_work(filters: None, carry: Run, mixed: Path) -> None:
    output = mixed.parent / "out.pcap"
    for arguments in (["-f", "tcp prot 80"], ["--filter=tcp prot 80"], ["--", "tcp", "prot", "80"]):
        for command in (["check", "-w", output], ["fix", "-o", output]):
            done = carry(*command, mixed, *arguments)
            assert (done.returncode, done.stdout) == (ERROR, "")
            assert done.stderr == "carry: filter: can't parse filter expression: syntax error\n"
            assert not output.exists()
    done = carry("check", "-f", "tcp", mixed, "--", "tcp")
    assert done.returncode == ERROR
    assert "give the filter once" in done.stderr


def test_each_link_type_has_its_own_program(filters: None, carry: Run) -> None:
    """A filter is compiled for each link type: Ethernet, raw IP (whose number libpcap changes), and
    a link type that libpcap cannot parse."""
    ip = packet(TCP, sums="bad")
    section = Pcapng().section().interface(1).interface(101).interface(147)
    for interface, data in ((0, ethernet(ip)), (1, ip), (2, ip), (0, UDP_WRONG)):
        section = section.packet(data, interface=interface)
    done = carry("check", "-J", "-f", "tcp", "-", stdin=section.bytes())
    shown = conforming("check", done.stdout)
    assert (shown["packets"], shown["unselected"]) == (2, 2)
    assert shown["protocols"]["tcp"]["bad"] == 2
    assert done.stderr.startswith(
        "carry: standard input: the filter selects none of 1 packet of link type 147: "
    )
    assert done.stderr.count("\n") == 1
    done = carry("check", "-f", "ether host 02:00:00:00:00:01", "-", stdin=section.bytes())
    assert "1 packet of link type 101: ethernet addresses supported only on" in done.stderr
    assert carry("check", "-q", "-f", "inbound", "-", stdin=section.bytes()).returncode == CLEAN


def test_many_link_types_are_refused(filters: None, carry: Run) -> None:
    section = Pcapng().section()
    for link in range(300, 360):
        section = section.interface(link)
    for interface in range(60):
        section = section.packet(GOOD, interface=interface)
    done = carry("check", "-f", "tcp", "-", stdin=section.bytes())
    assert "29 packets of further link types: there are too many link types" in done.stderr
    assert done.stdout.endswith("no packet was selected\n")


def fragment(ip: bytes, start: int, end: int) -> bytes:
    """Returns a fragment of an IPv4 packet with bytes `start` to `end` of its content."""
    more = 0x2000 if 20 + end < len(ip) else 0
    head = put16(put16(put16(ip[:20], 2, 20 + end - start), 6, more | start // 8), 10, 0)
    return put16(head, 10, finish(head)) + ip[20 + start : 20 + end]


@pytest.mark.parametrize(
    ("expression", "verdict"),
    [
        ("ip", "bad"),
        ("udp port 53", "unverifiable"),
        ("udp port 53 or ip[6:2] & 0x1fff != 0", "bad"),
    ],
)
def test_fragments_are_filtered_one_by_one(
    filters: None, carry: Run, expression: str, verdict: str
) -> None:
    whole = packet(UDP, bytes(100), ports=(50000, 53), sums="bad")
    data = pcap([ethernet(fragment(whole, 0, 64)), ethernet(fragment(whole, 64, 108))])
    done = carry("check", "-J", "-f", expression, "-", stdin=data)
    assert json.loads(done.stdout)["protocols"]["udp"][verdict] == 1
    fixed = json.loads(carry("fix", "-J", "--dry-run", "-f", expression, "-", stdin=data).stdout)
    assert fixed["changed_packets"] == (verdict == "bad")


@pytest.mark.parametrize("expression", ["tcp", "udp", "ip", "port 53", "not host 10.0.0.5"])
def test_filters_select_as_tcpdump_does(
    filters: None, carry: Run, tmp_path: Path, expression: str
) -> None:
    if not shutil.which("tcpdump"):
        pytest.skip("tcpdump is not installed")
    for path in sorted((SOURCE / "examples").glob("[!d]*.pcap")):
        written = tmp_path / "written.pcap"
        command = ["tcpdump", "-r", path, "-w", written, expression]
        subprocess.run(command, check=True, capture_output=True)
        ours, theirs = (
            json.loads(carry("check", "-J", *arguments).stdout)
            for arguments in ([f"--filter={expression}", path], [written])
        )
        for name in ("packets", "bytes", "protocols", "reasons", "causes", "reassembly"):
            assert ours[name] == theirs[name], (path, name)


# --- Times and numbers ---


@pytest.mark.parametrize(
    ("arguments", "frames"),
    [
        (["--after=1700000001"], [2, 3, 4, 5]),
        (["--before=1700000001"], [1]),  # frame 2 is 1 us later than the full second
        (["--before=1700000001.000001"], [1]),
        (["--before=1700000001.000001001"], [1, 2]),
        (["--after=1700000001.000001"], [2, 3, 4, 5]),
        (["--after=1700000001.0000011"], [3, 4, 5]),
        (["--after=2023-11-14T22:13:22Z"], [3, 4, 5]),
        (["--after=2023-11-14 22:13:22.000003Z"], [4, 5]),
        (["--before=2023-11-14T23:13:23+01:00"], [1, 2, 3]),
        (["--before=2023-11-14T16:43:23-0530"], [1, 2, 3]),
        (["--frames=2"], [2]),
        (["--frames=4-,1-2"], [1, 2, 4, 5]),
        (["--frames=-3"], [1, 2, 3]),
        (["--frames=6-"], []),
    ],
)
def test_times_and_numbers(
    carry: Run, mixed: Path, arguments: list[str], frames: list[int]
) -> None:
    done = carry("check", "-J", *arguments, mixed)
    assert done.stderr == ""
    shown = conforming("check", done.stdout)
    assert shown["packets"] == len(frames)
    bad = {2: "tcp", 3: "udp"}
    listed = carry("check", "-b", *arguments, mixed).stdout.splitlines()
    assert [int(line.split()[0]) for line in listed] == [n for n in bad if n in frames]


def test_times_without_a_zone_are_local(carry: Run, mixed: Path) -> None:
    for zone, time in (("UTC", "22:13:22"), ("XYZ-2", "2023-11-15T00:13:22"), ("ABC5", "17:13:22")):
        date = time if "T" in time else f"2023-11-14T{time}"
        done = carry("check", "-J", "-A", date, mixed, env={**os.environ, "TZ": zone})
        assert json.loads(done.stdout)["packets"] == 3


@pytest.mark.parametrize("option", ["--after", "--before"])
@pytest.mark.parametrize(
    "time",
    [
        *("", "x", "-1", "0", "1.", "1.1234567890", "1x", "99999999999999999999", "18446744074"),
        *("2023-11-14", "2023-02-29T00:00:00Z", "2023-11-14T24:00:00Z", "2023-11-14T22:60:00Z"),
        *(
            "2023-11-14T22:13:20X",
            "2023-11-14T22:13:20+1",
            "2023-11-14T22:13:20+-1:00",
            "1969-12-31T00:00:00Z",
        ),
        "2023-11-14T22:13:20.Z",
    ],
)
def test_wrong_times(carry: Run, option: str, time: str) -> None:
    done = carry("check", f"{option}={time}", BROKEN)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert f"carry check: {option} takes a time such as" in done.stderr


@pytest.mark.parametrize("ranges", ["", "0", "3-2", "-", "1,,2", "1,", "a", "1-2-3", "1 - 2"])
def test_wrong_ranges(carry: Run, ranges: str) -> None:
    """A malformed range is refused with an example."""
    done = carry("fix", f"--frames={ranges}", "--dry-run", BROKEN)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert "carry fix: --frames takes ranges such as 10-20,30,40-, not" in done.stderr


def test_limits(carry: Run) -> None:
    assert carry("check", "--frames", ",".join(map(str, range(1, 65))), BROKEN).returncode == BAD
    done = carry("check", "--frames", ",".join(map(str, range(1, 66))), BROKEN)
    assert "--frames takes at most 64 ranges" in done.stderr
    done = carry("check", "-A", "5", "-B", "5", BROKEN)
    assert done.returncode == ERROR
    assert "no time is from --after on and earlier than --before" in done.stderr


def test_packets_without_a_time_are_not_selected(carry: Run) -> None:
    data = Pcapng().section().interface().simple_packet(WRONG).simple_packet(GOOD).bytes()
    done = carry("check", "-J", "--after=1", "-", stdin=data)
    assert json.loads(done.stdout)["unselected"] == 2
    assert done.stderr == (
        "carry: standard input: --after and --before leave out 2 packets without a known time\n"
    )
    assert carry("check", "-J", "-q", "--after=1", "-", stdin=data).stderr == ""


def test_times_select_as_editcap_does(carry: Run, mixed: Path) -> None:
    if not shutil.which("editcap"):
        pytest.skip("editcap is not installed")
    written = mixed.parent / "written.pcapng"
    for options in (["-A", "1700000001.000001"], ["-B", "1700000003.000003"]):
        subprocess.run(["editcap", *options, mixed, written], check=True, capture_output=True)
        ours, theirs = (
            json.loads(carry("check", "-J", *arguments).stdout)
            for arguments in ([*options, mixed], [written])
        )
        assert (ours["packets"], ours["protocols"]) == (theirs["packets"], theirs["protocols"])


def test_a_count_is_one_of_selected_packets(carry: Run, mixed: Path) -> None:
    shown = json.loads(carry("check", "-J", "-c", "2", "--frames=2-", mixed).stdout)
    assert (shown["packets"], shown["unselected"]) == (2, 1)


# --- Repairs ---


@pytest.mark.parametrize(
    ("arguments", "changed", "status"),
    [
        ([], [2, 3, 4], CLEAN),
        (["--frames=3"], [3], CLEAN),
        (["-c", "2"], [2], CLEAN),
        (["-c", "2", "--frames=2-"], [2, 3], CLEAN),
        (["-c", "2", "--frames=2-", "--only=partial"], [], BAD),  # reads the capture twice
        (["-c", "3", "--frames=2-", "--only=partial"], [4], BAD),
        (["--after=1700000003"], [4], CLEAN),
        (["--before=1700000001"], [], CLEAN),
    ],
)
def test_fix_changes_selected_packets_alone(
    carry: Run, mixed: Path, arguments: list[str], changed: list[int], status: int
) -> None:
    output, log = mixed.parent / "out.pcap", mixed.parent / "log"
    done = carry("fix", "-J", mixed, "-o", output, "-l", log, *arguments)
    shown = conforming("fix", done.stdout)
    assert (done.returncode, done.stderr) == (status, "")
    assert shown["packets"] + shown["unselected"] == 5
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["frame"] for line in lines if line["new"] is not None] == changed
    before, after = mixed.read_bytes(), output.read_bytes()
    assert len(before) == len(after)
    differing = {at for at in range(len(before)) if before[at] != after[at]}
    fields = [range(line["offset"], line["offset"] + line["size"]) for line in lines]
    assert all(any(at in field for field in fields) for at in differing)


def test_fix_filters(filters: None, carry: Run, mixed: Path) -> None:
    """Only selected packets are repaired; the others are copied."""
    output = mixed.parent / "out.pcap"
    done = carry("fix", mixed, "-o", output, "--", "udp")
    assert done.returncode == CLEAN
    assert "1 of 5 packets" in done.stdout
    assert "1 checksum repaired in 1 packet; written to " in done.stdout
    assert carry("check", "-q", "-f", "udp", output).returncode == CLEAN
    assert carry("check", "-q", "-f", "tcp", output).returncode == BAD


def test_damage_after_the_selection_is_reported(carry: Run, mixed: Path) -> None:
    mixed.write_bytes(mixed.read_bytes()[:-1])
    assert carry("check", "-q", "--frames=1", mixed).returncode == DAMAGED
    assert carry("check", "-q", "-c", "1", mixed).returncode == CLEAN


@pytest.mark.parametrize("options", [[], ["--only=partial"]], ids=["once", "twice"])
def test_fix_reports_skipped_packets_once(
    filters: None, carry: Run, tmp_path: Path, options: list[str]
) -> None:
    """Skipped packets are reported once, although the capture may be read twice."""
    path = tmp_path / "a.pcapng"
    section = Pcapng().section().interface().interface(147).simple_packet(WRONG)
    time = START * 10**6
    section = section.packet(PARTIAL, interface=1, ticks=time).packet(PARTIAL, ticks=time)
    path.write_bytes(section.bytes())
    done = carry("fix", "--dry-run", *options, "--after=1", "-f", "tcp", path)
    refused, timeless = done.stderr.splitlines()
    assert refused.startswith(f"carry: {path}: the filter selects none of 1 packet of link type")
    assert timeless.endswith(": --after and --before leave out 1 packet without a known time")
