# SPDX-License-Identifier: MIT
"""`carry fix`: what it changes, what it keeps, and what it never does to files."""

from __future__ import annotations

import contextlib
import functools
import gzip
import json
import os
import resource
import signal
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
from carry_tool import BAD, CLEAN, DAMAGED, ERROR, HANGS, MIB, PACKERS, Run, fewer
from schemas import conforming

pytestmark = pytest.mark.covers_capture

TCP_CHECK = 14 + 20 + 16


def log_of(path: Path) -> list[dict[str, Any]]:
    return [conforming("fix_log", line) for line in path.read_text().splitlines()]


def apply(data: bytes, changes: list[dict[str, Any]]) -> bytes:
    """Returns the data with all logged changes made; checks that it had the old values."""
    out = bytearray(data)
    for change in changes:
        field = slice(change["offset"], change["offset"] + change["size"])
        assert int.from_bytes(out[field], "big") == change["old"]
        out[field] = change["new"].to_bytes(change["size"], "big")
    return bytes(out)


def is_wrong(line: dict[str, Any]) -> bool:
    return line["verdict"] in ("bad", "illegal")


class Fix:
    """Repairs data in a folder of its own. Checks that the log lists everything that changed and
    everything that `carry check` finds in the copy, with the same exit status; and that another run
    changes nothing."""

    def __init__(self, carry: Run, folder: Path) -> None:
        self.carry, self.folder = carry, folder
        self.input, self.output = folder / "in.pcap", folder / "out.pcap"
        self.log = folder / "log.ndjson"
        self.left: list[dict[str, Any]] = []

    def __call__(self, data: bytes, *options: str) -> tuple[int, bytes, list[dict[str, Any]]]:
        """Returns the exit status, the copy, and the changes in the log."""
        self.input.write_bytes(data)
        done = self.carry("fix", self.input, "-o", self.output, "--log", self.log, *options)
        assert done.stderr == ""
        fixed, log = self.output.read_bytes(), log_of(self.log)
        changes = [line for line in log if line["reason"] is None]
        self.left = [line for line in log if line["reason"] is not None]
        assert self.input.read_bytes() == data
        assert fixed == apply(data, changes)
        assert all(line["new"] is None for line in self.left)
        self.check_copy(done.returncode)
        self.check_again(options)
        assert {path.name for path in self.folder.iterdir()} == {
            path.name for path in (self.input, self.output, self.log)
        }
        return done.returncode, fixed, changes

    def check_copy(self, status: int) -> None:
        done = self.carry("check", "-b", "--json", self.output)
        found = [conforming("check_bad_only", line) for line in done.stdout.splitlines()]
        assert done.returncode == status
        names = ("frame", "protocol", "verdict", "offset")
        listed = [tuple(line[name] for name in names) for line in self.left if is_wrong(line)]
        # check reports no place for a field beyond the first fragment of its datagram.
        placed = {line[:3]: line for line in listed}
        expected = [tuple(line[name] for name in names) for line in found]
        expected = [placed.get(line[:3], line) if line[3] is None else line for line in expected]
        assert sorted(listed, key=repr) == sorted(expected, key=repr)

    def check_again(self, options: tuple[str, ...]) -> None:
        again = self.carry("fix", self.output, "--dry-run", "--log", "-", *options)
        assert [conforming("fix_log", line) for line in again.stdout.splitlines()] == self.left


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


