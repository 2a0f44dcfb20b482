# SPDX-License-Identifier: MIT
"""Comments of headers as paragraphs, lists and code, and their lines as runs of words.

A comment is text in paragraphs. Lines with an indent of four or more are code; " - " begins an item
of a list; two spaces or more separate a term from its description, which may also begin on the next
line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

ITEM = re.compile(r"( *)- (?=\S)")
TERM = re.compile(r"( ?)((?:[\w\"<][^\s]*)(?: [^\s]+)*?)( {2,})(?=\S)")
FAR = 10  # columns: a line with at least this indent describes the term on the line before it
RUN = re.compile(
    r"`(?P<code>[^`]+)`|(?<![\w*])\*(?P<word>[A-Za-z][\w ]*)\*(?![\w*])|<(?P<header>carry/\w+\.h)>"
    r"|\b(?P<function>carry_\w+)\(\)|\b(?P<constant>CARRY_[A-Z0-9_]+)\b(?![(*])"
)


@dataclass
class Block:
    kind: str  # "text", "code", "items" or "terms"
    text: str = ""
    terms: list[str] = field(default_factory=list)
    parts: list[list[Block]] = field(default_factory=list)


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def below(lines: list[str], start: int, column: int) -> int:
    """Returns the index after the lines from `start` on that are empty or indented by `column` or
    more, without empty lines at the end."""
    at = start
    while at < len(lines) and (not lines[at] or indent(lines[at]) >= column):
        at += 1
    while at > start and not lines[at - 1]:
        at -= 1
    return at


def dedented(lines: list[str], column: int) -> list[str]:
    return [line[column:] for line in lines]


def add_part(blocks: list[Block], kind: str, term: str, lines: list[str]) -> None:
    """Adds an item to the last block, or to a new one if the last one is of another kind."""
    if not blocks or blocks[-1].kind != kind:
        blocks.append(Block(kind))
    blocks[-1].terms.append(term)
    blocks[-1].parts.append(list(parse("\n".join(lines))))


def term_at(lines: list[str], at: int) -> tuple[str, int, list[str]] | None:
    """Returns the term with which a line begins, and the column and first lines of its
    description; or None if the line begins with no term."""
    if found := TERM.match(lines[at]):
        return found[2], found.end(), [lines[at][found.end() :]]
    following = indent(lines[at + 1]) if at + 1 < len(lines) else 0
    return (lines[at].strip(), following, []) if following >= FAR else None


def parse(text: str) -> list[Block]:
    """Returns the blocks of a comment, or of a part of one."""
    lines = text.strip("\n").splitlines()
    blocks: list[Block] = []
    at, apart = 0, True
    while at < len(lines):
        line, start = lines[at], at
        at += 1
        if not line:
            apart = True
            continue
        if found := ITEM.match(line):
            at = below(lines, at, found.end())
            part = [line[found.end() :], *dedented(lines[start + 1 : at], found.end())]
            add_part(blocks, "items", "", part)
        elif indent(line) >= 4:
            at = below(lines, at, 4)
            blocks.append(Block("code", "\n".join(dedented(lines[start:at], 4))))
        elif term := term_at(lines, start):
            at = below(lines, at, 4)
            part = [*term[2], *dedented(lines[start + 1 : at], term[1])]
            add_part(blocks, "terms", term[0], part)
        elif apart or blocks[-1].kind != "text":
            blocks.append(Block("text", line.strip()))
        else:
            blocks[-1].text += " " + line.strip()
        apart = False
    return blocks


def runs(text: str) -> Iterator[tuple[str, str]]:
    """Yields pieces of a line with their kinds: "" for plain words, or a name of RUN's groups."""
    at = 0
    for found in RUN.finditer(text):
        if found.start() > at:
            yield "", text[at : found.start()]
        yield found.lastgroup or "", found[found.lastgroup or 0]
        at = found.end()
    if at < len(text):
        yield "", text[at:]


def brief(text: str, end: str = "[.:;]") -> str:
    """Returns the beginning of a comment, up to the first sign of `end` before a blank, without
    this sign and without marks."""
    block = next((block for block in parse(text) if block.kind in ("text", "terms")), Block("text"))
    first = block.text if block.kind == "text" else block.parts[0][0].text
    first = re.split(rf"(?<=[^.]{end})\s", first)[0]
    if first.count("(") > first.count(")"):
        first = first[: first.rindex("(")]
    first = re.sub(r"<(carry/\w+\.h)>", r"\1", first.rstrip(" .:;"))
    return re.sub(r"`|(?<!\w)\*(?=\w)|(?<=\w)\*(?!\w)", "", first)
