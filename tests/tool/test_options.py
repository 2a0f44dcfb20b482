# SPDX-License-Identifier: MIT
"""Help and options of every command: each option of the help exists, with its value."""

from __future__ import annotations

import platform
import re
from typing import NamedTuple

import pytest
from carry_tool import CLEAN, ERROR, SOURCE, Run

COMMANDS = [
    *("check", "fix", "explain", "live", "cpu", "selftest", "sites"),
    *(f"bench {name}" for name in ("sum", "crc", "copy", "capture", "patch", "hook", "xstate")),
    *("bench live", "bench ring0", "bench jit"),
    *(f"xstate {name}" for name in ("layout", "cost", "who", "prof", "leavers")),
]

GROUPS = ("bench", "xstate")
# Commands whose options another program reads. tests/unit/audit tests them.
STARTERS = ("audit",)

# Matches "  -o, --output=FILE  where", "  --size BYTES  only" and "  --json  all". Does not match
# options with an optional value, such as "--jit[=COUNT]" and "--against [NAME]".
OPTION = re.compile(r"^ {2,6}(?:(-\w), )?(--[a-z0-9-]+)(?:[= ]([A-Z]+))? +(?!\[)", re.MULTILINE)
ROW = re.compile(r"^  ([a-z]\w*) {2,}", re.MULTILINE)


class Option(NamedTuple):
    letter: str | None
    name: str
    takes_value: bool


def options_of(help_text: str) -> list[Option]:
    return [
        Option(letter or None, name, bool(value))
        for letter, name, value in OPTION.findall(help_text)
        if name != "--help"
    ]


@pytest.fixture(params=COMMANDS)
def command(request: pytest.FixtureRequest, carry: Run) -> list[str]:
    words: list[str] = request.param.split()
    if words[0] == "xstate" and platform.machine() != "x86_64":
        pytest.skip("extended state is of x86-64")
    return words


def test_all_commands_are_here(carry: Run) -> None:
    commands = set(ROW.findall(carry("--help").stdout))
    for group in GROUPS:
        commands.remove(group)
        commands |= {f"{group} {name}" for name in ROW.findall(carry(group, "--help").stdout)}
    assert commands == {*COMMANDS, *STARTERS}


def check_help(carry: Run, words: list[str]) -> None:
    done = carry(*words, "--help")
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert done.stdout.startswith(f"Usage: carry {' '.join(words)} ")
    assert carry("help", *words).stdout == carry(*words, "-h").stdout == done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    if "--json  " in done.stdout:
        assert "  -J, --json  " in done.stdout
        assert "'-J'" not in carry(*words, "-J", "--nosuch").stderr


def test_help(carry: Run, command: list[str]) -> None:
    """The help of each command begins with its usage, and is at most 80 columns wide."""
    check_help(carry, command)


@pytest.mark.parametrize("group", [*GROUPS, *STARTERS])
def test_help_of_groups(carry: Run, group: str) -> None:
    """The help of each group, and of audit, begins with its usage, and is at most 80 columns
    wide."""
    check_help(carry, [group])


def test_help_names_them(carry: Run, command: list[str]) -> None:
    done = carry(*command, "--help")
    assert (done.returncode, done.stderr) == (CLEAN, "")
    options = options_of(done.stdout)
    assert options
    for option in options:
        wrong = option.name if option.takes_value else f"{option.name}=1"
        complaint = "needs a value" if option.takes_value else "takes no value"
        refused = carry(*command, wrong)
        assert (refused.returncode, refused.stdout) == (ERROR, "")
        assert refused.stderr == (
            f"carry {' '.join(command)}: option '{wrong}' {complaint}; "
            f"see carry {' '.join(command)} --help\n"
        )


def test_letters(carry: Run, command: list[str]) -> None:
    """The command knows each letter of its help, and needs a value where the help says so."""
    for option in options_of(carry(*command, "--help").stdout):
        if not option.letter:
            continue
        arguments = [option.letter] if option.takes_value else [f"{option.letter}?"]
        complaint = "needs a value" if option.takes_value else "unknown option '-?'"
        assert complaint in carry(*command, *arguments).stderr


def test_unknown(carry: Run, command: list[str]) -> None:
    """The error gives the name of an unknown option."""
    for option in ("--no-such-option", "-?"):
        done = carry(*command, option)
        assert (done.returncode, done.stdout) == (ERROR, "")
        assert f"unknown option '{option}'" in done.stderr


def test_one_reader_reads_the_options_of_all_commands() -> None:
    callers = [
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.glob("tools/carry/**/*.c")
        if re.search(r"\bgetopt\w*\(", path.read_text().replace("getopt_long() ", ""))
    ]
    assert callers == ["tools/carry/common/options.c"]


def test_the_last_of_contrary_options_counts(carry: Run) -> None:
    capture = str(SOURCE / "examples/good.pcap")
    assert carry("check", "--json", "--tsv", capture).stdout.startswith("file\t")
    assert carry("check", "--tsv", "--json", capture).stdout.startswith("{")


def test_optional_values(carry: Run) -> None:
    """The value of --against is a word of its own; that of --jit follows an equals sign."""
    refused = carry("bench", "sum", "--against", "nosuch", "--quick")
    assert "no kernel 'nosuch'" in refused.stderr
    refused = carry("check", "--jit", "nosuch.pcap")
    assert "nosuch.pcap" in refused.stderr
    assert "--jit takes a number of at least 1" in carry("check", "--jit=0", "x.pcap").stderr
