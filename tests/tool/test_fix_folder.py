# SPDX-License-Identifier: MIT
"""`carry fix` of a folder: writes every capture below it into another folder."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pytest
from captures import GOOD, PARTIAL, WRONG, pcap
from carry_tool import BAD, CLEAN, DAMAGED, ERROR, Run
from schemas import conforming


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Returns a folder with a capture, a compressed capture in a deeper folder, and another
    file."""
    made = tmp_path / "in"
    (made / "deep/er").mkdir(parents=True)
    (made / "a.pcap").write_bytes(pcap([GOOD, WRONG]))
    (made / "deep/er/b.pcap.gz").write_bytes(gzip.compress(pcap([PARTIAL])))
    (made / "notes.txt").write_text("no capture\n")
    return made


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_each_capture_is_repaired(carry: Run, folder: Path, tmp_path: Path) -> None:
    before = files(folder)
    done = carry("fix", f"{folder}/", "-o", tmp_path / "out/")
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert files(folder) == before
    copies = files(tmp_path / "out")
    assert list(copies) == ["a.pcap", "deep/er/b.pcap.gz"]
    carry("fix", folder / "a.pcap", "-o", tmp_path / "alone.pcap")
    assert copies["a.pcap"] == (tmp_path / "alone.pcap").read_bytes()
    assert gzip.decompress(copies["deep/er/b.pcap.gz"])
    assert carry("check", tmp_path / "out").returncode == CLEAN
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"{folder}/a.pcap: 2 packets, ")
    assert "; 1 checksum repaired in 1 packet; written to " in lines[0]
    assert lines[-1] == "2 captures, 1 other file skipped"


def test_copies_are_as_hidden_as_captures(carry: Run, folder: Path, tmp_path: Path) -> None:
    (folder / "deep").chmod(0o700)
    assert carry("fix", "-q", folder, "-o", tmp_path / "out").returncode == CLEAN
    assert (tmp_path / "out/deep").stat().st_mode & 0o777 == 0o700


def test_json_has_an_object_for_each(carry: Run, folder: Path, tmp_path: Path) -> None:
    done = carry("fix", "-J", folder, "-o", tmp_path / "out")
    found = [conforming("fix", line) for line in done.stdout.splitlines()]
    assert [one["output"] for one in found] == [
        f"{tmp_path}/out/a.pcap",
        f"{tmp_path}/out/deep/er/b.pcap.gz",
    ]


def test_a_dry_run_makes_nothing(carry: Run, folder: Path, tmp_path: Path) -> None:
    done = carry("fix", "--dry-run", folder)
    assert done.returncode == CLEAN
    assert "1 checksum would be repaired in 1 packet\n" in done.stdout
    assert list(tmp_path.iterdir()) == [folder]


def test_the_status_is_the_most_severe(carry: Run, folder: Path, tmp_path: Path) -> None:
    done = carry("fix", "--only=partial", folder, "-o", tmp_path / "bad")
    assert done.returncode == BAD
    (folder / "c.pcap").write_bytes(b"no capture, but called so")
    done = carry("fix", folder, "-o", tmp_path / "damaged")
    assert done.returncode == DAMAGED
    assert done.stderr.startswith(f"carry: {folder}/c.pcap: ")
    assert list(files(tmp_path / "damaged")) == ["a.pcap", "deep/er/b.pcap.gz"]


def test_a_compression_that_cannot_be_written(carry: Run, folder: Path, tmp_path: Path) -> None:
    data = pcap([WRONG])
    (folder / "x.pcap.xz").write_bytes(lzma.compress(data))
    done = carry("fix", "-q", folder / "x.pcap.xz", "--dry-run")
    if done.returncode != CLEAN:
        pytest.skip("the tool was built without liblzma")
    assert carry("fix", "-q", folder, "-o", tmp_path / "out").returncode == CLEAN
    assert len((tmp_path / "out/x.pcap").read_bytes()) == len(data)
    (folder / "x.pcap.bz2").write_bytes(bz2.compress(data))
    done = carry("fix", "-q", folder, "-o", tmp_path / "packed")
    assert done.returncode == ERROR
    assert not (tmp_path / "packed/x.pcap").exists()
    (folder / "x.pcap").write_bytes(pcap([GOOD]))
    done = carry("fix", "-q", folder, "-o", tmp_path / "twins")
    assert done.returncode == ERROR
    assert "cannot compress as the name" in done.stderr
    assert (tmp_path / "twins/x.pcap").read_bytes() == pcap([GOOD])


@pytest.mark.parametrize("place", [".", "deep", "new/folder"])
def test_copies_do_not_land_among_the_captures(
    carry: Run, folder: Path, tmp_path: Path, place: str
) -> None:
    (folder / "new").mkdir()
    (tmp_path / "link").symlink_to(folder)
    before = sorted(folder.rglob("*"))
    for start in (folder, tmp_path / "link"):
        done = carry("fix", start, "-o", folder / place)
        assert (done.returncode, done.stdout) == (ERROR, "")
        assert done.stderr.endswith("lies in the folder of the captures to repair\n")
    assert sorted(folder.rglob("*")) == before


def test_wrong_usage_with_a_folder(carry: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way\n")
    for options, reason in (
        (["-o", tmp_path / "file"], "is no folder, and the input is one"),
        (["-o", "-"], "a folder is repaired into a folder, not into 'standard output'"),
        (["-o", tmp_path / "out", "--log", tmp_path / "log"], "--log takes one capture"),
        (["-o", tmp_path / "no/such"], "No such file or directory"),
    ):
        done = carry("fix", folder, *options)
        assert (done.returncode, done.stdout) == (ERROR, "")
        assert reason in done.stderr
    (tmp_path / "empty").mkdir()
    done = carry("fix", tmp_path / "empty", "-o", tmp_path / "out")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr == f"carry: {tmp_path}/empty: no captures in this folder\n"
