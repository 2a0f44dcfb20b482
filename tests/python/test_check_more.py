# SPDX-License-Identifier: MIT
"""`carry check` on many captures at once: threads, compression, folders, and what to look at."""

from __future__ import annotations

import functools
import gzip
import json
import lzma
import os
import re
import resource
import shutil
import struct
import subprocess
import zlib
from pathlib import Path
from typing import Any

import pytest
from captures import (
    GOOD,
    ICMP,
    PARTIAL,
    TCP,
    UDP,
    V6,
    WRONG,
    Pcapng,
    Record,
    ethernet,
    packet,
    pcap,
    put16,
)
from conftest import (
    BAD,
    CLEAN,
    DAMAGED,
    ERROR,
    MIB,
    PACKERS,
    SOURCE,
    Check,
    CheckAll,
    Run,
    packed_by,
    peak_kib,
    zstd,
)

pytestmark = pytest.mark.covers_capture

CORPUS = Path(os.environ.get("CARRY_CORPUS", SOURCE.parent / "shared/captures"))
CAPTURES = [
    path
    for folder in (SOURCE / "examples", CORPUS)
    if folder.is_dir()
    for path in sorted(folder.rglob("*"))
    if path.is_file() and ".pcap" in path.name
]

THREADS = ["1", "2", "3", "8"]
MODES = [[], ["--json"], ["--tsv"], ["--bad-only"], ["--bad-only", "--json"]]


@functools.cache
def mixture() -> bytes:
    """
    A capture of many batches, in which what depends on the order of packets is there in plenty:
    more senders than are remembered, more unknown link types than are named, damage at the end.
    """
    file = Pcapng().section()
    for link in (1, *range(60000, 60025), 101):
        file.interface(link=link)
    frames = []
    for host in range(200):
        ends = {"src": f"10.1.{host % 7}.{host}", "dst": "10.9.9.9"}
        for number, kind in enumerate(("good", "good", "bad", "partial", "good", "none")):
            protocol = UDP if kind == "none" else TCP
            payload = bytes(range(host % 50)) * (1 + number * host % 20)
            frames.append(ethernet(packet(protocol, payload, sums=kind, **ends)))
    part = len(file.parts)
    for number, frame in enumerate(frames):
        file.packet(frame, ticks=number)
        if number % 3 == 0:
            file.packet(b"?", interface=1 + number * 7 % 26)
    repeated = b"".join(file.parts[part:])
    return b"".join(file.parts[:part]) + repeated * 6 + b"damage"


def results(carry: Run, threads: str, *arguments: str | Path) -> list[tuple[int, str, str]]:
    found = []
    for mode in MODES:
        done = carry("check", "-j", threads, *mode, *arguments)
        found.append((done.returncode, done.stdout, done.stderr))
    return found


