# SPDX-License-Identifier: MIT
"""`carry fix`: what it changes, what it leaves, and what it never does to files."""

from __future__ import annotations

import gzip
import json
import os
import stat
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from captures import (
    GOOD,
    PARTIAL,
    TCP,
    UDP,
    UDPLITE,
    V6,
    WRONG,
    Pcapng,
    Record,
    ethernet,
    option,
    packet,
    pcap,
    put16,
)
from conftest import BAD, CLEAN, DAMAGED, ERROR, Run

TCP_CHECK = 14 + 20 + 16


def log_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def apply(data: bytes, log: list[dict[str, Any]]) -> bytes:
    """The bytes with each logged change made, if they hold the old values."""
    out = bytearray(data)
    for change in log:
        field = slice(change["offset"], change["offset"] + change["size"])
        assert int.from_bytes(out[field], "big") == change["old"]
        out[field] = change["new"].to_bytes(change["size"], "big")
    return bytes(out)


class Fix:
    """Repairs bytes in a folder of its own, and sees that the log says all that changed."""

    def __init__(self, carry: Run, folder: Path) -> None:
        self.carry, self.folder = carry, folder
        self.input, self.output = folder / "in.pcap", folder / "out.pcap"
        self.log = folder / "log.ndjson"

    def __call__(self, data: bytes, *options: str) -> tuple[int, bytes, list[dict[str, Any]]]:
        self.input.write_bytes(data)
        done = self.carry("fix", self.input, "-o", self.output, "--log", self.log, *options)
        assert done.stderr == ""
        fixed, log = self.output.read_bytes(), log_of(self.log)
        assert self.input.read_bytes() == data
        assert fixed == apply(data, log)
        assert {path.name for path in self.folder.iterdir()} == {
            path.name for path in (self.input, self.output, self.log)
        }
        return done.returncode, fixed, log


@pytest.fixture
def fix(carry: Run, tmp_path: Path) -> Fix:
    return Fix(carry, tmp_path)


# --- What is repaired ---


@pytest.mark.parametrize("sums", ["bad", "partial", "none"])
@pytest.mark.parametrize("protocol", [TCP, UDP, UDPLITE])
@pytest.mark.parametrize("ends", [{}, V6], ids=["ipv4", "ipv6"])
def test_repairs(fix: Fix, sums: str, protocol: int, ends: dict[str, str]) -> None:
    status, fixed, log = fix(pcap([GOOD, ethernet(packet(protocol, sums=sums, **ends)), GOOD]))
    absent = sums == "none" and protocol == UDP and not ends
    right = ethernet(packet(protocol, sums="none" if absent else "good", **ends))
    assert (status, fixed) == (CLEAN, pcap([GOOD, right, GOOD]))
    assert [change["frame"] for change in log] == ([] if absent else [2])


def test_the_log_tells_place_and_values(fix: Fix) -> None:
    _, _, log = fix(pcap([GOOD, WRONG]))
    right = int.from_bytes(GOOD[TCP_CHECK : TCP_CHECK + 2], "big")
    assert log == [
        {
            "frame": 2,
            "offset": 24 + 16 + len(GOOD) + 16 + TCP_CHECK,
            "protocol": "tcp",
            "verdict": "bad",
            "size": 2,
            "old": right ^ 0x1234,
            "new": right,
        }
    ]


@pytest.mark.parametrize("order", ["<", ">"], ids=["little", "big"])
@pytest.mark.parametrize("magic", [0xA1B2C3D4, 0xA1B23C4D, 0xA1B2CD34], ids=hex)
def test_every_pcap_format_is_kept(fix: Fix, order: str, magic: int) -> None:
    records = [Record(frame, fraction=999_999_999) for frame in (WRONG, GOOD, PARTIAL)]
    status, fixed, _ = fix(pcap(records, order=order, magic=magic))
    right = [Record(GOOD, fraction=999_999_999)] * 3
    assert (status, fixed) == (CLEAN, pcap(right, order=order, magic=magic))


