# SPDX-License-Identifier: MIT
"""The check of one capture of an archive always ends in a row, whatever fails."""

from __future__ import annotations

import gzip
import os
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from conftest import pcap
from expected import in_microseconds
from servers import Served, web

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("aiohttp", reason="aiohttp is not installed")

import libcarry
from libcarry.audit import listing, worker
from libcarry.audit.listing import Capture, find

QUICK = worker.Options(retries=2, backoff=0.01)


def row(name: str, options: worker.Options = QUICK) -> dict[str, Any]:
    """Returns the row of *files* for the only capture of a source."""
    (capture,) = find([name])
    (files,) = worker.check(capture, options)["files"].to_pylist()
    return dict(files)


def test_rows_are_those_of_a_check(archive: Path) -> None:
    for path in sorted(archive.rglob("*.pc*")):
        tables = worker.check(Capture(str(path)), QUICK)
        report = libcarry.check(path, on_damage="report")
        for name in ("counts", "findings"):
            assert tables[name].to_pylist() == in_microseconds(report.to_arrow(name)).to_pylist()
        (own,) = in_microseconds(report.to_arrow("files")).to_pylist()
        (files,) = tables["files"].to_pylist()
        assert own == {name: files[name] for name in own}
        assert files["folder"] == str(path.parent)
        assert files["findings"] == report.findings.total
        assert files["attempts"] == files["pieces"] == 1


def test_findings_are_bounded_or_all(tmp_path: Path) -> None:
    path = tmp_path / "bad.pcap"
    path.write_bytes(pcap(*["bad"] * 25))
    capture = Capture(str(path))
    assert len(worker.check(capture, worker.Options(findings=10))["findings"]) == 10
    assert len(worker.check(capture, worker.Options(findings=0))["findings"]) == 0
    tables = worker.check(capture, worker.Options(findings=None))
    assert len(tables["findings"]) == 25
    assert tables["files"]["findings"].to_pylist() == [25]


def test_all_findings_are_kept_of_a_capture_with_very_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker, "_FINDINGS_AT_FIRST", 10)
    path = tmp_path / "bad.pcap"
    path.write_bytes(pcap(*["bad"] * 25))
    tables = worker.check(Capture(str(path)), worker.Options(findings=None))
    assert len(tables["findings"]) == 25


# --- Files that are not captures, or are too large ---


@pytest.mark.parametrize(
    ("start", "reason"),
    [
        (b"age-encryption.org/v1\n", "encrypted by age"),
        (b"Salted__abcdefgh", "encrypted by OpenSSL"),
        (b"-----BEGIN PGP MESSAGE-----\n", "encrypted by OpenPGP"),
        (b"PK\x03\x04 and so on", "a ZIP archive"),
    ],
)
def test_says_what_is_no_capture(tmp_path: Path, start: bytes, reason: str) -> None:
    path = tmp_path / "trace.pcap"
    path.write_bytes(start + bytes(100))
    found = row(str(path))
    assert (found["status"], found["error"], found["packets"]) == ("not_capture", reason, 0)


@pytest.mark.parametrize("data", [b"", b"some text\n", bytes(1000)])
def test_other_files_are_no_captures(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(data)
    found = row(str(path))
    assert found["status"] == "not_capture"
    assert "\n" not in found["error"]


def test_a_damaged_capture_has_its_reason(archive: Path) -> None:
    found = row(str(archive / "wan/damaged.pcap"))
    assert found["status"] == "damaged"
    assert found["error"] == found["damage_reason"]
    assert found["damage_offset"] > 0
    assert found["packets"] == 2


def bomb(records: int) -> bytes:
    """Returns a compressed capture of zeros, about a thousandth of its unpacked size."""
    size = 1 << 18
    header = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, size, 1)
    packer = zlib.compressobj(1, wbits=31)
    record = struct.pack("<IIII", 1, 0, size, size) + bytes(size)
    parts = [packer.compress(header), *(packer.compress(record) for _ in range(records))]
    return b"".join([*parts, packer.flush()])


def test_a_bomb_ends_at_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "bomb.pcap.gz"
    path.write_bytes(bomb(1500))  # 375 MiB: long enough for a check of the time limit
    found = row(str(path), worker.Options(unpack_limit=2, unpack_free=1 << 20))
    assert found["status"] == "limit"
    assert "unpacks to more than" in found["error"]
    assert row(str(path), worker.Options(unpack_limit=0, unpack_free=0))["packets"] == 1500


# --- Failures of stores ---


GOOD = pcap("good", "bad", "good")


