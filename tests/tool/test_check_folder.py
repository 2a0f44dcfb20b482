# SPDX-License-Identifier: MIT
"""`carry check FOLDER` checks all captures below a folder, and skips other files."""

from __future__ import annotations

import gzip
import json
import lzma
import os
from pathlib import Path

import pytest
from captures import GOOD, WRONG, Pcapng, pcap
from carry_tool import CLEAN, DAMAGED, ERROR, Run

pytestmark = pytest.mark.covers_capture


def test_folder(carry: Run, tmp_path: Path) -> None:
    """Captures are recognised by content, and read in the order of their names. Links to folders
    and pipes are skipped."""
    folder = tmp_path / "captures"
    (folder / "b" / "deep").mkdir(parents=True)
    (folder / "a").mkdir()
    (folder / "b" / "deep" / "x.pcap").write_bytes(pcap([WRONG]))
    (folder / "b" / "1.pcap.gz").write_bytes(gzip.compress(pcap([GOOD, GOOD])))
    (folder / "a" / "no-suffix").write_bytes(Pcapng().section().interface().packet(GOOD).bytes())
    (folder / "a.pcap").write_bytes(pcap([GOOD]) + b"x")
    (folder / "notes.txt").write_text("not a capture")
    (folder / "notes.gz").write_bytes(gzip.compress(b"not a capture"))
    (folder / "empty").write_bytes(b"")
    os.mkfifo(folder / "fifo")
    os.symlink(folder, folder / "loop")
    os.symlink(folder / "b" / "deep" / "x.pcap", folder / "link.pcap")
    names = ["a/no-suffix", "a.pcap", "b/1.pcap.gz", "b/deep/x.pcap", "link.pcap"]
    for named in (folder, f"{folder}/"):
        done = carry("check", "--json", named)
        reports = [json.loads(line) for line in done.stdout.splitlines()]
        assert [report["file"] for report in reports] == [f"{folder}/{name}" for name in names]
        assert [report["packets"] for report in reports] == [1, 1, 2, 1, 1]
        assert (done.returncode, done.stderr) == (DAMAGED, "")
    done = carry("check", folder)
    assert done.stdout.endswith(
        "\n5 captures, 6 packets: 2 bad checksums; 1 damaged; 3 other files skipped\n"
        f"not clean: {folder}/a.pcap, {folder}/b/deep/x.pcap, {folder}/link.pcap\n"
    )
    lines = carry("check", "--bad-only", folder / "b").stdout.splitlines()
    assert [line.split(": ")[0] for line in lines] == [f"{folder}/b/deep/x.pcap"]


BROKEN = {
    "empty.pcap": (b"", "empty file"),
    "three.pcapng": (b"\xd4\xc3\xb2", "file header cut: 3 of 4 bytes"),
    "A.PCAP": (b"no capture", "not a capture: it starts with 6e 6f 20 63"),
    "rotated.pcap12": (b"", "empty file"),
    "dated.cap.20261123.gz": (gzip.compress(b""), "empty file"),
    "x.pcap.xz": (b"\xfd7zXZ\0", "cut xz stream"),
    "lz4.pcap": (b"\x04\x22\x4d\x18?", "cut lz4 stream"),
    "cut.pcap.gz": (gzip.compress(pcap([GOOD]))[:9], "cut gzip stream"),
}


# Captures in formats that are not supported. They are recognised by content, not by name.
FOREIGN = {
    "netxray": (b"XCP\x00002.002", "a NetXray or Windows Sniffer file"),
    "sniffer": (b"TRSNIFF data    \x1a", "a DOS Sniffer file"),
    "iptrace": (b"iptrace 2.0", "an iptrace file"),
}


def test_broken_captures_in_a_folder_are_named(carry: Run, tmp_path: Path) -> None:
    (tmp_path / "good.pcap").write_bytes(pcap([GOOD]))
    advice = ": convert it with editcap -F pcap"
    expected = {**BROKEN}
    for name, (data, what) in FOREIGN.items():
        expected[name] = (data, f"not a capture but {what}{advice}")
    for name, (data, _) in expected.items():
        (tmp_path / name).write_bytes(data)
    done = carry("check", "--json", tmp_path)
    assert (done.returncode, done.stderr) == (DAMAGED, "")
    reports = {report["file"]: report for report in map(json.loads, done.stdout.splitlines())}
    assert len(reports) == len(expected) + 1
    for name, (_, reason) in expected.items():
        assert reports[str(tmp_path / name)]["damage"]["reason"] == reason
        alone = carry("check", "--json", tmp_path / name)
        assert json.loads(alone.stdout) == reports[str(tmp_path / name)]
        assert alone.returncode == DAMAGED
    assert carry("check", "-q", tmp_path).returncode == DAMAGED


def test_other_files_are_skipped(carry: Run, tmp_path: Path) -> None:
    (tmp_path / "good.pcap").write_bytes(pcap([GOOD]))
    names = [
        "notes.pcap.txt",
        "a.pcap.md5",
        "pcap",
        "a.gz",
        ".a.pcap",
        "._b.pcap",
        "caption",
        "1.2",
    ]
    for name in names:
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "a.xz").write_bytes(lzma.compress(b"not a capture"))
    done = carry("check", tmp_path)
    assert done.returncode == CLEAN
    assert done.stdout.endswith(
        f"\n1 capture, 1 packet: clean; {len(names) + 1} other files skipped\n"
    )


def test_a_file_that_is_named_is_not_skipped(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a capture")
    assert carry("check", path).returncode == DAMAGED


def test_folder_without_captures(carry: Run, tmp_path: Path) -> None:
    """A folder without captures is an error."""
    (tmp_path / "notes.txt").write_text("not a capture")
    done = carry("check", tmp_path)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == f"carry: {tmp_path}: no captures in this folder\n"


def test_links_to_nowhere_in_a_folder(carry: Run, tmp_path: Path) -> None:
    """A dangling link is named with the system error."""
    (tmp_path / "a.pcap").write_bytes(pcap([GOOD]))
    os.symlink(tmp_path / "none", tmp_path / "b.pcap")
    done = carry("check", "-q", tmp_path)
    assert done.returncode == ERROR
    assert done.stderr == f"carry: {tmp_path}/b.pcap: No such file or directory\n"
