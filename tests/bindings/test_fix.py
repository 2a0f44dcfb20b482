# SPDX-License-Identifier: MIT
"""Repaired copies: the same as the command's."""

from __future__ import annotations

import io
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import libcarry
import pytest
from conftest import SOURCE, many

BROKEN = SOURCE / "examples/broken.pcap"
OFFLOAD = SOURCE / "examples/offload.pcapng"

ToolJson = Callable[..., dict[str, Any]]


@pytest.mark.parametrize("path", [BROKEN, OFFLOAD], ids=lambda path: path.name)
@pytest.mark.parametrize("only", [(), ("partial",), ("bad", "illegal")], ids=str)
def test_copy_is_the_commands(
    path: Path, only: tuple[str, ...], tmp_path: Path, tool_json: ToolJson
) -> None:
    mine, its = tmp_path / "mine", tmp_path / "its"
    options = [f"--only={','.join(only)}"] if only else []
    said = tool_json("fix", "--json", *options, path, "-o", its)
    repairs = libcarry.fix(path, mine, verdicts=only)
    assert mine.read_bytes() == its.read_bytes()
    assert repairs.to_dict() == said | {"output": str(mine)}
    stream = io.BytesIO()
    assert libcarry.fix(path, stream, verdicts=only).to_dict() == said | {"output": None}
    assert stream.getvalue() == its.read_bytes()


def test_in_short(tmp_path: Path) -> None:
    repairs = libcarry.fix(BROKEN, None)
    assert (repairs.packets, repairs.changed_packets) == (11, 5)
    assert repairs.repaired == {
        "ip": {"bad": 1},
        "tcp": {"bad": 2},
        "udp": {"bad": 1, "illegal": 1},
    }
    assert repr(repairs) == "<5 checksums repaired in 5 of 11 packets, 0 left>"
    assert libcarry.fix(BROKEN, None, verdicts="partial").left["tcp"] == {"bad": 2}
    libcarry.fix(BROKEN, tmp_path / "copy")
    assert libcarry.check(tmp_path / "copy").ok


def test_damage(tmp_path: Path) -> None:
    """Everything is copied, and the report says from where on unchanged."""
    data = BROKEN.read_bytes()[:500]
    repairs = libcarry.fix(data, tmp_path / "copy")
    assert repairs.damage and repairs.damage.offset == 488
    assert len((tmp_path / "copy").read_bytes()) == 500


def test_mode_is_the_umasks(tmp_path: Path) -> None:
    before = os.umask(0o027)
    libcarry.fix(BROKEN, tmp_path / "copy")
    os.umask(before)
    assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o640


def test_nothing_is_left_of_failures(tmp_path: Path) -> None:
    target = tmp_path / "copy"
    target.write_bytes(b"as it was")
    for source in (b"no capture", SOURCE / "README.md", tmp_path / "missing"):
        with pytest.raises((libcarry.NotACapture, FileNotFoundError)):
            libcarry.fix(source, target)
    with pytest.raises(KeyError):
        libcarry.fix(many(5000), target, progress=lambda *numbers: {}[1])
    assert (target.read_bytes(), os.listdir(tmp_path)) == (b"as it was", ["copy"])


def test_targets_that_are_refused(tmp_path: Path) -> None:
    copy = tmp_path / "capture"
    copy.write_bytes(BROKEN.read_bytes())
    (tmp_path / "link").symlink_to(copy)
    for target in (copy, tmp_path / "link"):
        with pytest.raises(ValueError, match="the target is the source"):
            libcarry.fix(copy, target)
    with pytest.raises((IsADirectoryError, PermissionError, FileNotFoundError, NotADirectoryError)):
        libcarry.fix(copy, tmp_path / "missing/copy")
    with pytest.raises(IsADirectoryError):
        libcarry.fix(copy, tmp_path)
    assert copy.read_bytes() == BROKEN.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["capture", "link"]


class Short(io.RawIOBase):
    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:  # noqa: ANN401
        return 1


class Full(io.RawIOBase):
    def write(self, data: Any) -> int:  # noqa: ANN401
        raise OSError(28, "No space left on device")


def test_writers_that_fail() -> None:
    with pytest.raises(OSError, match=r"write\(\) took only 1 of \d+ bytes"):
        libcarry.fix(BROKEN, Short())
    with pytest.raises(OSError, match="No space"):
        libcarry.fix(BROKEN, Full())
    with pytest.raises(OSError, match="No space"), open("/dev/full", "wb", buffering=0) as full:
        libcarry.fix(BROKEN, full)
    with pytest.raises(TypeError), io.StringIO() as text:
        libcarry.fix(BROKEN, text)  # type: ignore[arg-type]


def test_between_pipes(tool: str, tmp_path: Path) -> None:
    reader, writer = os.pipe()
    with subprocess.Popen(["cat", BROKEN], stdout=writer) as feeder:
        os.close(writer)
        copy = io.BytesIO()
        with open(reader, "rb") as pipe:
            libcarry.fix(pipe, copy)
    assert feeder.returncode == 0
    assert libcarry.check(copy.getvalue()).ok