def pcapng(order: str, frame: bytes) -> bytes:
    """A bit of everything that a section may hold."""
    file = Pcapng(order).section(option(order, 1, b"a comment"))
    file.interface(options=option(order, 9, b"\x09")).block(0x0BAD, b"unknown block!!!")
    file.packet(frame, ticks=5).block(4, b"\x01\x00\x08\x00name....").old_packet(frame)
    file.simple_packet(frame).block(5, b"\x00" * 12).block(0x40000BAD, os.urandom(3 << 20))
    return file.section().interface(link=147).packet(frame).bytes()


@pytest.mark.parametrize("order", ["<", ">"], ids=["little", "big"])
def test_every_block_of_pcapng_is_kept(fix: Fix, order: str) -> None:
    status, _, log = fix(pcapng(order, WRONG))
    assert (status, [change["frame"] for change in log]) == (CLEAN, [1, 2, 3])


def test_captures_larger_than_the_window(fix: Fix) -> None:
    frames = [ethernet(packet(TCP, bytes(size * 7 % 9000), sums="bad")) for size in range(1000)]
    status, fixed, log = fix(pcap(frames))
    right = [ethernet(packet(TCP, bytes(size * 7 % 9000))) for size in range(1000)]
    assert (status, len(log)) == (CLEAN, 1000)
    assert fixed == pcap(right)


def test_a_large_packet(fix: Fix) -> None:
    frame = ethernet(packet(TCP, bytes(65000), sums="partial"))
    status, fixed, _ = fix(pcap([frame] * 30))
    assert (status, fixed) == (CLEAN, pcap([ethernet(packet(TCP, bytes(65000)))] * 30))


def test_only(fix: Fix) -> None:
    illegal = ethernet(packet(UDP, sums="none", **V6))
    data = pcap([WRONG, PARTIAL, illegal])
    for verdicts, frames, status in [
        ("partial", [2], BAD),
        ("bad", [1], BAD),
        ("illegal", [3], BAD),
        ("bad,illegal", [1, 3], CLEAN),
        ("illegal,partial,bad", [1, 2, 3], CLEAN),
    ]:
        result, _, log = fix(data, "--only", verdicts)
        assert ([change["frame"] for change in log], result) == (frames, status)


# --- What is left ---


def fragment(frame: bytes, flags: int) -> bytes:
    frame = put16(put16(frame, 20, flags), 24, 0)
    total = sum(struct.unpack(">10H", frame[14:34]))
    return put16(frame, 24, ~(total % 0xFFFF) & 0xFFFF)


@pytest.mark.parametrize("flags", [0x2000, 0x2010, 0x0010])
def test_fragments_are_left(fix: Fix, flags: int) -> None:
    frame = fragment(WRONG, flags)
    assert fix(pcap([frame]))[::2] == (CLEAN, [])
    assert fix(pcap([put16(frame, 24, 0x1234)]))[::2] == (BAD, [])


def test_truncated_packets_are_left(fix: Fix) -> None:
    cut = [Record(WRONG[:size], len(WRONG)) for size in range(len(WRONG))]
    assert fix(pcap(cut))[::2] == (CLEAN, [])
    header = put16(WRONG, 24, 0x1234)
    assert fix(pcap([Record(header[:40], len(WRONG))]))[::2] == (BAD, [])


def test_malformed_packets_are_passed_through(fix: Fix) -> None:
    frames = [
        put16(GOOD, 16, 0xFFFF),
        GOOD[:14] + b"\x41" + GOOD[15:],
        put16(ethernet(packet(UDP)), 38, 3),
        GOOD[:33],
        b"",
    ]
    status, fixed, log = fix(pcap([*frames, WRONG]))
    assert status == CLEAN  # what is malformed cannot be verified
    assert fixed.endswith(GOOD)
    assert [change["frame"] for change in log][-1] == 6


