# SPDX-License-Identifier: MIT
"""Reports of `carry check`: lists, narrow terminals, many captures, and what was not checked."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    network,
    packet,
    pcap,
    put16,
)
from carry_tool import BAD, CLEAN, DAMAGED, ERROR, HANGS, SOURCE, Run, cases, in_terminal

UNCHECKED_STATUS = 4

# --- Numbers ---


def test_listed_lines_are_for_programs_too(carry: Run) -> None:
    """A line contains a time, and numbers without commas, which a program would have to remove."""
    record = Record(WRONG, fraction=5)
    done = carry("check", "-b", "-", stdin=pcap([GOOD] * 1017 + [record]))
    frame, protocol, _, _, offset, time, *_ = done.stdout.split()
    assert (frame, protocol) == ("1018", "tcp")
    assert offset == str(24 + 1017 * (16 + len(GOOD)) + 16 + 50)
    assert time == "2023-11-14T22:13:20.000005000Z"
    unknown = Pcapng().section().interface().simple_packet(WRONG).bytes()
    assert carry("check", "-b", "-", stdin=unknown).stdout.split()[5] == "-"


def test_numbers_are_accepted_as_they_are_printed(carry: Run) -> None:
    data = pcap([GOOD] * 1017 + [WRONG])
    printed = carry("check", "-", stdin=data).stdout
    assert "\n  1,018  tcp " in printed
    for number in ("1,018", "1018", "01018"):
        done = carry("explain", "-", number, stdin=data)
        assert (done.returncode, done.stderr) == (BAD, "")
        assert ", frame 1,018: " in done.stdout
    assert carry("check", "-q", "-c", "1,017", "-", stdin=data).returncode == CLEAN


@pytest.mark.parametrize(
    "number", ["1,01", "10,18", "1,018,", ",018", "1,,018", "1018,", "01,018", "1.018", "1,018x"]
)
def test_other_commas_are_refused(carry: Run, number: str) -> None:
    done = carry("explain", "-", number, stdin=pcap([GOOD]))
    assert done.returncode == ERROR
    assert f"FRAME must be a number of at least 1, not '{number}'" in done.stderr


# --- What was not checked ---


def nested(depth: int) -> bytes:
    """Returns an Ethernet frame with `depth` nested IPv4 headers, and TCP with a bad checksum."""
    inner = packet(TCP, sums="bad")
    for _ in range(depth - 1):
        inner = network("10.0.0.1", "10.0.0.2", 4, inner)
    return ethernet(inner)


ARP = b"\xff" * 12 + b"\x08\x06" + bytes(46)
CUT = Record(GOOD[:40], wire=len(GOOD))
NO_UDP_SUM = ethernet(packet(UDP, sums="none"))

# Captures without a checked sum, by the reason.
UNCHECKED = {
    "no packets": pcap([]),
    "no packet has a known link type": pcap([GOOD] * 2, link=195),
    "no packet has a known checksum": pcap([ARP]),
    "no checksum could be verified": pcap([Record(packet(TCP, **V6)[:60], wire=68)], link=229),
}


@pytest.mark.parametrize("reason", UNCHECKED)
def test_nothing_was_checked(carry: Run, reason: str) -> None:
    done = carry("check", "-", stdin=UNCHECKED[reason])
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert done.stdout.endswith(f"\nnothing was checked: {reason}\n")
    strict = carry("check", "--strict", "-", stdin=UNCHECKED[reason])
    assert (strict.returncode, strict.stdout) == (UNCHECKED_STATUS, done.stdout)
    report = json.loads(carry("check", "-J", "-", stdin=UNCHECKED[reason]).stdout)
    assert report["outcome"] == "unchecked"


def test_nothing_selected_was_checked(carry: Run) -> None:
    done = carry("check", "-p", "udp", "--strict", "-", stdin=pcap([WRONG]))
    assert done.returncode == UNCHECKED_STATUS
    assert done.stdout.endswith("no packet has a checksum of the selected protocols\n")
    done = carry("check", "-p", "udp", "-", stdin=pcap([NO_UDP_SUM]))
    assert done.stdout.endswith("\nnothing was checked: no checksum was sent\n")


@pytest.mark.parametrize(
    ("data", "status", "outcome"),
    [
        (pcap([GOOD]), CLEAN, "clean"),
        (pcap([GOOD, PARTIAL, ARP, NO_UDP_SUM]), CLEAN, "clean"),
        (pcap([GOOD, CUT]), 4, "clean"),
        (pcap([GOOD, nested(40)]), 4, "clean"),
        (pcap([GOOD, CUT, WRONG]), BAD, "wrong"),
        (pcap([GOOD, CUT]) + b"x", DAMAGED, "clean"),
        (pcap([WRONG]), BAD, "wrong"),
    ],
)
def test_strict(carry: Run, data: bytes, status: int, outcome: str) -> None:
    """An unverifiable sum is less severe than a wrong one."""
    done = carry("check", "--strict", "-J", "-", stdin=data)
    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (status, outcome)
    assert carry("check", "--strict", "-q", "-", stdin=data).returncode == status
    lenient = carry("check", "-q", "-", stdin=data).returncode
    assert lenient == (CLEAN if status == UNCHECKED_STATUS else status)


def test_exit_status_is_the_most_severe(carry: Run, tmp_path: Path) -> None:
    """Of several files, the most severe outcome is the exit status."""
    statuses = {"a": pcap([GOOD]), "b": pcap([]), "c": pcap([WRONG]), "d": b"", "e": None}
    for name, data in statuses.items():
        if data is not None:
            (tmp_path / name).write_bytes(data)
    gravest = [CLEAN, UNCHECKED_STATUS, BAD, DAMAGED, ERROR]
    for a, b in itertools.product(range(5), repeat=2):
        paths = [tmp_path / "abcde"[i] for i in (a, b)]
        done = carry("check", "--strict", "-q", *paths)
        assert done.returncode == gravest[max(a, b)]


def test_packets_nested_too_deep(carry: Run, tmp_path: Path) -> None:
    """Packets with more than 32 headers are counted and reported."""
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([GOOD, nested(31), nested(32)]))
    done = carry("check", path)
    assert "\n  nested too deep: 2 packets, of which at most 32 headers were examined\n" in (
        done.stdout
    )
    assert done.stdout.endswith("\nclean, 2 packets not examined\n")
    for options in ([], ["--jit=1"], ["-j3"]):
        report = json.loads(carry("check", "-J", *options, path).stdout)
        assert report["too_deep"] == 2
    assert json.loads(carry("check", "-J", "-", stdin=pcap([nested(30)])).stdout)["too_deep"] == 0


def test_json_counts_packets_without_a_checksum(carry: Run) -> None:
    assert (
        json.loads(carry("check", "-J", "-", stdin=pcap([GOOD, ARP, ARP])).stdout)["without"] == 2
    )


def test_all_exit_statuses_are_in_one_table(carry: Run) -> None:
    page = (SOURCE / "docs/man/carry.1").read_text()
    for text in (carry("check", "--help").stdout, (SOURCE / "README.md").read_text(), page):
        assert "--strict" in text.replace("\\-", "-")
    table = page[page.index(".SH EXIT STATUS") : page.index(".SH SIGNALS")]
    rows = re.findall(r"\d+", " ".join(re.findall(r"^\.TP\n(.*)$", table, re.MULTILINE)))
    assert rows == ["0", "1", "2", "3", "4", "126", "127", "128"]


# --- Senders ---


def tagged(sums: str, mac: int, vlans: list[int], host: str = "10.0.0.5") -> bytes:
    frame = ethernet(packet(TCP, sums=sums, src=host), vlans)
    return frame[:6] + mac.to_bytes(6, "big") + frame[12:]


def senders(carry: Run, data: bytes) -> dict[str, Any]:
    return json.loads(carry("check", "-J", "-", stdin=data).stdout)["senders"]


def sender(mac: str | None, vlans: list[int], count: int, host: str = "10.0.0.5") -> dict[str, Any]:
    return {"address": host, "mac": mac, "vlans": vlans, "at_least": count, "at_most": count}


def test_senders_in_json(carry: Run) -> None:
    """JSON lists the senders of each verdict by address and tags."""
    frames = [
        *[tagged("bad", 0x0200_0000_0001, [7])] * 3,
        *[tagged("bad", 0x0200_0000_0001, [7, 8])] * 2,
        *[tagged("partial", 0xAABBCCDDEEFF, [])] * 4,
        tagged("partial", 0xAABBCCDDEEFF, [], "10.0.0.6"),
        GOOD,
        ethernet(packet(UDP, sums="none", **V6)),
    ]
    assert senders(carry, pcap(frames)) == {
        "tcp": {
            "bad": [
                sender("02:00:00:00:00:01", [7], 3),
                sender("02:00:00:00:00:01", [7, 8], 2),
            ],
            "partial": [
                sender("aa:bb:cc:dd:ee:ff", [], 4),
                sender("aa:bb:cc:dd:ee:ff", [], 1, "10.0.0.6"),
            ],
        },
        "udp": {"illegal": [sender("02:00:00:00:00:01", [], 1, V6["src"])]},
    }
    assert senders(carry, pcap([GOOD])) == {}


def test_one_sender_on_two_links_is_one_in_the_summary(carry: Run) -> None:
    data = pcap([tagged("bad", 1, [1]), tagged("bad", 2, [2]), tagged("bad", 3, [])])
    assert "tcp: 3 bad, all sent by 10.0.0.5\n" in carry("check", "-", stdin=data).stdout


def test_links_of_senders(carry: Run) -> None:
    """Linux cooked captures record the sender's link-layer address, too; raw IP has none. In a
    tunnel, the inner link layer counts."""
    wrong = packet(TCP, sums="bad")
    mac = bytes.fromhex("0200000000aa")
    sll = struct.pack(">HHH6sHH", 4, 1, 6, mac, 0, 0x800)
    sll2 = struct.pack(">HHLHBB6sH", 0x800, 0, 2, 1, 4, 6, mac, 0)
    vxlan = packet(
        UDP, bytes.fromhex("0800000000002a00") + tagged("bad", 0xAA, [9]), ports=(1, 4789)
    )
    for link, data, expected in (
        (113, sll + wrong, ("02:00:00:00:00:aa", [])),
        (276, sll2 + wrong, ("02:00:00:00:00:aa", [])),
        (101, wrong, (None, [])),
        (1, ethernet(vxlan), ("00:00:00:00:00:aa", [9])),
    ):
        assert senders(carry, pcap([data], link=link))["tcp"]["bad"] == [sender(*expected, 1)]


def test_senders_beyond_those_remembered(carry: Run) -> None:
    """Among many senders, the most frequent one is kept, with bounds of its count."""
    often = [tagged("bad", 1, [])] * 300
    others = [tagged("bad", n, [], f"10.1.{n // 200}.{n % 200 + 1}") for n in range(200)]
    found = senders(carry, pcap(others[:150] + often + others[150:]))["tcp"]["bad"]
    assert len(found) == 64
    assert found[0]["address"] == "10.0.0.5"
    assert found[0]["at_least"] <= 300 <= found[0]["at_most"]
    assert all(1 <= each["at_least"] <= each["at_most"] for each in found)


def test_senders_are_the_same_for_any_number_of_threads(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    frames = [tagged("partial", n % 3, [n % 5], f"10.2.0.{n % 200}") for n in range(5000)]
    path.write_bytes(pcap(frames * 5))
    outputs = {carry("check", "-J", f"-j{threads}", path).stdout for threads in (1, 2, 5)}
    assert len(outputs) == 1


# --- Many captures ---


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Returns a folder with captures of all kinds; only `a` and `c` are clean."""
    folder = tmp_path / "captures"
    folder.mkdir()
    contents = {
        "a.pcap": pcap([GOOD, GOOD]),
        "b.pcap": pcap([WRONG] * 2 + [PARTIAL]),
        "c.pcap": pcap([]),
        "d.pcap": pcap([GOOD]) + b"x",
        "e.pcap": pcap([tagged("bad", 9, [4], "10.0.0.7")] * 3),
    }
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    return folder


