# SPDX-License-Identifier: MIT
"""Repaired copies equal the copies that the command writes."""

from __future__ import annotations

import io
import os
import stat
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import libcarry
import pytest
from conftest import SOURCE, many

pytestmark = pytest.mark.sanitized

BROKEN = SOURCE / "examples/broken.pcap"
OFFLOAD = SOURCE / "examples/offload.pcapng"

ToolJson = Callable[..., dict[str, Any]]


@pytest.mark.parametrize("path", [BROKEN, OFFLOAD], ids=lambda path: path.name)
@pytest.mark.parametrize("only", [(), ("partial",), ("bad", "illegal")], ids=str)
def test_copy_is_that_of_the_command(
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
    from_stream = io.BytesIO()  # with selected verdicts, the source is read twice
    libcarry.fix(io.BytesIO(path.read_bytes()), from_stream, verdicts=only)
    assert from_stream.getvalue() == its.read_bytes()


def test_in_short(tmp_path: Path) -> None:
    """The result counts packets and checksums, and the copy is clean."""
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
    """All bytes are copied, and the report contains the place of the damage."""
    data = BROKEN.read_bytes()[:500]
    repairs = libcarry.fix(data, tmp_path / "copy")
    assert repairs.damage and repairs.damage.offset == 488
    assert len((tmp_path / "copy").read_bytes()) == 500


@pytest.mark.parametrize(("of_source", "of_copy"), [(0o644, 0o640), (0o600, 0o600)])
def test_permissions_are_those_of_the_source(of_source: int, of_copy: int, tmp_path: Path) -> None:
    """The copy has the permissions of the source under the umask, not the permissions of a replaced
    file."""
    source, copy = tmp_path / "source", tmp_path / "copy"
    source.write_bytes(BROKEN.read_bytes())
    source.chmod(of_source)
    copy.touch(0o666)
    before = os.umask(0o027)
    try:
        libcarry.fix(source, copy)
        with open(source, "rb") as file:
            libcarry.fix(file, tmp_path / "another")
        libcarry.fix(b"" + BROKEN.read_bytes(), tmp_path / "of bytes")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {
        "source": of_source,
        "copy": of_copy,
        "another": of_copy,
        "of bytes": 0o640,
    }


def test_failures_leave_no_file(tmp_path: Path) -> None:
    target = tmp_path / "copy"
    target.write_bytes(b"as it was")
    for source in (b"no capture", SOURCE / "README.md", tmp_path / "missing"):
        with pytest.raises((libcarry.NotACapture, FileNotFoundError)):
            libcarry.fix(source, target)
    with pytest.raises(KeyError):
        libcarry.fix(many(5000), target, progress=lambda *numbers: {}[1])
    assert (target.read_bytes(), os.listdir(tmp_path)) == (b"as it was", ["copy"])


def test_names_of_targets(tmp_path: Path) -> None:
    """Names of targets may contain bytes that are not UTF-8, and may have the maximum length."""
    strange = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    for target in (strange, str(tmp_path / ("x" * 255))):
        said = libcarry.fix(BROKEN, target).to_dict()["output"]
        assert said == os.fsencode(target).decode("utf-8", "replace")
        assert libcarry.check(target).ok


def test_the_command_skips_incomplete_copies(tool: str, tmp_path: Path) -> None:
    seen: list[list[str]] = []
    libcarry.fix(
        many(5000), tmp_path / "copy", progress=lambda *_: seen.append(os.listdir(tmp_path))
    )
    (name,) = seen[0]
    (tmp_path / name).write_bytes(BROKEN.read_bytes())
    said = subprocess.run([tool, "check", tmp_path], capture_output=True, text=True)
    assert "5000 packets" in said.stdout.replace(",", "") and name not in said.stdout + said.stderr


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    fifo, read = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: read.append(fifo.read_bytes()))
    reader.start()
    assert libcarry.fix(BROKEN, fifo).to_dict()["output"] == str(fifo)
    reader.join()
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert libcarry.check(read[0]).ok


def test_a_device_is_written_to(tmp_path: Path) -> None:
    """A device is written to: it is not replaced, although root could replace it."""
    null = tmp_path / "null"
    try:
        os.mknod(null, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        null.open("wb").close()
    except PermissionError:
        pytest.skip("making a device is not permitted here")
    libcarry.fix(BROKEN, null)
    assert stat.S_ISCHR(null.stat().st_mode)


def test_targets_that_are_refused(tmp_path: Path) -> None:
    copy = tmp_path / "capture"
    copy.write_bytes(BROKEN.read_bytes())
    (tmp_path / "link").symlink_to(copy)
    with open(copy, "r+b") as file:
        for source, target in ((copy, copy), (copy, tmp_path / "link"), (file, copy), (copy, file)):
            with pytest.raises(ValueError, match="the target is the source"):
                libcarry.fix(source, target)
    missing = tmp_path / "missing/copy"
    with pytest.raises(FileNotFoundError, match=f"'{missing}'$"):
        libcarry.fix(copy, missing)
    with pytest.raises(IsADirectoryError):
        libcarry.fix(copy, tmp_path)
    protected = tmp_path / "protected"
    protected.touch(0o444)
    with pytest.raises(PermissionError, match="write-protected"):
        libcarry.fix(copy, protected)
    with pytest.raises(TypeError, match="path, a file object or None, not bytes"):
        libcarry.fix(copy, b"path")  # type: ignore[arg-type]
    assert copy.read_bytes() == BROKEN.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["capture", "link", "protected"]


class Raw(io.RawIOBase):
    """Accepts at most 7 bytes at a time; returns their number, or `says` if it is not 7."""

    def __init__(self, says: object = 7) -> None:
        self.data, self.says = b"", says

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> Any:  # noqa: ANN401
        self.data += data[:7]
        return min(7, len(data)) if self.says == 7 else self.says


class Full(io.RawIOBase):
    def write(self, data: Any) -> int:  # noqa: ANN401
        raise OSError(28, "No space left on device")


def test_writers_that_accept_fewer_bytes() -> None:
    target = Raw()
    libcarry.fix(BROKEN, target)
    assert libcarry.check(target.data).ok


def test_writers_that_fail() -> None:
    for said in (0, 1 << 40):
        with pytest.raises(OSError, match=rf"write\(\) took {said} of \d+ bytes"):
            libcarry.fix(BROKEN, Raw(said))
    with pytest.raises(BlockingIOError, match="must wait"):
        libcarry.fix(BROKEN, Raw(None))
    with pytest.raises(TypeError):
        libcarry.fix(BROKEN, Raw("7"))
    with pytest.raises(OSError, match="No space"):
        libcarry.fix(BROKEN, Full())
    with pytest.raises(OSError, match="No space"), open("/dev/full", "wb", buffering=0) as full:
        libcarry.fix(BROKEN, full)
    with pytest.raises(TypeError), io.StringIO() as text:
        libcarry.fix(BROKEN, text)  # type: ignore[arg-type]


def test_between_pipes(tool: str, tmp_path: Path) -> None:
    """A capture from a pipe is repaired into an object."""
    reader, writer = os.pipe()
    with subprocess.Popen(["cat", BROKEN], stdout=writer) as feeder:
        os.close(writer)
        copy = io.BytesIO()
        with open(reader, "rb") as pipe:
            libcarry.fix(pipe, copy)
    assert feeder.returncode == 0
    assert libcarry.check(copy.getvalue()).ok
