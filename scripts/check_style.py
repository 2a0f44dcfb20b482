#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what formatters do not: licence lines, lengths, words, and conditions of tests.

Also checks that a digest pins everything that workflows and releases take from other projects.
"""

import argparse
import contextlib
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import check_words

ROOT = Path(__file__).resolve().parent.parent
LINE_MAX = 100
README_LINES_MAX = 250
SPDX = "SPDX-License-Identifier: MIT"

# Files without a licence line of their own: prose, and formats without comments.
NO_SPDX = {".abi", ".ipynb", ".md", ".json", ".txt", ".clang-format", ".gitignore"}
# Tables, and prose with addresses and output of commands, may have longer lines.
LONG_LINES = {".1", ".abi", ".acsl", ".def", ".ipynb", ".json", ".md"}
TABS = {"Kbuild", "Makefile", "rules", ".mk", ".go"}  # make and gofmt demand them
DEBIAN = ROOT / "packaging/debian"  # its file "copyright" covers all files except scripts

# Files whose strings are examples of wrong phrases.
EXAMPLES = {"scripts/check_words.py", "tests/house/test_commits.py", "tests/house/test_words.py"}

# Folders whose string literals users, or readers of tests, see.
TEXTS = (
    ".ci/",
    "bench/",
    "bindings/",
    "capture/",
    "fuzz/",
    "proof/",
    "scripts/",
    "tests/",
    "tools/",
)

# Code of C, piece by piece; the group is the content of a string literal.
CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\])'|"((?:\\.|[^"\\])*)"|[^\n]""", re.DOTALL)

# Files that name actions and containers, and folders whose files may call pip.
WORKFLOWS = ROOT / ".github/workflows"
TOOLING = [ROOT / name for name in (".ci", ".github", "Makefile", "bench", "packaging", "scripts")]
FROM_OTHERS = re.compile(r"^[\s-]*(?:uses|image|container):[ \t]*([^\s#]+)", re.MULTILINE)
DIGEST = re.compile(r"@(?:[0-9a-f]{40}|sha256:[0-9a-f]{64})$")
BY_PIP = re.compile(r"^.*\bpip3?\b.*\binstall\b.*$", re.MULTILINE)


def sources() -> Iterator[Path]:
    """Yields every file that Git tracks or would add."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for name in sorted(set(names.split("\0")) - {""}):
        if (ROOT / name).is_file():
            yield ROOT / name


def kind(path: Path) -> str:
    return path.suffix or path.name


def complaints(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Yields line numbers and complaints about the form of a file."""
    lines = text.split("\n")
    if lines[-1]:
        yield len(lines), "no newline at the end"
    has_licence = kind(path) in NO_SPDX or path.name == "LICENSE" or SPDX in "".join(lines[:3])
    if not has_licence and not (path.is_relative_to(DEBIAN) and lines[0][:2] != "#!"):
        yield 1, f"no {SPDX}"
    for number, line in enumerate(lines, 1):
        if line != line.rstrip():
            yield number, "white space at the end"
        if "\t" in line and kind(path) not in TABS:
            yield number, "tab"
        if len(line) > LINE_MAX and kind(path) not in LONG_LINES:
            yield number, f"{len(line)} characters, more than {LINE_MAX}"


def messages(text: str) -> str:
    """Returns the content of the string literals of code in C, in their lines."""

    def said(piece: re.Match[str]) -> str:
        return (piece[1] or "").replace(r"\n", " ") or " " + "\n" * piece[0].count("\n")

    return CODE.sub(said, text)


def words(path: Path, text: str) -> list[tuple[int, str]]:
    """Returns line numbers and complaints about the words of a file; EXAMPLES have none."""
    name = str(path.relative_to(ROOT))
    return [] if name in EXAMPLES else check_words.complaints(name, text, name.startswith(TEXTS))


def condition(text: str, start: int) -> str:
    """Returns the first argument of the call that opens before `start`, without nested parts."""
    found = ""
    depth = 0
    for piece in CODE.finditer(text, start):
        depth -= piece[0] in ")]}"
        if depth < 0 or (depth == 0 and piece[0] == ","):
            break
        if depth == 0 and len(piece[0]) == 1:
            found += piece[0]
        depth += piece[0] in "([{"
    return found


def silent_points(text: str) -> Iterator[tuple[int, str]]:
    """Yields line numbers and complaints about points that cannot show which condition failed."""
    for call in re.finditer(r"\btap_ok\(", text):
        joined = condition(text, call.end()).split("&&")
        if len(joined) > 1 and not all(part.strip().startswith("TAP_") for part in joined):
            number = text.count("\n", 0, call.start()) + 1
            yield number, "conditions of tap_ok() without TAP_EQ() and the like, see tap.h"


def unpinned(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Yields line numbers and complaints about content of other projects without a digest."""
    found = []
    if path.is_relative_to(WORKFLOWS):
        named = FROM_OTHERS.finditer(text)
        found += [(m, f"{m[1]} has no digest") for m in named if not DIGEST.search(m[1])]
    if any(map(path.is_relative_to, TOOLING)):
        lines = BY_PIP.finditer(text)
        found += [(m, "pip without --require-hashes") for m in lines if "--require-h" not in m[0]]
    for match, complaint in found:
        yield text.count("\n", 0, match.end()) + 1, complaint


def texts(paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Yields files with their text; leaves out captures and other data, which are not text."""
    for path in paths:
        with contextlib.suppress(UnicodeDecodeError):
            yield path, path.read_text()


def check_comments(named: list[str]) -> list[str]:
    """Returns complaints about the words of these files and folders."""
    below = [Path(name).resolve() for name in named]
    paths = (path for path in sources() if any(map(path.is_relative_to, below)))
    return [
        f"{path.relative_to(ROOT)}:{line}: {complaint}"
        for path, text in texts(paths)
        for line, complaint in words(path, text)
    ]


def check_all() -> list[str]:
    """Returns complaints about all files."""
    found = []
    for path, text in texts(sources()):
        name = str(path.relative_to(ROOT))
        said = [*complaints(path, text), *unpinned(path, text), *words(path, text)]
        if path.suffix in {".c", ".cc"}:
            said += silent_points(text)
        found += [f"{name}:{line}: {complaint}" for line, complaint in said]
        if path.name == "README.md" and text.count("\n") > README_LINES_MAX:
            found.append(f"{name}: more than {README_LINES_MAX} lines")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    help_of_comments = "check the words of these files and folders alone"
    parser.add_argument("--comments", nargs="+", metavar="PATH", help=help_of_comments)
    named = parser.parse_args().comments
    found = check_comments(named) if named else check_all()
    print(*found, f"{len(found)} complaints", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