def test_one_line_a_capture(carry: Run, folder: Path) -> None:
    """Each of several captures has one line with its outcome."""
    done = carry("check", folder)
    assert done.returncode == DAMAGED
    lines, *_ = done.stdout.split("\n\n")
    assert lines.splitlines() == [
        f"{folder}/a.pcap: 2 packets, 124 bytes: clean",
        f"{folder}/b.pcap: 3 packets, 186 bytes: 2 bad checksums",
        f"{folder}/c.pcap: 0 packets, 0 bytes: nothing was checked: no packets",
        f"{folder}/d.pcap: 1 packet, 62 bytes: damaged at offset 102: record header cut: "
        "1 of 16 bytes; before the damage: clean",
        f"{folder}/e.pcap: 3 packets, 198 bytes: 3 bad checksums",
    ]


def test_all_captures_together(carry: Run, folder: Path) -> None:
    """Several captures have one table, their causes, and a total."""
    done = carry("check", folder)
    _, *rest = done.stdout.split("\n\n")
    table, causes, shares, last = rest
    assert re.search(r"tcp +3 +5 +1( +-){3}$", table, re.MULTILINE)
    assert "tcp: 5 bad, 3 from 10.0.0.7, 2 from 10.0.0.5" in causes
    assert "tcp: 1 partial, sent by 10.0.0.5" in causes
    assert shares == "  of 5 bad or illegal checksums, none has a cause"
    assert last == (
        "5 captures, 9 packets: 5 bad checksums; 1 in which nothing was checked; 1 damaged\n"
        f"not clean: {folder}/b.pcap, {folder}/d.pcap, {folder}/e.pcap\n"
    )


