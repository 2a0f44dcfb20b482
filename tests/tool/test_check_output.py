# SPDX-License-Identifier: MIT
"""Input and output of `carry check`: CSV columns, colours, and file names from a list."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path

import pytest
from captures import GOOD, WRONG, pcap
from carry_tool import BAD, CLEAN, ERROR, Run, in_terminal

RED = "\033[31m"

# --- CSV ---


@pytest.mark.parametrize("mode", [[], ["--bad-only"]])
@pytest.mark.parametrize("name", ["a.pcap", 'a,"b".pcap', "a\tb\nc.pcap"])
def test_csv_has_the_cells_of_tsv(carry: Run, tmp_path: Path, mode: list[str], name: str) -> None:
    path = tmp_path / name
    path.write_bytes(pcap([GOOD, WRONG])[:-1])
    tsv = carry("check", "--tsv", *mode, path)
    rows = [line.split("\t") for line in tsv.stdout.splitlines()]
    done = carry("check", "--csv", *mode, path)
    assert (done.returncode, done.stderr) == (tsv.returncode, tsv.stderr)
    assert done.stdout.endswith("\r\n")
    assert "\n" not in done.stdout.replace("\r\n", "")
    assert [*csv.reader(io.StringIO(done.stdout, newline=""), strict=True)] == rows


def test_the_last_format_counts(carry: Run) -> None:
    data = pcap([WRONG])
    assert carry("check", "--tsv", "--csv", "-", stdin=data).stdout.startswith("file,protocol,")
    assert carry("check", "--csv", "-J", "-", stdin=data).stdout.startswith("{")
    listed = carry("check", "--list-bad", "--csv", "-", stdin=data).stdout.splitlines()
    assert [line.split(",")[1] for line in listed] == ["protocol", "all", "ip", "tcp"]


# --- Colours ---


def test_colours_on_request(tool: str, carry: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([WRONG]))
    refusing = {**os.environ, "NO_COLOR": "1", "TERM": "dumb"}
    fix = ["fix", "--dry-run", "--only=partial", path]
    for command in (["check", path], fix, ["explain", path, "1"]):
        for option in ("--color", "--color=always"):
            assert RED in carry(*command, option, env=refusing).stdout
        for options in ([], ["--color=auto"], ["--color=always", "--color=never"]):
            assert "\033" not in carry(*command, *options).stdout
    words = [tool, "check", str(path)]
    assert RED in in_terminal([*words, "--color=never", "--color=auto"])
    assert "\033[3" not in in_terminal([*words, "--color=never"])
    assert "\033[3" not in in_terminal(words, NO_COLOR="1")


def test_other_colours_are_refused(carry: Run) -> None:
    for command in ("check", "fix", "explain"):
        done = carry(command, "--color=red", "a.pcap")
        assert (done.returncode, done.stdout) == (ERROR, "")
        assert f"carry {command}: --color takes auto, always or never, not 'red'" in done.stderr


# --- Names from a list ---


def listed(carry: Run, names: bytes, *options: str) -> tuple[int, list[str], str]:
    """Returns the exit status, the names of checked files, and the message."""
    done = carry("check", "--tsv", "--files0-from=-", *options, stdin=names)
    rows = [line.split("\t") for line in done.stdout.splitlines()[1:]]
    return done.returncode, [row[0] for row in rows if row[1] == "all"], done.stderr


def test_a_list_names_the_files(carry: Run, tmp_path: Path) -> None:
    paths = [tmp_path / name for name in ("b", "a\nb", "folder/c.pcap")]
    paths[2].parent.mkdir()
    for path in paths:
        path.write_bytes(pcap([GOOD]))
    given = [str(path) for path in (*paths[:2], paths[2].parent)]
    shown = [str(path).replace("\n", "?") for path in paths]
    names = "\0".join(given).encode()
    for end in (b"", b"\0"):  # the last name may lack its NUL
        assert listed(carry, names + end) == (CLEAN, shown, "")
    (tmp_path / "list").write_bytes(names)
    done = carry("check", f"--files0-from={tmp_path / 'list'}", "--color=never")
    assert done.stdout.count(": clean\n") == 4
    paths[0].write_bytes(pcap([WRONG]))
    assert listed(carry, names)[0] == BAD


@pytest.mark.parametrize(
    ("names", "count", "problem"),
    [
        (b"", 0, "names no files"),
        (b"{}\0\0{}\0", 1, "holds an empty name"),
        (b"{}\0-\0", 1, "names standard input, which the names come from"),
        (b"{}\0" + b"x" * 5000, 1, "holds a name that is longer than names can be"),
    ],
)
def test_wrong_lists(carry: Run, tmp_path: Path, names: bytes, count: int, problem: str) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(pcap([GOOD]))
    status, files, message = listed(carry, names.replace(b"{}", str(path).encode()))
    assert (status, files) == (ERROR, [str(path)] * count)
    assert message == f"carry: standard input: {problem}\n"


def test_lists_that_cannot_be_read(carry: Run, tmp_path: Path) -> None:
    for path, reason in ((tmp_path, "Is a directory"), (tmp_path / "no", "No such file")):
        done = carry("check", f"--files0-from={path}")
        assert (done.returncode, done.stdout) == (ERROR, "")
        assert done.stderr.startswith(f"carry: {path}: {reason}")
    done = carry("check", "--files0-from=-", "a.pcap", stdin=b"")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert "with --files0-from, no other FILE may be given: 'a.pcap'" in done.stderr
