# SPDX-License-Identifier: MIT
"""`carry audit` as users call it: options, examples of the manual page, output."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ARCHIVE, SOURCE, pcap, write_files
from servers import Served, web

pytest.importorskip("ray", reason="ray is not installed")
pytest.importorskip("duckdb", reason="duckdb is not installed")

import libcarry
import ray
import schemas
from libcarry.audit import command, engine, progress, tasks
from test_job import wait_for

TOOL = os.environ["CARRY_TOOL"]
CLEAN, BAD, DAMAGED, ERROR = range(4)
PAGE = SOURCE / "docs/man/carry-audit.1"


@pytest.fixture(scope="module")
def place(s3: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:  # noqa: ANN401
    """Yields a folder with programs on the PATH and the files of the examples, while RAY_ADDRESS
    names a cluster."""
    folder = tmp_path_factory.mktemp("place")
    write_files(folder / "captures", {"a.pcap": pcap("bad", "good"), "b.pcap": pcap("good")})
    for bucket in ("captures", "results"):
        s3.create_bucket(Bucket=bucket)
    s3.put_object(Bucket="captures", Key="2026/a.pcap", Body=pcap("bad", "good"))
    programs = folder / "bin"
    programs.mkdir()
    (programs / "carry").symlink_to(TOOL)
    duckdb = "import duckdb, sys; print(duckdb.sql(sys.argv[2]))"
    for name, words in (("carry-audit", "-m libcarry.audit"), ("duckdb", f"-c '{duckdb}'")):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {words} "$@"\n')
        (programs / name).chmod(0o755)
    with pytest.MonkeyPatch.context() as patch, engine.joined(None, 2):
        patch.setenv("RAY_ADDRESS", ray.get_runtime_context().gcs_address)
        patch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
        yield folder


def carry(place: Path, *words: str | Path, **options: Any) -> Any:  # noqa: ANN401
    return subprocess.run(
        ["carry", *map(str, words)], cwd=place, capture_output=True, text=True, **options
    )


# --- Examples of the manual page ---


def examples() -> list[str]:
    text = PAGE.read_text().split(".SH EXAMPLES")[1].split(".SH")[0]
    for escape, character in (("\\-", "-"), ("\\(aq", "'"), ("\\(dq", '"')):
        text = text.replace(escape, character)
    return re.findall(r"^\.TP\n\.B (.+)$", text, re.M)


def test_examples_of_the_page_run(place: Path) -> None:
    """The examples run in the order of the page, because some use the results of earlier ones."""
    known = examples()
    assert len(known) == 6
    help_text = carry(place, "audit", "--help").stdout
    shutil.copytree(place / "captures", place / "shared/captures")
    for example in known:
        assert f"\n  {example}\n" in help_text
        words = re.sub(r"(?<=[ =])/(archive|shared)", rf"{place}/shared", example)
        words = words.replace("--out=audit --files-from", "--out=other --files-from")
        done = subprocess.run(words, shell=True, cwd=place, capture_output=True, text=True)
        assert done.returncode in (CLEAN, BAD), (words, done.stderr)
        assert done.stdout, words
    assert (place / "audit.html").read_text().startswith("<!doctype html>")


# --- Output ---


@pytest.fixture(scope="module")
def audited(place: Path) -> Path:
    write_files(place / "archive", ARCHIVE)
    done = carry(place, "audit", "--out=tables", "archive")
    assert done.returncode == DAMAGED, done.stderr
    return place


def test_says_what_it_did(audited: Path) -> None:
    report = carry(audited, "audit", "report", "tables")
    assert report.returncode == DAMAGED
    assert report.stderr == ""
    assert report.stdout.startswith("7 captures, ")
    again = carry(audited, "audit", "--out=tables", "archive")
    assert (again.returncode, again.stdout) == (DAMAGED, report.stdout)
    assert again.stderr == "carry audit: 7 captures are as they were\n"
    assert carry(audited, "audit", "-q", "--out=tables", "archive").stdout == ""


def test_json_conforms(audited: Path) -> None:
    for words in (("report", "--json", "tables"), ("-J", "--out=tables", "archive")):
        found = schemas.conforming("audit", carry(audited, "audit", *words).stdout)
        assert (found["captures"], found["statuses"]["damaged"]) == (7, 1)
        assert found["verdicts"]["partial"] == 1


def test_the_page_can_be_made_again(audited: Path) -> None:
    assert carry(audited, "audit", "report", "--html=page.html", "tables").returncode == DAMAGED
    assert "bad.pcap" in (audited / "page.html").read_text()


def test_a_capture_that_cannot_be_read_is_said(audited: Path) -> None:
    done = carry(audited, "audit", "--out=missing", "--retries=0", "none.pcap", "archive/lan")
    assert done.returncode == ERROR
    assert f"carry audit: {audited}/none.pcap: No such file or directory\n" in done.stderr


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("--out=x --files-from=none", "none: No such file or directory"),
        ("--out=nothing://x archive", "Protocol not known: nothing"),
        ("report none", "none: no audit: it has no table files"),
        ("report --html=none/x.html tables", "none/x.html: No such file or directory"),
        (
            "--out=archive/lan/bad.pcap archive",
            "archive/lan/bad.pcap/_audit/lock.json: Not a directory",
        ),
    ],
)
def test_errors_are_one_line(audited: Path, words: str, complaint: str) -> None:
    done = carry(audited, "audit", *words.split())
    assert done.returncode == ERROR
    assert done.stderr.replace(f"{audited}/", "") == f"carry audit: {complaint}\n"


def test_lists_of_captures(audited: Path) -> None:
    names = ["archive/lan/good.pcap", "archive/lan/bad.pcap"]
    for option, end in (("--files-from=-", "\n"), ("--files0-from=-", "\0")):
        out = f"list{len(option)}"
        done = carry(audited, "audit", "-J", f"--out={out}", option, input=end.join(names) + end)
        assert json.loads(done.stdout)["captures"] == 2


def test_a_terminal_sees_how_it_goes(audited: Path) -> None:
    served = {f"/{n}.pcap": Served(pcap("good"), delay=0.4) for n in range(3)}
    here, there = pty.openpty()
    with web(served) as root:
        words = ["carry", "audit", "--out=shown", *(root + name for name in served)]
        done = subprocess.Popen(words, cwd=audited, stderr=there, stdout=subprocess.DEVNULL)
        os.close(there)
        shown = b""
        while part := _read(here):
            shown += part
        assert done.wait() == CLEAN
    assert re.search(rb"\r\x1b\[K\d of 3 captures, ", shown)


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # the other end of the terminal was closed
        return b""


def test_ctrl_c_ends_it_and_says_how_to_go_on(audited: Path) -> None:
    served = {"/slow.pcap": Served(pcap("good"), delay=30)}
    with web(served) as root:
        words = ["carry", "audit", "--out=ended", root + "/slow.pcap"]
        done = subprocess.Popen(words, cwd=audited, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: served["/slow.pcap"].answers > 0)
        done.send_signal(signal.SIGINT)
        _, said = done.communicate(timeout=60)
    assert done.returncode == -signal.SIGINT
    assert said.endswith("carry audit: interrupted: the same command goes on\n")


# --- Options ---


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["x"], "no --out"),
        (["--out=y"], "no SOURCE"),
        (["--out=y", "--findings=many", "x"], "'many' is no number"),
        (["--out=y", "--split=4X", "x"], "'4X' is no size"),
        (["--out=y", "--threads=0", "x"], "'0' is no number from 1 to 1024"),
        (["--out=y", "--partition=week", "x"], "invalid choice: 'week'"),
        (["--out=y", "--storage=[]", "x"], "an object of objects"),
        (["--out=y", "--no-such", "x"], "--no-such"),
        (["report"], "report takes one DEST"),
    ],
)
def test_usage_errors(words: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Wrong usage prints one line that names the fault and points to --help."""
    assert command.main(words) == ERROR
    said = capsys.readouterr().err
    assert complaint in said
    assert said.endswith("; see carry audit --help\n")
    assert said.count("\n") == 1


