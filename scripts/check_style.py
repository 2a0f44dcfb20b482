#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what formatters do not: licence lines, lengths, words of prose, conditions of tests, and
that what others make, and releases are made with, is pinned by its digest."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LINE_MAX = 100
README_LINES_MAX = 250
SPDX = "SPDX-License-Identifier: MIT"

# Files without a licence line of their own: prose, and what has no comments.
NO_SPDX = {".abi", ".ipynb", ".md", ".json", ".txt", ".clang-format", ".gitignore"}
# Tables, and prose with addresses and output of commands, may have longer lines.
LONG_LINES = {".1", ".abi", ".acsl", ".def", ".ipynb", ".json", ".md"}
TABS = {"Kbuild", "Makefile", "rules", ".mk", ".go"}  # as make and gofmt have it
DEBIAN = ROOT / "packaging/debian"  # its file "copyright" is for all that are no scripts

# Phrases that public prose and messages must not use, and the standard word for each. Comments of
# headers wrap.
BLANK = r"(?:\s|\*)+"
REPLACED = {
    rf"but{BLANK}for": "except",
    rf"save{BLANK}for": "except",
    r"whoever": "caller",
    rf"who{BLANK}calls": "caller",
    rf"broken{BLANK}twin": "mutant",
    rf"put{BLANK}together": "reassemble",
    rf"put{BLANK}right": "repair",
    rf"tells{BLANK}of": "report",
    rf"told{BLANK}of": "report",
    rf"who{BLANK}sent": "sender",
    rf"looked{BLANK}into": "examine",
}
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)

# Code of C, piece by piece; the group is what a string literal says.
CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|'(?:\\.|[^'\\])'|"((?:\\.|[^"\\])*)"|[^\n]""", re.DOTALL)

# Where workflows name actions and containers, and what is made with tools that pip brings.
WORKFLOWS = ROOT / ".github/workflows"
TOOLING = [ROOT / name for name in (".ci", ".github", "Makefile", "bench", "packaging", "scripts")]
FROM_OTHERS = re.compile(r"^[\s-]*(?:uses|image|container):[ \t]*([^\s#]+)", re.MULTILINE)
DIGEST = re.compile(r"@(?:[0-9a-f]{40}|sha256:[0-9a-f]{64})$")
BY_PIP = re.compile(r"^.*\bpip3?\b.*\binstall\b.*$", re.MULTILINE)


def sources() -> Iterator[Path]:
    """Every file that git tracks, or would if it were added; the rest is not ours to judge."""
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
    """Line number and complaint."""
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


def is_prose(path: Path) -> bool:
    """Is it for users of the library: a document, a manual page, or a public header?"""
    return path.suffix in {".md", ".1"} or path.is_relative_to(ROOT / "include")


def has_messages(path: Path) -> bool:
    """Do its string literals reach users: of the command, or of libcarry-capture?"""
    folders = (ROOT / "tools/carry", ROOT / "capture")
    return path.suffix in {".c", ".def"} and any(map(path.is_relative_to, folders))


def messages(text: str) -> str:
    """What the string literals of code in C say, in the lines where they stand."""

    def said(piece: re.Match[str]) -> str:
        return (piece[1] or "").replace(r"\n", " ") or " " + "\n" * piece[0].count("\n")

    return CODE.sub(said, text)


def house_words(text: str) -> Iterator[tuple[int, str]]:
    """Line number and complaint."""
    text = FENCED.sub(lambda match: "\n" * match[0].count("\n"), text)
    for phrase, word in REPLACED.items():
        for match in re.finditer(rf"\b{phrase}\b", text, re.IGNORECASE):
            found = re.sub(BLANK, " ", match[0])
            yield text.count("\n", 0, match.start()) + 1, f'"{found}": say "{word}"'


def condition(text: str, start: int) -> str:
    """The first argument of the call that opens before `start`, without what nests in it."""
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
    """Line number and complaint: points that cannot say which of their conditions failed."""
    for call in re.finditer(r"\btap_ok\(", text):
        joined = condition(text, call.end()).split("&&")
        if len(joined) > 1 and not all(part.strip().startswith("TAP_") for part in joined):
            number = text.count("\n", 0, call.start()) + 1
            yield number, "conditions of tap_ok() without TAP_EQ() and the like, see tap.h"


def unpinned(path: Path, text: str) -> Iterator[tuple[int, str]]:
    """Yields line numbers and complaints: what would be another thing tomorrow."""
    found = []
    if path.is_relative_to(WORKFLOWS):
        named = FROM_OTHERS.finditer(text)
        found += [(m, f"{m[1]} has no digest") for m in named if not DIGEST.search(m[1])]
    if any(map(path.is_relative_to, TOOLING)):
        lines = BY_PIP.finditer(text)
        found += [(m, "pip without --require-hashes") for m in lines if "--require-h" not in m[0]]
    for match, complaint in found:
        yield text.count("\n", 0, match.end()) + 1, complaint


def main() -> int:
    errors = 0
    count = 0
    for path in sources():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue  # captures and other data
        count += 1
        found = [*complaints(path, text), *unpinned(path, text)]
        if is_prose(path):
            found += house_words(text)
        elif has_messages(path):
            found += house_words(messages(text))
        if path.suffix in {".c", ".cc"}:
            found += silent_points(text)
        for number, complaint in found:
            errors += 1
            print(f"{path.relative_to(ROOT)}:{number}: {complaint}")
        if path.name == "README.md" and text.count("\n") > README_LINES_MAX:
            errors += 1
            print(f"{path.relative_to(ROOT)}: more than {README_LINES_MAX} lines")
    print(f"{count} text files: {errors} complaints")
    return 1 if errors or not count else 0


if __name__ == "__main__":
    sys.exit(main())
