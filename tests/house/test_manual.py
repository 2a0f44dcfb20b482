# SPDX-License-Identifier: MIT
"""Manual pages: every command has one that agrees with --help and causes no warnings; examples
run."""

from __future__ import annotations

import gzip
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from carry_tool import BAD, CLEAN, LEVEL, SOURCE, Run, wait_until_read, zstd

PAGES = {path.stem: path for path in (SOURCE / "docs/man").glob("*.1")}
SECTIONS = [
    "NAME",
    "SYNOPSIS",
    "DESCRIPTION",
    "COMMANDS",
    "OPTIONS",
    "JSON",
    "TSV",
    "NAMES",
    "EXIT STATUS",
    "SIGNALS",
    "ENVIRONMENT",
    "EXAMPLES",
    "LIMITS",
    "SEE ALSO",
]
EVERY_PAGE = {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"}

# Options of other programs.
FOREIGN = {"--check", "--ignore-missing", "--long", "--verify"}

# Programs without which tests of this file are skipped, and the packages that contain them, which
# `make test` installs.
NEEDED = {"groff": "groff-base", "jq": "jq", "mandoc": "mandoc", "zstd": "zstd"}

EACH_PAGE = pytest.mark.parametrize("page", sorted(PAGES))


def need(program: str) -> None:
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed (Debian package {NEEDED[program]})")


def rows(table: str, macro: str) -> list[str]:
    """Returns the names in a table of commands or subcommands."""
    return re.findall(rf"^{macro}\((\w+),", (SOURCE / "tools/carry" / table).read_text(), re.M)


COMMANDS = rows("commands.def", "CARRY_COMMAND")
PARTS = {
    "bench": rows("bench/benches.def", "CARRY_BENCH"),
    "xstate": rows("xstate/parts.def", "CARRY_XSTATE_PART"),
}
# Programs installed beside the tool.
PROGRAMS = {"carry-rotated": SOURCE / "tools/carry/carry-rotated"}

# Commands with options, each as the words of its command line.
CALLS = [(name, *part) for name in COMMANDS for part in zip(PARTS.get(name, ()))] + [
    (name,) for name in COMMANDS if name not in PARTS
]


def plain(roff: str) -> str:
    """Returns the text without fonts and escapes."""
    roff = re.sub(r"\\f[A-Z]", "", roff)
    for escape, character in (("\\-", "-"), ("\\(aq", "'"), ("\\(dq", '"'), ("\\ ", " ")):
        roff = roff.replace(escape, character)
    return roff


def sections(text: str, macro: str = "SH") -> dict[str, str]:
    parts = re.split(rf"^\.{macro} (.+)$", text, flags=re.M)[1:]
    return {title.strip('"'): body for title, body in zip(parts[::2], parts[1::2], strict=True)}


def headings(text: str) -> list[str]:
    """Returns the headings of the paragraphs that have one."""
    return [plain(head) for head in re.findall(r"^\.TP\n\.[BIR]+ (.+)$", text, re.M)]


def options(heads: list[str]) -> set[str]:
    return {
        name
        for head in heads
        if head.startswith("-")
        for name in re.findall(r"(?<![\w-])--?[a-zA-Z0-9][\w-]*", head)
    }


def listed(shown: str) -> set[str]:
    """Returns the options in the table of a help text."""
    lines = re.findall(r"^ {2,6}(-.*)$", shown, re.M)
    return options([re.split(r" {2,}", line)[0] for line in lines])


def described(call: tuple[str, ...]) -> str:
    """Returns the part of a manual page that has the options of a command or subcommand."""
    text = sections(PAGES[f"carry-{call[0]}"].read_text())
    if len(call) == 1:
        return text["OPTIONS"]
    parts = sections(text["DESCRIPTION"], "SS")
    title = next(title for title in parts if " ".join(("carry", *call)) in title.split(", "))
    return parts[title] + text["OPTIONS"]


# --- Pages ---


def test_each_command_has_a_page() -> None:
    assert {*PAGES} == {"carry", *(f"carry-{name}" for name in COMMANDS), *PROGRAMS}
    overview = plain(sections(PAGES["carry"].read_text())["COMMANDS"])
    for name in COMMANDS:
        assert f'\n.BR {name} ", " carry-{name} (1)\n' in overview


@EACH_PAGE
def test_a_page_has_the_usual_sections(page: str) -> None:
    text = PAGES[page].read_text()
    titles = [*sections(text)]
    assert titles == [title for title in SECTIONS if title in titles]
    assert {*titles} >= EVERY_PAGE
    assert f"\n.TH {page.upper()} 1 " in text
    assert f"\n.SH NAME\n{page} \\- " in text


@EACH_PAGE
@pytest.mark.parametrize(
    "command", [["mandoc", "-T", "lint", "-W", "warning"], ["groff", "-man", "-ww", "-z"]]
)
def test_no_warnings(page: str, command: list[str]) -> None:
    """mandoc and groff have no warnings about the page."""
    need(command[0])
    done = subprocess.run([*command, PAGES[page]], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (CLEAN, "", "")


@EACH_PAGE
def test_references_lead_to_pages(page: str) -> None:
    named = re.findall(r"\b(carry[\w-]*) ?\((\d)\)", plain(PAGES[page].read_text()))
    assert named
    assert {*named} <= {(name, "1") for name in PAGES}


def test_make_test_installs_needed_programs() -> None:
    table = (SOURCE / "scripts/packages.txt").read_text()
    for program, package in NEEDED.items():
        assert re.search(rf"^(?:docs|test) +{package} +{program} ", table, re.M)


# --- Options ---


@pytest.mark.parametrize("call", CALLS, ids="-".join)
def test_options_are_those_of_help(carry: Run, call: tuple[str, ...]) -> None:
    shown = carry(*call, "--help").stdout
    common = options(headings(sections(PAGES["carry"].read_text())["OPTIONS"]))
    heads = options(headings(described(call)))
    assert {"-h", "--help", "-J", "--json"} == common
    assert listed(shown) <= heads | common
    assert heads <= {*re.findall(r"(?<![\w-])--?[a-zA-Z0-9][\w-]*", shown)}


@EACH_PAGE
def test_no_page_names_an_unknown_option(carry: Run, page: str) -> None:
    helps = "".join(carry(*call, "--help").stdout for call in [*CALLS, ()])
    known = {*re.findall(r"(?<![\w-])--[a-z][\w-]*", helps)} | FOREIGN
    assert {*re.findall(r"(?<![\w-])--[a-z][\w-]*", plain(PAGES[page].read_text()))} <= known


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_have_the_options_of_their_pages(name: str) -> None:
    shown = subprocess.run([PROGRAMS[name], "--help"], capture_output=True, text=True, check=True)
    page = sections(PAGES[name].read_text())
    assert listed(shown.stdout) == options(headings(page["OPTIONS"]))
    paragraph = re.search(r"^Exit status(.*?)\n\n", shown.stdout, re.M | re.S)
    assert paragraph
    assert statuses(paragraph[1]) == listed_statuses(name)


# --- Columns ---


@pytest.mark.parametrize(
    ("options", "title"),
    [
        (["--tsv"], "One line for each file and protocol"),
        (["--tsv", "--bad-only"], "One line for each checksum"),
    ],
)
def test_columns_are_those_of_the_first_line(carry: Run, options: list[str], title: str) -> None:
    first = carry("check", *options, SOURCE / "examples/broken.pcap").stdout.splitlines()[0]
    text = sections(sections(PAGES["carry-check"].read_text())["TSV"], "SS")[title]
    assert [name for head in headings(text) for name in re.findall(r"\w+", head)] == (
        first.split("\t")
    )


@pytest.mark.parametrize("call", CALLS, ids="-".join)
def test_columns_are_described(carry: Run, call: tuple[str, ...]) -> None:
    prints_columns = "--tsv" in carry(*call, "--help").stdout
    assert prints_columns == ("TSV" in sections(PAGES[f"carry-{call[0]}"].read_text()))


# --- Exit statuses ---


def statuses(text: str) -> set[str]:
    return {*re.findall(r"(?<![\w-])\d+(?![\w-])", text)}


def listed_statuses(page: str) -> set[str]:
    return statuses(" ".join(headings(sections(PAGES[page].read_text())["EXIT STATUS"])))


@pytest.mark.parametrize("name", COMMANDS)
def test_exit_statuses_are_those_of_help(carry: Run, name: str) -> None:
    """The page of a command with subcommands lists the statuses of all of them."""
    shown: set[str] = set()
    for call in CALLS:
        if call[0] == name:
            paragraph = re.search(
                r"^Exit status(.*?)\n\n", carry(*call, "--help").stdout, re.M | re.S
            )
            assert paragraph, call
            shown |= statuses(paragraph[1])
    assert {"0", "3"} <= shown
    assert listed_statuses(f"carry-{name}") == shown


def test_exit_statuses_of_all_commands_are_on_one_page() -> None:
    pages = [listed_statuses(page) for page in PAGES if page != "carry"]
    assert listed_statuses("carry") == set().union(*pages)


# --- Examples ---

EXAMPLES = [
    (page, command)
    for page, path in sorted(PAGES.items())
    for command in headings(sections(path.read_text())["EXAMPLES"])
]

# Other programs that examples run.
STUBS = {
    "openssl": "sleep 0.1",
    "pidof": "echo $SERVER",
    "tcpdump": "cat capture.pcap",
}


def program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def fill(folder: Path, tool: str) -> None:
    """Creates the files that the examples name."""
    broken, offloaded = (SOURCE / f"examples/{name}.pcap" for name in ("broken", "good"))
    (folder / "captures").mkdir()
    for name in ("capture.pcap", "captures/capture.pcap"):
        shutil.copy(broken, folder / name)
    shutil.copy(offloaded, folder / "offloaded.pcap")
    (folder / "capture.pcap.gz").write_bytes(gzip.compress(broken.read_bytes()))
    if shutil.which("zstd"):
        (folder / "capture.pcap.zst").write_bytes(zstd(broken.read_bytes()))
    subprocess.run([tool, "check", "-q", "-w", folder / "broken.pcapng", broken])
    for name in ("server", "libengine.so"):
        shutil.copy(tool, folder / name)
    program(folder / "test-suite", "true")
    (folder / "bin").mkdir()
    (folder / "bin/carry").symlink_to(tool)
    for name, path in PROGRAMS.items():
        (folder / "bin" / name).symlink_to(path)
    for name, line in STUBS.items():
        program(folder / "bin" / name, line)


@pytest.fixture
def place(tool: str, tmp_path: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """Yields a folder to run examples in, and their environment; SERVER is a process that waits for
    input."""
    fill(tmp_path, tool)
    with subprocess.Popen([tmp_path / "server", "check", "-"], stdin=subprocess.PIPE) as server:
        wait_until_read(server)
        path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
        yield tmp_path, {**os.environ, "PATH": path, "SERVER": str(server.pid)}
        server.kill()


@pytest.mark.parametrize(("page", "command"), EXAMPLES)
def test_examples_run(place: tuple[Path, dict[str, str]], page: str, command: str) -> None:
    if page in ("carry-sites", "carry-xstate") and platform.machine() != "x86_64":
        pytest.skip(f"{page} needs x86-64: other architectures have no sites and no XSAVE")
    if page == "carry-live":
        pytest.skip("it needs interfaces: test_live.py runs it")
    if page == "carry-audit":
        pytest.skip("it needs an engine: tests/unit/audit/test_command.py runs it")
    if page == "carry-bench" and LEVEL == "short":
        pytest.skip("left out at CARRY_TEST_LEVEL=short: it measures for seconds")
    if "| jq" in command:
        need("jq")
    if ".zst" in command:
        need("zstd")
    folder, environment = place
    shell = ["bash", "-o", "pipefail", "-c", command]
    done = subprocess.run(shell, cwd=folder, env=environment, capture_output=True, timeout=600)
    said = done.stderr.decode()
    assert done.returncode in (CLEAN, BAD), said
    assert not re.search(r"^carry|not found", said, re.M)