def test_causes_of_all_captures(carry: Run, tmp_path: Path) -> None:
    """The most frequent cause is the first one."""
    empty = put16(GOOD, 50, 0)
    (tmp_path / "a.pcap").write_bytes(pcap([empty, put16(GOOD, 24, 0), empty]))
    (tmp_path / "b.pcap").write_bytes(pcap([put16(GOOD, 50, 0xFFFF), WRONG]))
    text = carry("check", tmp_path).stdout
    assert "\n\n  of 5 bad or illegal checksums, 4 have a cause: 3 zero, 1 twice\n\n" in text
    (tmp_path / "a.pcap").unlink()
    (tmp_path / "c.pcap").write_bytes(pcap([GOOD]))
    text = carry("check", tmp_path).stdout
    assert "\n\n  of 2 bad or illegal checksums, 1 has a cause: 1 twice\n\n" in text


def test_datagrams_of_all_captures_are_counted(carry: Run, tmp_path: Path) -> None:
    """Incomplete datagrams of all captures are counted together."""
    part = put16(put16(packet(UDP), 6, 0x2000), 10, 0)
    part = put16(part, 10, finish(part[:20]))
    for name in "ab":
        (tmp_path / name).write_bytes(pcap([part], link=101))
    done = carry("check", tmp_path / "a", tmp_path / "b")
    assert "\n  datagrams: 2 with fragments missing\n" in done.stdout


