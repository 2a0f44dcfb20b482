# SPDX-License-Identifier: MIT
"""Completion in bash, zsh and fish offers what --help lists, and files."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from carry_tool import Run
from test_manual import COMMANDS

pytestmark = pytest.mark.completions

Complete = Callable[[str], list[str]]

# bash splits --color=auto into three words.
BASH = """
source "$1"
read -ra COMP_WORDS <<<"${2//=/ = }"
[[ $2 == *' ' ]] && COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_carry
printf '%s\\n' "${COMPREPLY[@]}"
"""

# Each completion also goes to a pipe; a line with a full stop ends the list.
ZSH = """
fpath=({folder} $fpath)
autoload -Uz compinit && compinit -u -D
compadd() {{
    local -a hits
    [[ $@[1,(i)(-|--)] == *-[OAD]* ]] || {{
        builtin compadd -A hits "$@"
        (( $#hits )) && print -rl -- $hits >&{pipe}
    }}
    builtin compadd "$@"
}}
ended() {{
    print . >&{pipe}
    comppostfuncs=(ended)
}}
comppostfuncs=(ended)
"""
END = "."
PATIENCE = 120  # seconds


@pytest.fixture(scope="module")
def place(tool: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Prepares a folder with a capture, and a PATH that finds the tool."""
    folder = tmp_path_factory.mktemp("completion")
    (folder / "capture.pcap").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("PATH", f"{Path(tool).parent}:{os.environ['PATH']}")
        patch.setenv("HOME", str(folder / ".home"))
        # zsh resumes its children, and LeakSanitizer then waits forever for one to stop.
        patch.setenv("ASAN_OPTIONS", "detect_leaks=0")
        yield folder


def script(tool: str, shell: str) -> Path:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed (Debian package {shell})")
    return Path(tool).parent / f"completion.{shell}"


def run_shell(*command: str | Path) -> list[str]:
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


def bash(tool: str, place: Path) -> Iterator[Complete]:
    path = script(tool, "bash")
    yield lambda line: run_shell("bash", "-c", BASH, "bash", path, line)


def fish(tool: str, place: Path) -> Iterator[Complete]:
    """Yields completion by fish, without the descriptions after a tab and the options before
    values."""
    source = 'source "$argv[1]"; complete -C "$argv[2]"'
    path = script(tool, "fish")
    yield lambda line: [
        re.sub(r"\t.*|^--[a-z0-9-]+=(?=.)", "", found)
        for found in run_shell("fish", "--no-config", "-c", source, path, line)
    ]


def drain(terminal: int) -> None:
    with suppress(OSError):
        while os.read(terminal, 1 << 16):
            pass


class Lines:
    """Reads lines of a pipe; raises an error if none arrives, so that no test waits forever."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._bytes = b""

    def next(self) -> str:
        while b"\n" not in self._bytes:
            if not select.select([self._pipe], [], [], PATIENCE)[0]:
                raise TimeoutError(f"zsh has said nothing for {PATIENCE} s")
            if not (more := os.read(self._pipe, 1 << 16)):
                raise EOFError("zsh has ended")
            self._bytes += more
        line, self._bytes = self._bytes.split(b"\n", 1)
        return line.decode()


def zsh(tool: str, place: Path) -> Iterator[Complete]:
    """Yields completion by zsh: presses Tab in a shell on a terminal."""
    folder = place / ".functions"
    folder.mkdir()
    shutil.copy(script(tool, "zsh"), folder / "_carry")
    out, into = os.pipe()
    setup = place / ".setup"
    setup.write_text(ZSH.format(folder=folder, pipe=into))
    ours, theirs = pty.openpty()
    lines = Lines(out)
    with subprocess.Popen(
        ["zsh", "-f", "-i"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        pass_fds=[into],
        start_new_session=True,
    ) as shell:
        os.close(theirs)
        os.close(into)
        threading.Thread(target=drain, args=[ours], daemon=True).start()
        os.write(ours, f"source {setup}\n".encode())

        def complete(line: str) -> list[str]:
            os.write(ours, b"\x15" + line.encode() + b"\t")  # Ctrl-U clears the line
            return [*iter(lines.next, END)]

        yield complete
        shell.kill()
    os.close(ours)
    os.close(out)


SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}


@pytest.fixture(scope="module", params=SHELLS)
def complete(request: pytest.FixtureRequest, tool: str, place: Path) -> Iterator[Complete]:
    yield from SHELLS[request.param](tool, place)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("carry ch", {"check"}),
        ("carry help au", {"audit"}),
        ("carry --v", {"--version"}),
        ("carry check --par", {"--partial"}),
        ("carry check --no-t", {"--no-tunnels"}),
        ("carry fix --o", {"--only", "--output"}),
        ("carry bench s", {"sum"}),
        ("carry xstate le", {"leavers"}),
        ("carry help xstate le", {"leavers"}),
        ("carry audit r", {"report"}),
        ("carry audit report --par", {"--partition"}),
        ("carry bench sum --quick --f", {"--full"}),
        ("carry check b", set()),  # not "bad": the help lists verdicts like commands
        ("carry check --color=a", {"auto", "always"}),
        ("carry check --partial ", {"ok", "bad", "report"}),
        ("carry check --partial=re", {"report"}),
        ("carry check --udp-zero6=", {"illegal", "ok"}),
        ("carry audit --partition=", {"day", "folder"}),
        ("carry bench sum --mode ho", {"hot"}),
        ("carry bench copy --mode=mo", {"move"}),
        ("carry fix --only=bad,p", {"partial"}),
        ("carry check -p tcp,pppo", {"pppoe"}),
    ],
)
def test_offers(complete: Complete, line: str, expected: set[str]) -> None:
    """Of several values, the last one is completed."""
    assert {word.split(",")[-1] for word in complete(line)} == expected


@pytest.mark.parametrize("line", ["carry check ca", "carry check --html=ca", "carry fix -o ca"])
def test_offers_files(complete: Complete, request: pytest.FixtureRequest, line: str) -> None:
    """zsh and fish get files from the function. bash completes files itself if the function offers
    nothing."""
    is_bash = request.node.callspec.params["complete"] == "bash"
    assert complete(line) == ([] if is_bash else ["capture.pcap"])


def test_fish_describes_words(tool: str, place: Path, carry: Run) -> None:
    path = script(tool, "fish")
    source = 'source "$argv[1]"; complete -C "carry exp"; complete -C "carry check --strict"'
    assert run_shell("fish", "--no-config", "-c", source, path) == [
        "explain\tshow one frame layer by layer, and why each checksum is right or wrong",
        "--strict\texit with 4 if nothing is wrong, but a checksum is unverifiable, a packet was "
        "not examined in full, or no checksum was verified",
    ]


@pytest.mark.parametrize("command", ["check", "fix", "live", "audit", "bench", "bench sum"])
def test_offers_all_options(complete: Complete, carry: Run, command: str) -> None:
    shown = carry(*command.split(), "--help").stdout.split("\nExit status")[0]
    options = set(re.findall(r"^ {2,6}(?:-\w, )?(--[a-z0-9-]+)", shown, re.MULTILINE))
    assert set(complete(f"carry {command} --")) - {"-h"} == options


def test_offers_all_commands(complete: Complete) -> None:
    offered = [word for word in complete("carry ") if word != "capture.pcap"]
    assert {*offered} == {*COMMANDS, "help"}