def test_the_log_has_place_and_values(fix: Fix) -> None:
    _, _, log = fix(pcap([GOOD, WRONG]))
    right = int.from_bytes(GOOD[TCP_CHECK : TCP_CHECK + 2], "big")
    assert log == [
        {
            "schema": 1,
            "frame": 2,
            "offset": 24 + 16 + len(GOOD) + 16 + TCP_CHECK,
            "protocol": "tcp",
            "verdict": "bad",
            "size": 2,
            "old": right ^ 0x1234,
            "new": right,
            "field_frame": 2,
            "reason": None,
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
    """Returns a pcapng file with blocks of many kinds, in two sections."""
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
    """All packets of a capture larger than the window are repaired."""
    frames = [ethernet(packet(TCP, bytes(size * 7 % 9000), sums="bad")) for size in range(1000)]
    status, fixed, log = fix(pcap(frames))
    right = [ethernet(packet(TCP, bytes(size * 7 % 9000))) for size in range(1000)]
    assert (status, len(log)) == (CLEAN, 1000)
    assert fixed == pcap(right)


def test_a_large_packet(fix: Fix) -> None:
    """Packets of 65 kB are repaired."""
    frame = ethernet(packet(TCP, bytes(65000), sums="partial"))
    status, fixed, _ = fix(pcap([frame] * 30))
    assert (status, fixed) == (CLEAN, pcap([ethernet(packet(TCP, bytes(65000)))] * 30))


def test_only(fix: Fix) -> None:
    """With --only, only the named verdicts are repaired."""
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


# --- What is not repaired ---


def fragment(frame: bytes, flags: int) -> bytes:
    frame = put16(put16(frame, 20, flags), 24, 0)
    total = sum(struct.unpack(">10H", frame[14:34]))
    return put16(frame, 24, ~(total % 0xFFFF) & 0xFFFF)


@pytest.mark.parametrize("flags", [0x2000, 0x2010, 0x0010])
def test_content_of_single_fragments_is_not_repaired(fix: Fix, flags: int) -> None:
    frame = fragment(WRONG, flags)
    assert fix(pcap([frame]))[::2] == (CLEAN, [])
    assert fix(pcap([put16(frame, 24, 0x1234)]))[:2] == (CLEAN, pcap([frame]))


def test_truncated_packets_are_not_repaired(fix: Fix) -> None:
    cut = [Record(WRONG[:size], len(WRONG)) for size in range(len(WRONG))]
    assert fix(pcap(cut))[::2] == (CLEAN, [])
    header = put16(WRONG, 24, 0x1234)
    for size in range(34, len(WRONG)):
        right, wrong = (Record(frame[:size], len(WRONG)) for frame in (WRONG, header))
        assert fix(pcap([wrong]))[:2] == (CLEAN, pcap([right]))


def test_malformed_packets_are_passed_through(fix: Fix) -> None:
    frames = [
        put16(GOOD, 16, 0xFFFF),
        GOOD[:14] + b"\x41" + GOOD[15:],
        put16(ethernet(packet(UDP)), 38, 3),
        GOOD[:33],
        b"",
    ]
    status, fixed, log = fix(pcap([*frames, WRONG]))
    assert status == CLEAN  # a malformed packet cannot be verified
    assert fixed.endswith(GOOD)
    assert [change["frame"] for change in log][-1] == 6


def test_damage_is_copied(fix: Fix) -> None:
    whole = pcap([WRONG, PARTIAL])
    sizes = [*fewer(range(4, len(whole)), 7), 24, 24 + 16 + len(GOOD)]
    for size in sizes:
        status, fixed, log = fix(whole[:size])
        assert len(fixed) == size
        ends = {24: 0, 24 + 16 + len(GOOD): 1}
        assert status == (CLEAN if size in ends else DAMAGED)
        assert len(log) == (size >= 24 + 16 + len(GOOD))


def test_bytes_after_damage_are_copied(fix: Fix) -> None:
    garbage = b"\xff" * 100 + os.urandom(2 << 20)
    status, fixed, _ = fix(pcap([WRONG]) + garbage + pcap([WRONG]))
    assert (status, fixed) == (DAMAGED, pcap([GOOD]) + garbage + pcap([WRONG]))


@pytest.mark.parametrize("kind", PACKERS)
def test_unpacked_bytes_of_a_cut_stream_are_copied(carry: Run, tmp_path: Path, kind: str) -> None:
    source, out, log = (tmp_path / name for name in ("in", "out", "log"))
    frames = [ethernet(packet(TCP, os.urandom(30000), sums="bad")) for _ in range(20)]
    packed = PACKERS[kind](pcap(frames))
    sizes = [60, len(packed) // 3, len(packed) // 2, len(packed) - 1]
    if kind == "bzip2":
        del sizes[0]  # only complete blocks are unpacked, and the first piece has none
    seen = set()
    for size in sizes:
        source.write_bytes(packed[:size])
        checked = json.loads(carry("check", "--json", source).stdout)
        done = carry("fix", "--json", source, "-o", out, "--log", log)
        assert (done.returncode, done.stderr) == (DAMAGED, "")
        report = json.loads(done.stdout)
        assert report["damage"] == checked["damage"]
        assert report["damage"]["reason"] == f"cut {kind} stream"
        assert report["packets"] == checked["packets"] == len(log_of(log))
        assert apply(pcap(frames)[: out.stat().st_size], log_of(log)) == out.read_bytes()
        again = json.loads(carry("check", "--json", out).stdout)
        assert again["packets"] == report["packets"]
        seen.add(report["packets"])
    assert len(seen) > 2


def test_unpacked_bytes_of_a_corrupt_stream_are_copied(carry: Run, tmp_path: Path) -> None:
    packed = gzip.compress(pcap([WRONG] * 10))
    done = carry("fix", "-", "-o", tmp_path / "out", stdin=packed + b"garbage")
    assert (done.returncode, done.stderr) == (DAMAGED, "")
    assert (tmp_path / "out").read_bytes() == pcap([GOOD] * 10)


# Files that are not captures, with the message for each.
OTHERS = {
    b"": "empty file",
    b"\x1f": "file header cut: 1 of 4 bytes",
    b"no capture at all\n": "not a capture: it starts with 6e 6f 20 63",
    gzip.compress(bytes(1 << 20)): "not a capture: it starts with 00 00 00 00",
    gzip.compress(b"")[:9]: "cut gzip stream",
    b"iptrace": "not a capture but an iptrace file: convert it with editcap -F pcap",
}


@pytest.mark.parametrize("data", OTHERS, ids=OTHERS.values())
def test_other_files_are_not_copied(carry: Run, tmp_path: Path, data: bytes) -> None:
    source = tmp_path / "in"
    source.write_bytes(data)
    for options in (["-o", tmp_path / "out", "-l", tmp_path / "log"], ["--dry-run"]):
        done = carry("fix", source, *options)
        assert (done.returncode, done.stdout) == (DAMAGED, "")
        assert done.stderr == f"carry: {source}: {OTHERS[data]}\n"
        assert os.listdir(tmp_path) == ["in"]


def test_endless_files_are_not_copied(carry: Run, tmp_path: Path) -> None:
    done = carry("fix", "/dev/zero", "-o", tmp_path / "out")
    assert done.returncode == DAMAGED
    assert done.stderr == "carry: /dev/zero: not a capture: it starts with 00 00 00 00\n"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("behind", [b"", b"\xff" * 16], ids=["of records", "of damage"])
def test_captures_that_unpack_to_too_much(carry: Run, tmp_path: Path, behind: bytes) -> None:
    """A compressed capture that unpacks to too much is refused. The same bytes without compression
    are copied: zeros are empty records or, after damage, bytes that do not change."""
    source, out = tmp_path / "in", tmp_path / "out"
    source.write_bytes(gzip.compress(pcap([]) + behind + bytes(100 * MIB)))
    done = carry("fix", source, "-o", out)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr.startswith(
        f"carry: {source}: decompresses to far more bytes than captures do: "
    )
    assert os.listdir(tmp_path) == ["in"]
    done = carry("fix", "-q", "-", "-o", out, stdin=gzip.decompress(source.read_bytes()))
    assert done.returncode == (DAMAGED if behind else CLEAN)
    assert out.stat().st_size == 24 + len(behind) + 100 * MIB


def packets_of(size: int) -> bytes:
    """Returns a capture of about `size` bytes, with packets of 65,040 bytes."""
    record = pcap([packet(TCP, bytes(65000))], link=101)
    return record + record[24:] * (size // len(record))


@functools.cache
def unpacking_to_much(packets: bool) -> bytes:
    """Returns a compressed capture of packets, or of one block that is skipped."""
    file = Pcapng().section().interface().packet(WRONG).block(0xBAD, bytes(100 * MIB))
    return gzip.compress(packets_of(100 * MIB) if packets else file.bytes())


@pytest.mark.parametrize("options", [[], ["--only=bad"]], ids=["once", "twice"])
@pytest.mark.parametrize("packets", [False, True], ids=["skipped", "packets"])
def test_dry_run_limits_unpacked_bytes(
    carry: Run, tmp_path: Path, packets: bool, options: list[str]
) -> None:
    """The limit on unpacked bytes applies to packets, and also to one large block that is
    skipped."""
    path = tmp_path / "a.pcapng.gz"
    path.write_bytes(unpacking_to_much(packets))
    done = carry("fix", path, "--dry-run", *options)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert "decompresses to far more bytes than captures do" in done.stderr


def test_full_disk_ends_the_copy_after_damage(tool: str, tmp_path: Path) -> None:
    """If the disk is full, the command ends although its input continues."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, MIB))

    child = subprocess.Popen(
        [tool, "fix", "-", "-o", tmp_path / "out"],
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=limit,
    )
    assert child.stdin and child.stderr
    with contextlib.suppress(BrokenPipeError):
        child.stdin.write(pcap([WRONG]) + b"\xff" * 100)
        for _ in range(1000):
            child.stdin.write(bytes(MIB))
            child.stdin.flush()
    assert child.wait(HANGS) == ERROR
    assert child.stderr.read().decode() == f"carry: {tmp_path}/out: File too large\n"
    assert os.listdir(tmp_path) == []
    child.stderr.close()


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
    assert "No such file" in refused(carry("fix", source, "-o", tmp_path / "none/out"))
    assert "No such file" in refused(carry("fix", tmp_path / "none", "-o", tmp_path / "out"))
    assert refused(carry("fix", source, "-o", "")).startswith('carry: "": No such file')
    out = ["-o", tmp_path / "out"]
    assert "is an output of this command already" in refused(
        carry("fix", source, *out, "--log", tmp_path / "out")
    )
    assert sorted(os.listdir(tmp_path)) == ["in"]


def test_usage(carry: Run, tmp_path: Path) -> None:
    """Wrong usage is refused with its reason; `carry help` shows the text of --help."""
    out = ["-o", tmp_path / "out"]
    assert "no file" in refused(carry("fix", *out))
    assert "one file" in refused(carry("fix", "a", "b", *out))
    assert "no --output" in refused(carry("fix", "a"))
    assert "--dry-run" in refused(carry("fix", "a", "--dry-run", *out))
    for verdicts in ("good", "bad,", "", "absent", "bad,x"):
        assert "--only takes" in refused(carry("fix", "a", *out, "--only", verdicts))
    assert "--nonsense" in refused(carry("fix", "a", *out, "--nonsense"))
    assert carry("fix", "--help").stdout == carry("help", "fix").stdout != ""


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_copy_has_the_permissions_of_the_capture(carry: Run, tmp_path: Path, mode: int) -> None:
    source, out = tmp_path / "in", tmp_path / "out"
    source.write_bytes(pcap([WRONG]))
    source.chmod(mode)
    assert carry("fix", source, "-o", out).returncode == CLEAN
    assert stat.S_IMODE(out.stat().st_mode) == mode


def test_standard_input(carry: Run, tmp_path: Path) -> None:
    """A capture from standard input is repaired."""
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


def test_reader_that_closes_its_pipe(tool: str, tmp_path: Path) -> None:
    source = tmp_path / "in"
    source.write_bytes(pcap([WRONG] * 30000))
    message = f"carry: {tmp_path}/out: is not written: writing the log failed\n"
    for options, said in ((["-o", tmp_path / "out"], message), (["--dry-run"], "")):
        command = [tool, "fix", source, *options, "--log", "-"]
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert run.stdout and run.stderr
        run.stdout.readline()
        run.stdout.close()
        assert (run.wait(HANGS), run.stderr.read()) == (ERROR, said)
        run.stderr.close()
        assert os.listdir(tmp_path) == ["in"]


# --- Reports ---


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
    """The summary counts the repaired sums, and the bad sums that were not repaired."""
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
        "  tcp: 1 bad in frame 1: --only does not name this verdict\n"
        "\n"
        f"1 checksum repaired in 1 packet, 1 left bad; written to {out}\n"
    )
    assert carry("fix", source, "-o", out, "-q").stdout == ""


def test_summary_counts_sums_that_are_not_repaired(carry: Run) -> None:
    for options, data, said in (
        ([], pcap([GOOD]), "nothing to repair"),
        (["--only", "partial"], pcap([WRONG]), "nothing repaired, 1 left bad"),
    ):
        done = carry("fix", "--dry-run", *options, "-", stdin=data)
        assert done.stdout.splitlines()[-1] == said


def test_json(carry: Run, tmp_path: Path) -> None:
    """The JSON object has exactly the expected members and values."""
    source, out = tmp_path / "in", tmp_path / "out"
    source.write_bytes(pcap([WRONG, PARTIAL, GOOD]) + b"\x00")
    done = carry("fix", source, "-o", out, "--only", "bad", "--json")
    assert conforming("fix", done.stdout) == {
        "schema": 1,
        "file": str(source),
        "output": str(out),
        "packets": 3,
        "bytes": 3 * len(GOOD),
        "changed_packets": 1,
        "repaired": {"tcp": {"bad": 1}},
        "left": {"tcp": {"partial": 1}},
        "damage": {"offset": len(pcap([GOOD] * 3)), "reason": "record header cut: 1 of 16 bytes"},
        "reasons": [
            {"protocol": "tcp", "verdict": "partial", "reason": "only", "count": 1, "frames": [2]}
        ],
        "unselected": 0,
    }
    assert carry("fix", source, "-o", out, "--only", "bad", "-J").stdout == done.stdout
    done = carry("fix", source, "--dry-run", "--log", "-")
    assert [json.loads(line)["frame"] for line in done.stdout.splitlines()] == [1, 2]