def test_unknown_links_of_all_captures(carry: Run, tmp_path: Path) -> None:
    """Packets of unknown link types are counted over all captures."""
    for name, link in (("a", 195), ("b", 195), ("c", 147)):
        (tmp_path / name).write_bytes(pcap([GOOD], link=link))
    text = re.sub(r"\n +", " ", carry("check", tmp_path).stdout)
    assert "2 packets of link type 195 (IEEE 802.15.4), 1 packet of link type 147" in text


def test_strict_names_what_was_not_checked(carry: Run, folder: Path) -> None:
    done = carry("check", "--strict", folder)
    assert done.stdout.endswith(
        f"not clean: {folder}/b.pcap, {folder}/c.pcap, {folder}/d.pcap and 1 more; "
        "--list-bad lists them all\n"
    )


def test_damaged_captures_may_be_clean_before_the_damage(carry: Run, tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(pcap([GOOD]))
    (tmp_path / "b.pcap").write_bytes(pcap([GOOD]) + b"x")
    done = carry("check", tmp_path)
    assert "\n2 captures, 2 packets; packets read: clean; 1 damaged\n" in done.stdout


def test_nothing_is_named_where_all_is_clean(carry: Run, folder: Path) -> None:
    done = carry("check", folder / "a.pcap", folder / "a.pcap")
    assert done.stdout.endswith("\n\n2 captures, 4 packets: clean\n")


def test_a_summary_of_each(carry: Run, folder: Path) -> None:
    """--each prints the summary of each capture, and then the total."""
    done = carry("check", "--each", folder)
    alone = carry("check", folder / "b.pcap").stdout
    assert f"\n{alone}\n{folder}/c.pcap: 0 packets" in done.stdout
    assert done.stdout.endswith(carry("check", folder).stdout.split("\n\n", 1)[1])


def test_list_bad(carry: Run, folder: Path) -> None:
    """--list-bad prints the names of captures that are not clean."""
    done = carry("check", "--list-bad", folder)
    assert done.returncode == DAMAGED
    assert done.stdout.splitlines() == [f"{folder}/{name}.pcap" for name in "bde"]
    assert done.stderr == (
        f"carry: {folder}/d.pcap: damaged at offset 102: record header cut: 1 of 16 bytes\n"
    )
    strict = carry("check", "--list-bad", "--strict", folder).stdout.splitlines()
    assert strict == [f"{folder}/{name}.pcap" for name in "bcde"]
    done = carry("check", "--list-bad", folder / "a.pcap", folder / "none")
    assert (done.returncode, done.stdout) == (ERROR, f"{folder}/none\n")
    assert carry("check", "--list-bad", "-q", folder).stdout == ""


def test_list_bad_for_programs(carry: Run, folder: Path) -> None:
    """--list-bad combines with JSON and columns, and, for names only, with --null."""
    found = carry("check", "--list-bad", "-J", folder).stdout.splitlines()
    assert [json.loads(line)["file"][-6] for line in found] == list("bde")
    rows = carry("check", "--list-bad", "-t", folder).stdout.splitlines()
    assert [row.split("\t")[0][-6] for row in rows if "\tall\t" in row] == list("bde")
    done = carry("check", "--list-bad", "-b", folder)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert "--list-bad and --bad-only exclude each other" in done.stderr
    for options in (["-0"], ["-0", "--list-bad", "-J"], ["--null", "--tsv", "--list-bad"]):
        done = carry("check", *options, folder)
        assert (done.returncode, done.stdout) == (ERROR, "")
        assert "--null needs --list-bad, without --json, --tsv or --csv" in done.stderr


def test_list_bad_keeps_names_for_other_programs(tool: str, tmp_path: Path) -> None:
    """Names are printed as they are, but on a terminal, control characters are replaced."""
    path = os.fsencode(tmp_path) + b"/\x1b[31m\xff"
    with open(path, "wb") as file:
        file.write(pcap([WRONG]))
    done = subprocess.run([tool, "check", "--list-bad", path], capture_output=True)
    assert done.stdout == path + b"\n"
    done = subprocess.run([tool, "check", "-0", "--list-bad", path, path], capture_output=True)
    assert done.stdout == (path + b"\0") * 2
    shown = in_terminal([tool, "check", "--list-bad", str(tmp_path)])
    assert shown == f"{tmp_path}/?[31m?\r\n"


def test_damage_in_columns(carry: Run, folder: Path) -> None:
    """Columns show where damage is, and why."""
    done = carry("check", "-t", folder, folder / "none")
    header, *rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert header[-2:] == ["damage", "certain"]
    assert {len(row) for row in rows} == {len(header)}
    damage = {row[0]: row[-2] for row in rows if row[1] == "all"}
    assert damage == {
        f"{folder}/a.pcap": "",
        f"{folder}/b.pcap": "",
        f"{folder}/c.pcap": "",
        f"{folder}/d.pcap": "102: record header cut: 1 of 16 bytes",
        f"{folder}/e.pcap": "",
        f"{folder}/none": "0: No such file or directory",
    }


def calls_of(function: str, command: list[str | Path], out: Path) -> int:
    """Returns how often a program calls one of its functions, as callgrind counts it."""
    checker = ["valgrind", "--tool=callgrind", "--compress-strings=no"]
    checker += [f"--callgrind-out-file={out}"]
    subprocess.run([*checker, *command], capture_output=True, check=True, timeout=60)
    calls = re.findall(rf"^cfn={function}\ncalls=(\d+)", out.read_text(), re.MULTILINE)
    return sum(map(int, calls))


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
def test_a_summary_formats_what_it_shows(tool: str, tmp_path: Path) -> None:
    """A summary formats fewer than 40 numbers: a row formats only the numbers that it shows."""
    if os.environ.get("CARRY_SANITIZED"):
        pytest.skip("valgrind does not run what is built with sanitizers")
    path, out = tmp_path / "a.pcap", tmp_path / "out"
    path.write_bytes(pcap([GOOD]))
    bare = tmp_path / "carry"  # valgrind cannot read the debug information of Clang
    subprocess.run(["strip", "--strip-debug", "-o", bare, tool], check=True)
    assert 0 < calls_of("text_count", [bare, "check", "-j1", path], out) < 40


# --- Terminals ---


def sized(columns: int, command: list[str | Path]) -> list[str]:
    """Returns what a command writes to a terminal of `columns` columns."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {**os.environ, "LC_ALL": "C", "NO_COLOR": "1"}
    with subprocess.Popen(command, stdout=end, stderr=end, stdin=end, env=env) as child:
        os.close(end)
        shown = b""
        with contextlib.suppress(OSError):
            while part := os.read(terminal, 65536):
                shown += part
        child.wait(HANGS)
    os.close(terminal)
    return shown.decode().replace("\r\n", "\n").splitlines()


@pytest.fixture
def varied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    frames = [GOOD] * 1234 + [PARTIAL] * 3 + [WRONG] + [CUT, ARP]
    missing = ethernet(packet(UDP, sums="none", src="2001:db8::1", dst="2001:db8::2"))
    Path("a.pcap").write_bytes(pcap([*frames, missing]) + b"x")
    return "a.pcap"


@pytest.mark.parametrize("columns", [40, 50, 60, 80, 120, 200])
def test_all_lines_fit(tool: str, varied: str, columns: int) -> None:
    lines = sized(columns, [tool, "check", varied])
    assert max(map(len, lines)) <= columns
    text = re.sub(r"\n +", " ", "\n".join(lines))
    for part in ("1,234", "10.0.0.5:40000 -> 10.0.0.9:443", "finished by the network card"):
        assert part in text


def test_a_narrow_terminal_has_sentences(tool: str, varied: str) -> None:
    lines = sized(40, [tool, "check", varied])
    assert "  ip: 1,239 good" in lines
    assert "  frame 1,238, tcp: stored" in "\n".join(lines)
    assert not [line for line in lines if line.split()[:2] == ["good", "bad"]]


def test_wide_terminal_shows_routes_in_the_rows(tool: str, varied: str) -> None:
    wide, usual = (sized(columns, [tool, "check", varied]) for columns in (120, 80))
    assert len(wide) < len(usual)
    (row,) = [line for line in wide if line.startswith("  1,238  tcp ")]
    assert row.endswith("  10.0.0.5:40000 -> 10.0.0.9:443")


def test_no_terminal_is_80_columns(tool: str, carry: Run, varied: str) -> None:
    shown = sized(80, [tool, "check", varied])
    piped = carry("check", varied, env={**os.environ, "LC_ALL": "C"}).stdout.splitlines()
    assert piped[:-2] == shown[:-2]


# --- The progress line ---


DRAWN = "\r\x1b[K"


def watch(
    command: list[str | Path], enough: Callable[[str], bool], feed: bytes = b"", columns: int = 120
) -> str:
    """Returns what a command draws on its terminal until `enough` accepts it. It reads `feed` from
    a pipe, which stays open; its standard output goes to a file."""
    terminal, end = pty.openpty()
    fcntl.ioctl(end, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with (
        tempfile.TemporaryFile() as out,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=end) as child,
    ):
        os.close(end)
        child.stdin.write(feed)
        child.stdin.flush()
        shown = b""
        while not enough(shown.decode(errors="replace")):
            assert select.select([terminal], [], [], 50)[0], shown
            shown += os.read(terminal, 65536)
        child.kill()
    os.close(terminal)
    return shown.decode(errors="replace")


def test_progress_counts_packets_and_bad_sums(tool: str) -> None:
    data = pcap([GOOD] * 1233 + [WRONG])
    shown = watch([tool, "check", "-"], lambda text: text.count(DRAWN) > 1, data)
    assert re.search(r"\r\x1b\[K\d+\.\d kB  0\.00 GB/s  1,234 packets, 1 bad\r", shown)


def test_progress_continues_without_input(tool: str) -> None:
    """Without further input, the progress line is still drawn again."""
    watch([tool, "check", "-"], lambda text: text.count(DRAWN) >= 4, pcap([GOOD]))


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    """Returns a folder with a capture that takes long to check: zeros are empty records."""
    folder = tmp_path / "captures"
    folder.mkdir()
    (folder / "0-small").write_bytes(pcap([WRONG]))
    path = folder / ("\u4e2d" * 60 + "\x1b[31m-name")
    path.write_bytes(pcap([]))
    os.truncate(path, 1 << 40)
    return folder


def test_progress_names_the_file(tool: str, endless: Path) -> None:
    command = [tool, "check", endless]
    shown = watch(command, lambda text: text.count(DRAWN) >= 3)
    assert re.search(r"\] +0 %  [\d.]+ GB/s .* packets, 1 bad  \u4e2d+\?\[31m-name\r", shown)


@pytest.mark.parametrize("columns", [12, 20, 41, 62, 83, 100, 120, 141])
def test_progress_fits(tool: str, endless: Path, columns: int) -> None:
    command = [tool, "check", endless]
    shown = watch(command, lambda text: text.count(DRAWN) >= 2, columns=columns)
    first = shown.split(DRAWN)[1]
    assert len(first.replace("\u4e2d", "..")) < columns
    assert "\ufffd" not in first


def test_progress_does_not_mix_with_lines_of_captures(
    tool: str, tmp_path: Path, endless: Path
) -> None:
    """If the terminal shows both the progress and the results, each result starts at the left
    margin."""
    command = ["/bin/sh", "-c", f"{tool} check - {endless}/0-small"]
    pipe = f"{sys.executable} {slow_script(tmp_path)} | {' '.join(command[2:])}"
    shown = in_terminal(["/bin/sh", "-c", pipe], NO_COLOR="1")
    assert DRAWN in shown
    assert re.search(
        r"\r\x1b\[Kstandard input: \d+ packets, [^\n]*\n"
        # The progress line may have been drawn again before the result.
        r"([^\n]*\r\x1b\[K)?[^\x1b\r\n]*/0-small: 1 pack",
        shown,
    )


def slow_script(tmp_path: Path) -> Path:
    """Returns a script that writes a capture for long enough to show a progress line."""
    script = tmp_path / "slow.py"
    script.write_text(
        f"import sys, time\nsys.path.insert(0, {str(SOURCE / 'tests/harness')!r})\n"
        "from captures import WRONG, pcap\n"
        "out = sys.stdout.buffer\n"
        "out.write(pcap([WRONG]))\n"
        "for _ in range(10):\n"
        "    time.sleep(0.12)\n"
        "    out.write(pcap([WRONG])[24:]); out.flush()\n"
    )
    return script


@pytest.mark.parametrize(
    "command",
    cases(["check -b", "check", "check -J", "check -t", "fix --dry-run -l -", "fix --dry-run"], 4),
)
def test_no_progress_beside_a_pipe(tool: str, tmp_path: Path, command: str) -> None:
    """No progress is shown if the output goes to a pipe, whose reader may write to the same
    terminal."""
    pipe = f"{sys.executable} {slow_script(tmp_path)} | {tool} {command} - | cat"
    shown = in_terminal(["/bin/sh", "-c", pipe])
    assert shown
    assert "\x1b" not in shown