def test_damage_is_copied(fix: Fix) -> None:
    whole = pcap([WRONG, PARTIAL])
    for size in range(len(whole)):
        status, fixed, log = fix(whole[:size])
        assert len(fixed) == size
        ends = {24: 0, 24 + 16 + len(GOOD): 1}
        assert status == (CLEAN if size in ends else DAMAGED)
        assert len(log) == (size >= 24 + 16 + len(GOOD))


def test_what_follows_damage_is_copied(fix: Fix) -> None:
    garbage = b"\xff" * 100 + os.urandom(2 << 20)
    status, fixed, _ = fix(pcap([WRONG]) + garbage + pcap([WRONG]))
    assert (status, fixed) == (DAMAGED, pcap([GOOD]) + garbage + pcap([WRONG]))


def test_other_files_are_copied(fix: Fix) -> None:
    for data in (b"", b"no capture at all\n", b"\x1f"):
        assert fix(data)[:2] == (DAMAGED, data)


# --- Files ---


def refused(done: subprocess.CompletedProcess[str]) -> str:
    assert (done.returncode, done.stdout) == (ERROR, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("carry")
    return line


@pytest.mark.parametrize("where", ["--output", "--log"])
def test_the_input_is_never_written_to(carry: Run, tool: str, tmp_path: Path, where: str) -> None:
    source = tmp_path / "in.pcap"
    source.write_bytes(pcap([WRONG]))
    (tmp_path / "folder").mkdir()
    (tmp_path / "symbolic").symlink_to("in.pcap")
    (tmp_path / "twice").symlink_to("symbolic")
    (tmp_path / "hard").hardlink_to(source)
    names = ["in.pcap", "symbolic", "twice", "hard", "folder/../in.pcap"]
    before = sorted(tmp_path.iterdir())
    other = [] if where == "--output" else ["-o", tmp_path / "out"]
    for name in names:
        assert "is the input" in refused(carry("fix", source, *other, where, tmp_path / name))
        assert "is the input" in refused(carry("fix", tmp_path / name, *other, where, source))
    with source.open("rb") as stdin:
        done = subprocess.run(
            [tool, "fix", "-", *other, where, source],
            stdin=stdin,
            capture_output=True,
            text=True,
        )
    assert "is the input" in refused(done)
    assert source.read_bytes() == pcap([WRONG])
    assert sorted(tmp_path.iterdir()) == before


def test_an_older_output_is_replaced_at_the_end(carry: Run, tmp_path: Path) -> None:
    source, target, link = (tmp_path / name for name in ("in", "target", "link"))
    source.write_bytes(pcap([WRONG]))
    target.write_bytes(b"old")
    link.symlink_to(target)
    assert carry("fix", source, "-o", link).returncode == CLEAN
    assert link.is_symlink()
    assert target.read_bytes() == pcap([GOOD])


def test_outputs_that_cannot_be_written(carry: Run, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.write_bytes(pcap([WRONG]))
    assert "directory" in refused(carry("fix", source, "-o", tmp_path))
    os.mkfifo(tmp_path / "pipe")
    assert "no regular file" in refused(carry("fix", source, "-o", tmp_path / "pipe"))
    assert "No such file" in refused(carry("fix", source, "-o", tmp_path / "none/out"))
    assert "No such file" in refused(carry("fix", tmp_path / "none", "-o", tmp_path / "out"))
    out = ["-o", tmp_path / "out"]
    assert "output too" in refused(carry("fix", source, *out, "--log", tmp_path / "out"))
    assert sorted(os.listdir(tmp_path)) == ["in", "pipe"]
    assert (tmp_path / "pipe").is_fifo()


def test_usage(carry: Run, tmp_path: Path) -> None:
    out = ["-o", tmp_path / "out"]
    assert "no file" in refused(carry("fix", *out))
    assert "one file" in refused(carry("fix", "a", "b", *out))
    assert "no --output" in refused(carry("fix", "a"))
    assert "must be a file" in refused(carry("fix", "a", "-o", "-"))
    assert "--dry-run" in refused(carry("fix", "a", "--dry-run", *out))
    for verdicts in ("good", "bad,", "", "absent", "bad,x"):
        assert "--only takes" in refused(carry("fix", "a", *out, "--only", verdicts))
    assert "--nonsense" in refused(carry("fix", "a", *out, "--nonsense"))
    assert carry("fix", "--help").stdout == carry("help", "fix").stdout != ""


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_nobody_may_read_the_copy_who_may_not_read_the_capture(
    carry: Run, tmp_path: Path, mode: int
) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.write_bytes(pcap([WRONG]))
    source.chmod(mode)
    assert carry("fix", source, "-o", out).returncode == CLEAN
    assert stat.S_IMODE(out.stat().st_mode) == mode


def test_standard_input(carry: Run, tmp_path: Path) -> None:
    done = carry("fix", "-", "-o", tmp_path / "out", stdin=pcap([WRONG]))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert (tmp_path / "out").read_bytes() == pcap([GOOD])


@pytest.mark.parametrize("size", [1, 30000])
def test_compressed_captures_are_written_as_they_unpack(
    carry: Run, tmp_path: Path, size: int
) -> None:
    packed = gzip.compress(pcap([WRONG] * size))
    done = carry("fix", "-", "-o", tmp_path / "out", stdin=packed)
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert (tmp_path / "out").read_bytes() == pcap([GOOD] * size)


def test_a_reader_that_leaves(tool: str, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.write_bytes(pcap([WRONG] * 30000))
    command = [tool, "fix", source, "-o", tmp_path / "out", "--log", "-"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert run.stdout
    run.stdout.readline()
    run.stdout.close()
    assert run.wait(10) == ERROR
    assert os.listdir(tmp_path) == ["in"]


# --- What is said ---


def test_dry_run(carry: Run, tmp_path: Path) -> None:
    source, log = tmp_path / "in", tmp_path / "log"
    source.write_bytes(pcap([WRONG, PARTIAL]))
    done = carry("fix", source, "--dry-run", "--log", log)
    assert done.returncode == CLEAN
    assert done.stdout.endswith("\n2 checksums would be repaired in 2 packets\n")
    assert len(log_of(log)) == 2
    assert sorted(os.listdir(tmp_path)) == ["in", "log"]
    assert source.read_bytes() == pcap([WRONG, PARTIAL])


def test_summary(carry: Run, tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.write_bytes(pcap([WRONG, PARTIAL, fragment(WRONG, 0x10), GOOD]))
    done = carry("fix", source, "-o", out, "--only", "partial")
    assert done.stdout == (
        f"{source}: 4 packets, 248 bytes\n"
        "\n"
        "  repaired           partial\n"
        "  tcp                      1\n"
        "\n"
        "  left                   bad\n"
        "  tcp                      1\n"
        "\n"
        f"1 checksum repaired in 1 packet, 1 left bad; written to {out}\n"
    )
    assert carry("fix", source, "-o", out, "-q").stdout == ""


def test_json(carry: Run, tmp_path: Path) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.write_bytes(pcap([WRONG, PARTIAL, GOOD]) + b"\x00")
    done = carry("fix", source, "-o", out, "--only", "bad", "--json")
    assert json.loads(done.stdout) == {
        "file": str(source),
        "output": str(out),
        "packets": 3,
        "bytes": 3 * len(GOOD),
        "changed_packets": 1,
        "repaired": {"tcp": {"bad": 1}},
        "left": {"tcp": {"partial": 1}},
        "damage": {"offset": len(pcap([GOOD] * 3)), "reason": "record header cut: 1 of 16 bytes"},
    }
    assert carry("fix", source, "-o", out, "--only", "bad", "-J").stdout == done.stdout
    done = carry("fix", source, "--dry-run", "--log", "-")
    assert [json.loads(line)["frame"] for line in done.stdout.splitlines()] == [1, 2]
