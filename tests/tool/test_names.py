# SPDX-License-Identifier: MIT
"""Names from outside: shown without control characters, and complete in JSON."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from captures import WRONG, Pcapng, option, pcap
from carry_tool import BAD, ERROR

# Characters that control a terminal, break a line, or reorder or hide the text around them.
UNSAFE = [
    *("\x01", "\t", "\n", "\r", "\x1b", "\x7f", "\u0080", "\u009b", "\u009f"),
    *("\u00ad", "\u061c", "\u200b", "\u200e", "\u200f", "\u2028", "\u2029"),
    *("\u202a", "\u202e", "\u2060", "\u2066", "\u2069", "\ufeff", "\ufff9", "\U000e0041"),
]
SAFE = "caf\u00e9 \u4e2d\u6587 \U0001f600 \u05d0"
NAME = os.fsencode(f"a{'b'.join(UNSAFE)}c{SAFE}") + b"\x9b\xffd.pcap"
SHOWN = f"a{'b'.join('?' for _ in UNSAFE)}c{SAFE}??d.pcap"
REPLACED = f"a{'b'.join(UNSAFE)}c{SAFE}\ufffd\ufffdd.pcap"


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = os.fsencode(tmp_path_factory.mktemp("names"))
    name = os.path.join(folder, NAME)
    with open(name, "wb") as file:
        file.write(pcap([WRONG]))
    return name


def run(tool: str, *arguments: str | bytes) -> tuple[int, str, str]:
    done = subprocess.run([tool, *arguments], capture_output=True, timeout=60)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def assert_safe(text: str) -> None:
    assert not [c for c in UNSAFE if c not in "\t\n" and c in text]


@pytest.mark.parametrize(
    "arguments",
    [["check"], ["check", "-t"], ["check", "-bt"], ["fix", "--dry-run"]],
    ids=" ".join,
)
def test_text_has_no_control_characters(tool: str, path: bytes, arguments: list[str]) -> None:
    status, shown, _ = run(tool, *arguments, path)
    assert status in (BAD, 0)
    assert SHOWN in shown
    assert_safe(shown)


def test_lists_and_explanations_have_no_control_characters(tool: str, path: bytes) -> None:
    for arguments in (["check", "-b", path, path], ["explain", path, "1"]):
        _, shown, _ = run(tool, *arguments)
        assert SHOWN in shown
        assert_safe(shown)


def test_messages_have_no_control_characters(tool: str, path: bytes) -> None:
    """Messages show names without control characters."""
    status, _, said = run(tool, "check", path + b".none")
    assert status == ERROR
    assert said.endswith(f"/{SHOWN}.none: No such file or directory\n")
    status, _, said = run(tool, "check", b"--proto=" + os.path.basename(path), "x")
    assert (status, f"no protocol '{SHOWN}'" in said) == (ERROR, True)


def test_the_mask_has_no_control_characters(tool: str) -> None:
    """The mask is shown without control characters."""
    env = {**os.environ, "CARRY_CPU_MASK": "\x1b[31m\u009b"}
    done = subprocess.run([tool, "cpu"], capture_output=True, env=env)
    assert "?[31m?\n" in done.stdout.decode()


def json_of(tool: str, *arguments: str | bytes) -> list[dict[str, Any]]:
    _, shown, _ = run(tool, *arguments)
    assert_safe(shown)
    return [json.loads(line) for line in shown.splitlines()]


@pytest.mark.parametrize(
    "arguments",
    [["check", "-J"], ["check", "-bJ"], ["fix", "--dry-run", "-J"]],
    ids=" ".join,
)
def test_json_escapes_names_without_loss(tool: str, path: bytes, arguments: list[str]) -> None:
    (found,) = json_of(tool, *arguments, path)
    assert found["file"] == os.fsdecode(os.path.dirname(path)) + "/" + REPLACED
    assert bytes.fromhex(found["file_hex"]) == path


def test_json_of_a_name_that_is_utf8(tool: str, tmp_path: Path) -> None:
    path = tmp_path / f"{SAFE}\u202e.pcap"
    path.write_bytes(pcap([WRONG]))
    (found,) = json_of(tool, "explain", "-J", str(path), "1")
    assert found["file"] == str(path)
    assert "file_hex" not in found
    _, shown, _ = run(tool, "check", "-J", str(path))
    assert SAFE in shown
    assert r"\u202e" in shown


def test_json_beyond_the_first_plane(tool: str, tmp_path: Path) -> None:
    """A code point beyond the first plane is escaped as two surrogates."""
    path = tmp_path / "\U000e0041.pcap"
    path.write_bytes(pcap([WRONG]))
    _, shown, _ = run(tool, "check", "-J", str(path))
    assert r"\udb40\udc41" in shown
    assert json.loads(shown)["file"] == str(path)


def comments(data: bytes) -> list[str]:
    """Returns the comments of the packets of a little-endian pcapng file."""
    found = []
    at = 0
    while at < len(data):
        kind, size = (int.from_bytes(data[at + i : at + i + 4], "little") for i in (0, 4))
        if kind == 6:
            captured = int.from_bytes(data[at + 20 : at + 24], "little")
            start = at + 28 + (captured + 3) // 4 * 4
            length = int.from_bytes(data[start + 2 : start + 4], "little")
            found.append(data[start + 4 : start + 4 + length].decode())
        at += size
    return found


def test_comments_of_bad_packets_have_no_control_characters(
    tool: str, path: bytes, tmp_path: Path
) -> None:
    """Comments show names of files without control characters, because other programs print the
    comments unchanged."""
    run(tool, "check", "-q", "-w", str(tmp_path / "bad"), path)
    (comment,) = comments((tmp_path / "bad").read_bytes())
    assert comment.endswith(f"/{SHOWN}, frame 1")


def test_comments_in_captures_are_not_shown(tool: str, tmp_path: Path) -> None:
    named = option("<", 2, b"\x1b[31m")
    file = Pcapng().section(option("<", 1, b"\x1b[31m")).interface(options=named).packet(WRONG)
    path = tmp_path / "a.pcapng"
    path.write_bytes(file.bytes())
    for arguments in (["check"], ["check", "-J"], ["check", "-b"], ["explain", "-J"]):
        frame = ["1"] if arguments[0] == "explain" else []
        assert "\x1b" not in run(tool, *arguments, str(path), *frame)[1]
