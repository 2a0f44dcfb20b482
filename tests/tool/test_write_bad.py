# SPDX-License-Identifier: MIT
"""`carry check --write-bad` writes each packet with a bad checksum once, or no file."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest
from captures import GOOD, PARTIAL, TCP, WRONG, Record, mixture, packet, pcap, put16
from carry_tool import BAD, CLEAN, DAMAGED, ERROR, Run
from test_check_threads import THREADS

pytestmark = pytest.mark.covers_capture


def test_write_bad(carry: Run, tmp_path: Path) -> None:
    fcs = 1 | 1 << 26 | 2 << 28
    raw = packet(TCP, sums="bad", src="10.3.3.3")
    sources = {
        "a.pcap": pcap([GOOD, Record(WRONG, fraction=123456), GOOD, WRONG]),
        "b.pcap": pcap([raw, raw], link=101, magic=0xA1B23C4D),
        "c.pcap": pcap([WRONG + b"FCS!"], link=fcs),
        "d.pcap": pcap([PARTIAL, Record(WRONG[:60], wire=600)]) + b"x",
    }
    for name, data in sources.items():
        (tmp_path / name).write_bytes(data)
    bad = tmp_path / "bad.pcapng"
    named = [tmp_path / name for name in sources]
    done = carry("check", "-b", "--write-bad", bad, *named)
    assert done.returncode == DAMAGED
    again = carry("check", "--json", bad)
    assert again.returncode == BAD
    report = json.loads(again.stdout)
    assert (report["packets"], report["protocols"]["tcp"]["bad"]) == (5, 5)
    kept = [json.loads(x) for x in carry("check", "-bJ", bad).stdout.splitlines()]
    first = [json.loads(x) for x in carry("check", "-bJ", *named).stdout.splitlines()]
    names = ["time", "protocol", "from", "stored", "expected"]
    assert [[one[name] for name in names] for one in kept] == [
        [one[name] for name in names] for one in first
    ]
    assert bad.read_bytes().count(struct.pack("<LL", 1, 40)) == 3
    assert f"{tmp_path}/a.pcap, frame 4".encode() in bad.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.pcap",
        "b.pcap",
        *sorted(["bad.pcapng", "c.pcap", "d.pcap"]),
    ]
    mask = os.umask(0)
    os.umask(mask)
    assert bad.stat().st_mode & 0o777 == 0o666 & ~mask


def test_write_bad_writes_a_packet_once(carry: Run, tmp_path: Path) -> None:
    twice = put16(WRONG, 14 + 10, 0xBEEF)
    carry("check", "-w", tmp_path / "bad", "-", stdin=pcap([twice, twice]))
    report = json.loads(carry("check", "--json", tmp_path / "bad").stdout)
    assert (report["packets"], report["protocols"]["ip"]["bad"]) == (2, 2)
    assert report["protocols"]["tcp"]["bad"] == 2


def test_write_bad_is_the_same_for_any_number_of_threads(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    path.write_bytes(mixture())
    written = set()
    for threads in THREADS:
        carry("check", "-q", "-j", threads, "-w", tmp_path / "bad", "--partial=bad", path)
        written.add((tmp_path / "bad").read_bytes())
    assert len(written) == 1


@pytest.mark.skipif(not shutil.which("tshark"), reason="tshark is not installed")
def test_write_bad_is_read_by_tshark(carry: Run, tmp_path: Path) -> None:
    source, bad = tmp_path / "a.pcap", tmp_path / "bad.pcapng"
    source.write_bytes(pcap([GOOD, Record(WRONG, fraction=123456)]))
    carry("check", "-w", bad, source)
    fields = ["-e", "frame.time_epoch", "-e", "frame.len", "-e", "frame.comment"]
    command = ["tshark", "-r", str(bad), "-T", "fields", *fields]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert out == f"1700000000.123456000\t{len(WRONG)}\t{source}, frame 2\n"


def test_write_bad_is_complete_or_absent(carry: Run, tmp_path: Path) -> None:
    source, bad = tmp_path / "a.pcap", tmp_path / "bad.pcapng"
    source.write_bytes(pcap([WRONG]))
    done = carry("check", "-w", tmp_path / "none" / "x", source)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == f"carry: {tmp_path}/none/x: No such file or directory\n"
    assert carry("check", "-w", tmp_path, source).returncode == ERROR
    assert carry("check", "-w", "/dev/null", source).returncode == ERROR
    assert carry("check", "-q", "-w", bad, "-", stdin=pcap([GOOD])).returncode == CLEAN
    assert json.loads(carry("check", "--json", bad).stdout)["packets"] == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.pcap", "bad.pcapng"]


def test_write_bad_without_a_reader(tool: str, tmp_path: Path) -> None:
    """A reader that closes its pipe, such as `head`, causes a message only if the requested file is
    therefore not written."""
    source, bad = tmp_path / "a.pcap", tmp_path / "bad.pcapng"
    source.write_bytes(pcap([WRONG] * 5000))
    reader, writer = os.pipe()
    os.close(reader)
    command = [tool, "check", "-b", "-w", bad, source]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert done.returncode == ERROR
    assert done.stderr == f"carry: {bad}: is not written: writing to standard output failed\n"
    assert not bad.exists()


def test_write_bad_never_replaces_an_input(tool: str, tmp_path: Path) -> None:
    source, link, other = (tmp_path / name for name in ("a.pcap", "link", "b.pcap"))
    link.symlink_to(source)
    other.write_bytes(pcap([WRONG]))
    for inputs in ([source], [link], [other, source], [tmp_path], ["-"]):
        source.write_bytes(pcap([WRONG]))
        with source.open("rb") as stdin:
            command = [tool, "check", "-q", "-w", source, *inputs]
            done = subprocess.run(command, stdin=stdin, capture_output=True, text=True)
        assert done.returncode == ERROR
        assert "not checked: --write-bad would replace it; neither file is changed\n" in done.stderr
        assert source.read_bytes() == pcap([WRONG])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.pcap", "b.pcap", "link"]


def test_write_bad_replaces_its_earlier_output(carry: Run, tmp_path: Path) -> None:
    """A rerun replaces its own earlier output, even in the folder that is checked."""
    (tmp_path / "a.pcap").write_bytes(pcap([WRONG]))
    bad = tmp_path / "z" / "bad.pcapng"
    bad.parent.mkdir()
    for packets in (1, 2):
        done = carry("check", "-w", bad, tmp_path)
        assert (done.returncode, done.stderr) == (BAD, "")
        assert json.loads(carry("check", "--json", bad).stdout)["packets"] == packets
        (tmp_path / "b.pcap").write_bytes(pcap([WRONG]))