def test_any_number_of_threads_says_the_same(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "mixture.pcapng"
    path.write_bytes(mixture())
    alone = results(carry, "1", path)
    assert alone[0][0] == DAMAGED
    assert "from more than 64 senders" in alone[0][1] or "the rest from many" in alone[0][1]
    assert "of others" in " ".join(alone[0][1].split())
    assert len(alone[3][1].splitlines()) == 6 * 200
    for threads in THREADS[1:]:
        assert results(carry, threads, path) == alone


@pytest.mark.skipif(len(CAPTURES) < 10, reason=f"no captures in {CORPUS}")
def test_any_number_of_threads_says_the_same_of_real_captures(carry: Run) -> None:
    alone = results(carry, "1", *CAPTURES)
    for threads in THREADS[1:]:
        assert results(carry, threads, *CAPTURES) == alone


def test_examples_with_any_number_of_threads(carry: Run) -> None:
    paths = [path for path in CAPTURES if path.parent == SOURCE / "examples"]
    assert len(paths) >= 4
    for path in paths:
        assert len({repr(results(carry, threads, path)) for threads in THREADS}) == 1


def test_pipes_say_what_files_say(tool: str, tmp_path: Path) -> None:
    """However a pipe divides the bytes, and so the batches."""
    path = tmp_path / "mixture.pcapng"
    path.write_bytes(mixture())
    for size in (777, 65536):
        for threads in THREADS:
            reader = subprocess.Popen(
                [tool, "check", "--json", f"-j{threads}", "-"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            data = mixture()
            for at in range(0, len(data), size):
                reader.stdin.write(data[at : at + size])
                reader.stdin.flush()
            out, _ = reader.communicate()
            with path.open("rb") as file:
                again = subprocess.run(
                    [tool, "check", "--json", "-"], stdin=file, stdout=subprocess.PIPE
                )
            assert (reader.returncode, out) == (again.returncode, again.stdout)


@pytest.mark.skipif("CARRY_SANITIZED" in os.environ, reason="sanitizers reserve more")
@pytest.mark.parametrize("kib", [60000, 400000])
def test_threads_that_there_is_no_memory_for_are_done_without(
    tool: str, tmp_path: Path, kib: int
) -> None:
    """Their stacks and heaps take addresses from what one thread alone needs."""
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([GOOD, WRONG, PARTIAL] * 100_000))
    limit = functools.partial(resource.setrlimit, resource.RLIMIT_AS, (kib * 1024,) * 2)
    shown = {}
    for threads in ("1", "256"):
        done = subprocess.run(
            [tool, "check", "--json", "-j", threads, path], capture_output=True, preexec_fn=limit
        )
        assert (done.returncode, done.stderr) == (BAD, b"")
        shown[threads] = done.stdout
    assert shown["1"] == shown["256"]


@pytest.mark.parametrize("value", ["0", "257", "x", "-1", ""])
def test_threads_are_a_number(carry: Run, value: str) -> None:
    done = carry("check", "--threads", value, "a")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert f"--threads takes a number from 1 to 256, not '{value}'" in done.stderr


def test_unknown_links_beyond_those_named(check: Check) -> None:
    file = Pcapng().section()
    for link in range(60000, 60020):
        file.interface(link=link)
    for number in range(20):
        for _ in range(number + 1):
            file.packet(b"?", interface=number)
    links = check(file.bytes())[1]["unknown_links"]
    assert links == {**{str(60000 + n): n + 1 for n in range(16)}, "others": 17 + 18 + 19 + 20}


# --- Compression ---


ALL = pytest.mark.parametrize("kind", PACKERS)


def without_name(report: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in report.items() if key != "file"}


@ALL
def test_compressed_is_as_if_it_were_not(
    carry: Run, check: Check, tmp_path: Path, kind: str
) -> None:
    for data in (pcap([GOOD, WRONG, PARTIAL] * 500), mixture(), pcap([]), pcap([GOOD])[:70]):
        plain, packed = tmp_path / "plain", tmp_path / "packed"
        plain.write_bytes(data)
        packed.write_bytes(PACKERS[kind](data))
        for mode in MODES:
            one = carry("check", *mode, plain)
            other = carry("check", *mode, packed)
            for text in ("stdout", "stderr"):
                named = getattr(other, text).replace(str(packed), str(plain))
                assert named == getattr(one, text)
            assert other.returncode == one.returncode
        assert check(PACKERS[kind](data)) == check(data)


@ALL
def test_streams_one_behind_the_other(check: Check, kind: str) -> None:
    pack = PACKERS[kind]
    whole = pcap([GOOD, WRONG] * 50)
    for at in (1, 24, 30, len(whole) - 1):
        assert check(pack(whole[:at]) + pack(b"") + pack(whole[at:])) == check(whole)


@ALL
def test_cut_streams_are_damage(check_all: CheckAll, kind: str) -> None:
    """Wherever a stream is cut: never a crash, and never what looks like a whole capture."""
    data = pcap([ethernet(packet(TCP, os.urandom(30000))) for _ in range(20)])
    packed = PACKERS[kind](data)
    seen = set()
    sizes = [*range(4, 40), *range(60, len(packed), 20011), len(packed) - 1]
    for status, report in check_all(packed[:size] for size in sizes):
        assert status == DAMAGED
        assert report["damage"]["reason"] == f"cut {kind} stream"
        assert report["damage"]["offset"] in {0, *range(24, len(data) + 1, 16 + 30054)}
        seen.add(report["packets"])
    assert len(seen) > 3


@ALL
def test_corrupt_streams_are_damage(check: Check, check_all: CheckAll, kind: str) -> None:
    data = pcap([ethernet(packet(TCP, bytes([n]) * 300)) for n in range(250)])
    packed = zstd(data, "--check") if kind == "zstd" else PACKERS[kind](data)
    at = len(packed) - (6 if kind == "gzip" else 2)
    corrupt = packed[:at] + bytes([packed[at] ^ 0xFF]) + packed[at + 1 :]
    status, report = check(corrupt)
    assert status == DAMAGED
    assert report["damage"]["reason"].startswith(f"corrupt {kind} stream: ")
    assert report["damage"]["offset"] <= len(data)
    status, report = check(packed + b"garbage")
    assert status == DAMAGED
    assert report["damage"]["offset"] == len(data)
    assert report["packets"] == 250
    check_all(
        packed[:at] + bytes([packed[at] ^ 0x55]) + packed[at + 1 :]
        for at in range(4, len(packed), 97)
    )


@pytest.mark.parametrize(("packets", "block"), [(2, 50), (2000, 100000)])
def test_blocks_before_a_corrupt_one_count(check: Check, packets: int, block: int) -> None:
    """
    Blocks of zstd: a header of whether it is the last, type and size; 0 is raw, 3 reserved. Large
    ones do not fit into the reader's window, so the rest of one is still to come out.
    """
    data = pcap([GOOD, WRONG] * (packets // 2))
    frame = b"\x28\xb5\x2f\xfd" + bytes([0x00, 0x38])  # no content size, a window of 128 KiB
    for at in range(0, len(data), block):
        piece = data[at : at + block]
        frame += struct.pack("<L", len(piece) << 3)[:3] + piece
    status, report = check(frame + struct.pack("<L", 3 << 1)[:3])
    assert (status, report["packets"]) == (DAMAGED, packets)
    assert report["damage"]["offset"] == len(data)
    assert report["damage"]["reason"].startswith("corrupt zstd stream: ")
    assert check(frame + b"\x01\0\0") == check(data)


@pytest.mark.parametrize(("packets", "block"), [(2, 50), (2000, 100000)])
def test_blocks_of_lz4_before_a_corrupt_one_count(check: Check, packets: int, block: int) -> None:
    """A block is its size, with the top bit if it is raw, then its bytes; none is above 4 MiB."""
    data = pcap([GOOD, WRONG] * (packets // 2))
    frame = b"\x04\x22\x4d\x18\x60\x70\x73"
    for at in range(0, len(data), block):
        piece = data[at : at + block]
        frame += struct.pack("<L", 1 << 31 | len(piece)) + piece
    status, report = check(frame + struct.pack("<L", 5 * MIB))
    assert (status, report["packets"]) == (DAMAGED, packets)
    assert report["damage"]["offset"] == len(data)
    assert report["damage"]["reason"].startswith("corrupt lz4 stream: ")
    assert check(frame + bytes(4)) == check(data)


@pytest.mark.parametrize("kind", ["gzip", "xz"])
def test_zeros_behind_streams(check: Check, kind: str) -> None:
    """They fill the last block of a tape, or align a stream: gzip and xz take no notice of them."""
    data = pcap([GOOD, WRONG] * 50)
    pack = PACKERS[kind]
    packed = pack(data)
    for zeros in (1, 3, 512, 1 << 20):
        assert check(packed + bytes(zeros)) == check(data)
        both = pack(data[:30]) + bytes(zeros) + pack(data[30:])
        assert check(both + bytes(zeros)) == check(data)
    status, report = check(packed + bytes(512) + b"garbage" * 2)
    assert (status, report["packets"]) == (DAMAGED, 100)
    assert report["damage"]["reason"].startswith(f"corrupt {kind} stream: ")
    assert check(packed[:-8] + bytes(512))[0] == DAMAGED


@ALL
def test_twice_compressed(check: Check, kind: str) -> None:
    status, report = check(gzip.compress(PACKERS[kind](pcap([GOOD]))))
    assert (status, report["packets"]) == (DAMAGED, 0)
    tool = {"gzip": "z", "bzip2": "bz"}.get(kind, kind)
    reason = f"not a capture but compressed once more: {tool}cat FILE | carry check -"
    assert report["damage"]["reason"] == reason


def test_frames_to_skip(check: Check) -> None:
    """pzstd and other parallel compressors write them."""
    skip = struct.pack("<LL", 0x184D2A53, 5) + b"12345"
    assert check(skip + zstd(pcap([GOOD])) + skip) == check(pcap([GOOD]))


def test_streams_that_ask_for_much_memory(check: Check) -> None:
    # Magic, no content size, a window of 2 GiB, one last block of nothing.
    frame = b"\x28\xb5\x2f\xfd" + bytes([0x00, 21 << 3]) + b"\x01\0\0"
    status, report = check(frame)
    assert status == DAMAGED
    assert report["damage"]["reason"].startswith("corrupt zstd stream: Frame requires too much")


@pytest.mark.parametrize(("dictionary", "fits"), [(28, True), (29, False), (40, False)])
def test_xz_dictionaries(check: Check, dictionary: int, fits: bool) -> None:
    """Of 64 MiB, as `xz -9` has it, 96 MiB, and 4 GiB, by their code in the block's header."""
    packed = lzma.compress(pcap([GOOD]), preset=0)
    block = packed[12:16] + bytes([dictionary]) + packed[17:20]
    packed = packed[:12] + block + struct.pack("<L", zlib.crc32(block)) + packed[24:]
    status, report = check(packed)
    assert status == (CLEAN if fits else DAMAGED)
    if not fits:
        reason = "corrupt xz stream: it needs too much memory for decompression"
        assert report["damage"]["reason"] == reason


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("lz4", ["-B4"]),
        ("lz4", ["-B7", "-9"]),
        ("lz4", ["-BD", "-BX", "-B4"]),
        ("lz4", ["--content-size", "--no-frame-crc"]),
        ("xz", ["-9", "--check=sha256"]),
        ("xz", ["-T2", "--block-size=4096"]),
        ("xz", ["--x86", "--lzma2"]),
        ("bzip2", ["-9"]),
    ],
)
def test_forms_of_streams(check: Check, name: str, options: list[str]) -> None:
    data = pcap([ethernet(packet(TCP, os.urandom(size) + bytes(size))) for size in range(300)])
    assert check(packed_by(name, data, *options)) == check(data)


# A block of bzip2 has at most 900 kB, and takes long to compress.
@pytest.mark.parametrize("kind", [kind for kind in PACKERS if kind != "bzip2"])
def test_memory_does_not_grow_with_what_comes_out(tool: str, kind: str) -> None:
    records = pcap([GOOD] * 2000)[24:]
    records *= 10 * MIB // len(records)
    pack = PACKERS[kind]
    packed = pack(pcap([])) + pack(records) * 15
    assert len(packed) < 15 * len(records) / 50
    assert peak_kib([tool, "check", "-"], [packed]) < 64 * 1024


# --- Folders ---


def test_folder(carry: Run, tmp_path: Path) -> None:
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
# Captures, whatever they are called.
FOREIGN = {
    "monitor": (b"GMBU\0\1", "a Network Monitor file"),
    "old-monitor": (b"RTSS\0\1", "a Network Monitor file"),
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


def test_what_is_no_capture_by_any_sign_is_skipped(carry: Run, tmp_path: Path) -> None:
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
    (tmp_path / "notes.txt").write_text("not a capture")
    done = carry("check", tmp_path)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == f"carry: {tmp_path}: no captures in this folder\n"


def test_links_to_nowhere_in_a_folder(carry: Run, tmp_path: Path) -> None:
    (tmp_path / "a.pcap").write_bytes(pcap([GOOD]))
    os.symlink(tmp_path / "none", tmp_path / "b.pcap")
    done = carry("check", "-q", tmp_path)
    assert done.returncode == ERROR
    assert done.stderr == f"carry: {tmp_path}/b.pcap: No such file or directory\n"


# --- What to look at ---


def test_count(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([GOOD, GOOD, WRONG]) + b"x")
    for count, packets, status in ((1, 1, CLEAN), (2, 2, CLEAN), (3, 3, BAD), (4, 3, DAMAGED)):
        done = carry("check", "--json", "-c", str(count), path, path)
        reports = [json.loads(line) for line in done.stdout.splitlines()]
        assert [report["packets"] for report in reports] == [packets] * 2
        assert done.returncode == status
    assert (
        "--count takes a number of at least 1, not '0'" in carry("check", "--count=0", path).stderr
    )


def test_proto(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    ping = ethernet(packet(ICMP, sums="bad"))
    path.write_bytes(pcap([GOOD, WRONG, ping, ethernet(packet(UDP))]))

    def protocols(*options: str) -> tuple[int, dict[str, Any], int]:
        done = carry("check", "--json", *options, path)
        report = json.loads(done.stdout)
        return done.returncode, sorted(report["protocols"]), report["packets"]

    assert protocols() == (BAD, ["icmp", "ip", "tcp", "udp"], 4)
    assert protocols("--proto=udp,ip") == (CLEAN, ["ip", "udp"], 4)
    assert protocols("-p", "icmp") == protocols("-p", "ICMP") == (BAD, ["icmp"], 4)
    lines = carry("check", "-b", "-p", "icmp", path).stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["3", "icmp"]]
    assert "without a checksum" not in carry("check", "-p", "icmp", path).stdout
    for value in ("nosuch", "", "tcp,", "tc", "tcp,,udp"):
        done = carry("check", "--proto", value, path)
        assert (done.returncode, done.stdout) == (ERROR, "")
        assert "no protocol '" in done.stderr
    _, known = carry("check", "--help").stdout.split("Protocols for --proto:")
    table = (SOURCE / "include/carry/protocols.def").read_text()
    names = re.findall(r'^CARRY_PROTOCOL\(\w+, "?(\w+)', table, re.MULTILINE)
    assert known.replace(",", "").split() == names
    assert protocols(f"--proto={','.join(names)}") == protocols()


def test_partial(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([GOOD, PARTIAL, PARTIAL, WRONG]))
    clean = tmp_path / "b.pcap"
    clean.write_bytes(pcap([GOOD, PARTIAL, PARTIAL]))
    for choice, listed, status in (("ok", 1, CLEAN), ("bad", 3, BAD), ("report", 3, CLEAN)):
        option = f"--partial={choice}"
        assert len(carry("check", option, "-b", path).stdout.splitlines()) == listed
        assert carry("check", option, clean).returncode == status
        assert carry("check", option, path).returncode == BAD
        assert carry("check", clean).stdout == carry("check", "--partial=ok", clean).stdout
    assert carry("check", "--partial=bad", path).stdout.endswith(
        "\n1 bad and 2 partial checksums\n"
    )
    illegal = pcap([WRONG, PARTIAL, ethernet(packet(UDP, sums="none", **V6))])
    assert carry("check", "--partial=bad", "-", stdin=illegal).stdout.endswith(
        "\n1 bad, 1 partial and 1 illegal checksums\n"
    )
    text = carry("check", "--partial=report", clean).stdout
    assert text.count(" (partial)\n") == 2
    assert text.endswith("\nclean, 2 left to transmit offload\n")
    (first, _) = carry("check", "--partial=report", "-bJ", clean).stdout.splitlines()
    assert json.loads(first)["verdict"] == "partial"
    assert json.loads(first)["expected"] == struct.unpack_from(">H", GOOD, 14 + 20 + 16)[0]
    done = carry("check", "--partial=no", path)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert "--partial takes ok, bad or report, not 'no'" in done.stderr


# --- Columns ---


def table(text: str) -> list[dict[str, str]]:
    names, *rows = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(names, row, strict=True)) for row in rows]


def test_tsv(carry: Run, tmp_path: Path) -> None:
    path, other = tmp_path / "a\tb.pcap", tmp_path / "c.pcap"
    path.write_bytes(pcap([GOOD, WRONG, PARTIAL]) + b"x")
    other.write_bytes(pcap([]))
    done = carry("check", "--tsv", path, other)
    shown = str(path).replace("\t", "?")
    assert done.returncode == DAMAGED
    assert done.stderr.startswith(f"carry: {shown}: damaged at offset ")
    rows = table(done.stdout)
    assert [(row["file"], row["protocol"]) for row in rows] == [
        (shown, "all"),
        (shown, "ip"),
        (shown, "tcp"),
        (str(other), "all"),
    ]
    report = json.loads(carry("check", "--json", path).stdout)["protocols"]
    for row in rows[1:3]:
        assert {name: int(row[name]) for name in report["tcp"]} == report[row["protocol"]]
    assert (rows[0]["good"], rows[3]["good"]) == ("4", "0")


def test_tsv_of_findings(carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    ends = {"src": "2001:db8::1", "dst": "2001:db8::2"}
    missing = Record(ethernet(packet(UDP, sums="none", **ends)), seconds=0)
    path.write_bytes(pcap([GOOD, WRONG, missing]))
    rows = table(carry("check", "--tsv", "-b", path).stdout)
    found = [json.loads(x) for x in carry("check", "--json", "-b", path).stdout.splitlines()]
    assert rows == [
        {key: "" if value is None else str(value) for key, value in one.items() if key != "schema"}
        for one in found
    ]
    assert rows[1]["time"] == ""


def test_what_an_illegal_sum_should_be(carry: Run, tmp_path: Path) -> None:
    """What fix stores and explain says; of a frame that was cut nobody knows."""
    frame = ethernet(packet(UDP, sums="none", **V6))
    path, fixed = tmp_path / "a.pcap", tmp_path / "b.pcap"
    path.write_bytes(pcap([frame, Record(frame[:-1], len(frame))]))
    assert carry("fix", path, "-o", fixed).returncode == BAD
    right = int.from_bytes(ethernet(packet(UDP, **V6))[60:62], "big")
    found = [json.loads(x) for x in carry("check", "--json", "-b", path).stdout.splitlines()]
    assert [one["expected"] for one in found] == [right, None]
    assert fixed.read_bytes()[24 + 16 + 60 :][:2] == right.to_bytes(2, "big")
    shown = carry("check", path).stdout
    assert f"0x0000  0x{right:04x} " in shown
    assert "0x0000  not 0 " in shown
    assert f"expected 0x{right:04x}" in carry("explain", path, "1").stdout


# --- --write-bad ---


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
def test_write_bad_for_others(carry: Run, tmp_path: Path) -> None:
    source, bad = tmp_path / "a.pcap", tmp_path / "bad.pcapng"
    source.write_bytes(pcap([GOOD, Record(WRONG, fraction=123456)]))
    carry("check", "-w", bad, source)
    fields = ["-e", "frame.time_epoch", "-e", "frame.len", "-e", "frame.comment"]
    command = ["tshark", "-r", str(bad), "-T", "fields", *fields]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert out == f"1700000000.123456000\t{len(WRONG)}\t{source}, frame 2\n"


def test_write_bad_is_whole_or_not_there(carry: Run, tmp_path: Path) -> None:
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
    """`| head` is quiet, except of what was asked for and is not there."""
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


def test_write_bad_replaces_nothing_that_is_checked(tool: str, tmp_path: Path) -> None:
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


def test_write_bad_replaces_what_it_wrote_before(carry: Run, tmp_path: Path) -> None:
    """Each night again, also where it stands in the folder that is checked."""
    (tmp_path / "a.pcap").write_bytes(pcap([WRONG]))
    bad = tmp_path / "z" / "bad.pcapng"
    bad.parent.mkdir()
    for packets in (1, 2):
        done = carry("check", "-w", bad, tmp_path)
        assert (done.returncode, done.stderr) == (BAD, "")
        assert json.loads(carry("check", "--json", bad).stdout)["packets"] == packets
        (tmp_path / "b.pcap").write_bytes(pcap([WRONG]))


def test_help_tells_of_every_option(carry: Run) -> None:
    shown = carry("check", "--help").stdout
    page = (SOURCE / "docs/man/carry-check.1").read_text().replace("\\-", "-")
    for option in re.findall(
        r'\{"([a-z-]+)"', (SOURCE / "tools/carry/capture/check_options.c").read_text()
    ):
        if option not in ("ok", "bad", "report"):
            assert f"--{option}" in shown
            assert f"--{option}" in page


# --- What is looked at ---


def test_udp_zero6(carry: Run) -> None:
    path = SOURCE / "examples/broken.pcap"
    for value, illegal, absent in (("illegal", 1, 1), ("ok", 0, 2)):
        done = carry("check", "--json", f"--udp-zero6={value}", path)
        udp = json.loads(done.stdout)["protocols"]["udp"]
        assert (udp["illegal"], udp["absent"]) == (illegal, absent)
    assert carry("check", "--udp-zero6=no", path).returncode == ERROR


def test_no_tunnels(carry: Run, tmp_path: Path) -> None:
    inner = bytes.fromhex("4500001400000000403b0000 0a000001 0a000002".replace(" ", ""))
    outer = bytes.fromhex("4500002800000000400400000a0000030a000004")
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([outer + inner], link=101))
    for options, bad in (([], 2), (["--no-tunnels"], 1)):
        done = carry("check", "--json", *options, path)
        assert json.loads(done.stdout)["protocols"]["ip"]["bad"] == bad