def test_missing_packages_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "_NEEDED", ("fsspec", "no_such_engine"))
    assert command.main(["--out=y", "x"]) == ERROR
    assert "no_such_engine is not installed: pip install 'libcarry[audit]'" in (
        capsys.readouterr().err
    )


def test_no_audit_has_no_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["report", str(tmp_path)]) == ERROR
    assert capsys.readouterr().err.count("\n") == 1


def test_help_is_that_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    shown = subprocess.run([TOOL, "audit", "--help"], capture_output=True, text=True, check=True)
    assert command.main(["-h"]) == CLEAN
    assert capsys.readouterr().out == shown.stdout == libcarry._carry.AUDIT_USAGE
    options = set(re.findall(r"^ {2,6}(?:-\w, )?(--[\w-]+)", shown.stdout, re.M))
    known = {word for action in command._parser()._actions for word in action.option_strings}
    assert options == {word for word in known if word.startswith("--")}


def test_without_the_package_the_command_says_so(tmp_path: Path) -> None:
    done = subprocess.run(
        [TOOL, "audit", "--out=x", "y"], env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert done.returncode == ERROR
    assert done.stderr == (
        "carry audit: carry-audit is not installed: pip install 'libcarry[audit]'; "
        "see carry audit --help\n"
    )


def test_a_log_gets_whole_lines() -> None:
    shown = progress.Progress(is_quiet=True)
    shown.expect(10, 4_000_000_000)
    shown.done(tasks.Outcome("1", captures=3, bytes=1_000_000_000, findings=2, failed=1))
    shown._began -= 10
    assert re.fullmatch(
        r"3 of 10 captures, 1\.00 GB of 4\.00 GB, \d+\.\d\d MB/s, \d\d s left, 2 wrong, 1 failed",
        shown.line(),
    )