def test_a_web_server(tmp_path: Path) -> None:
    """A capture on a web server has the row of a file, with its size and digest."""
    files = {"/a.pcap": Served(GOOD), "/b.pcap.gz": Served(gzip.compress(GOOD))}
    with web(files) as root:
        for name in files:
            found = row(root + name)
            assert (found["status"], found["packets"], found["findings"]) == ("wrong", 3, 1)
            assert found["size"] == len(files[name].data)
            assert found["digest"] == str(len(files[name].data))
            assert found["attempts"] == 1


def test_a_store_that_is_busy_is_asked_again() -> None:
    with web({"/a.pcap": Served(GOOD, fails=2)}) as root:
        found = row(root + "/a.pcap")
    assert (found["status"], found["attempts"]) == ("wrong", 3)


def test_a_store_that_stays_busy_ends_in_a_row() -> None:
    with web({"/a.pcap": Served(GOOD, fails=100)}) as root:
        found = row(root + "/a.pcap")
    assert (found["status"], found["attempts"], found["packets"]) == ("failed", 3, 0)
    assert "503" in found["error"]
    assert "\n" not in found["error"]


def test_half_an_answer_is_no_damage() -> None:
    with web({"/a.pcap": Served(GOOD, cuts=1)}) as root:
        found = row(root + "/a.pcap")
    assert (found["status"], found["attempts"]) == ("wrong", 2)
    with web({"/a.pcap": Served(GOOD, cuts=100)}) as root:
        found = row(root + "/a.pcap")
    assert (found["status"], found["packets"]) == ("failed", 0)


def test_missing_sources_are_tried_once(tmp_path: Path) -> None:
    with web({}) as root:
        found = row(root + "/a.pcap")
    assert (found["status"], found["error"] != "") == ("failed", True)
    found = row(str(tmp_path / "missing.pcap"))
    assert (found["status"], found["error"]) == ("failed", "No such file or directory")


def test_a_capture_that_changes_under_the_reader() -> None:
    with web({"/a.pcap": Served(GOOD, restless=True)}) as root:
        found = row(root + "/a.pcap")
    assert (found["status"], found["packets"]) == ("changed", 0)
    assert found["error"] == "it changed while it was read"


def test_a_local_file_that_changes_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(GOOD)
    whole = worker._check

    def grows(capture: Capture, options: worker.Options) -> Any:  # noqa: ANN401
        result = whole(capture, options)
        if capture.size == len(GOOD):
            path.write_bytes(GOOD + GOOD[24:])
        return result

    monkeypatch.setattr(worker, "_check", grows)
    found = row(str(path))
    assert (found["status"], found["packets"], found["attempts"]) == ("wrong", 6, 2)
    assert found["digest"] == listing.ends_digest(str(path))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(GOOD)
    path.chmod(0)
    assert row(str(path))["error"] == "Permission denied"


# --- Finding captures ---


def names(*sources: str) -> list[str]:
    return [capture.name for capture in find(sources)]


def test_sources(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders, globs and files name each capture once."""
    everything = sorted(str(path) for path in archive.rglob("*") if path.is_file())
    assert sorted(names(str(archive))) == everything
    monkeypatch.chdir(archive)
    assert names(".") == names(str(archive))
    assert names("lan/*.pcap") == [p for p in everything if p.startswith(f"{archive}/lan/")]
    assert sorted(names("**/*.pcap*")) == everything
    assert names("lan", "lan/good.pcap", "lan/*") == names("lan")


def test_each_source_ends_in_a_row(tmp_path: Path) -> None:
    for source, error in (
        (str(tmp_path / "none.pcap"), "No such file or directory"),
        (str(tmp_path / "*.pcap"), "no file matches"),
        ("/dev/null", "not a regular file"),
        ("nonsense://bucket/x", "Protocol not known: nonsense"),
    ):
        (capture,) = find([source])
        assert capture.error == error
        assert capture.named


def test_links_lead_to_files_only(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "file").symlink_to(archive / "lan/good.pcap")
    (tmp_path / "folder").symlink_to(archive)
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    found = {Path(capture.name).name: capture.error for capture in find([str(tmp_path)])}
    assert found == {"file": None, "nowhere": "No such file or directory"}


def test_names_that_are_not_utf8(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/caf\xe9.pcap"
    Path(os.fsdecode(path)).write_bytes(GOOD)
    found = row(str(tmp_path))
    assert found["file"] == f"{tmp_path}/caf\\xe9.pcap"
    assert found["status"] == "wrong"


def test_a_glob_may_be_a_name(tmp_path: Path) -> None:
    path = tmp_path / "a[1].pcap"
    path.write_bytes(GOOD)
    assert names(str(path)) == [str(path)]
