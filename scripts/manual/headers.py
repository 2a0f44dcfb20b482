# SPDX-License-Identifier: MIT
"""Public headers as data: comments, and the declarations that each comment describes.

clang-format formats headers, and their declarations have a few forms only. Any other form raises an
error, so that nothing is omitted silently.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "include/carry"

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
SECTION = re.compile(r"/\* --- (.*) --- \*/")
DIRECTIVE = re.compile(r"#(?:[^\n\\]|\\\n|\\.)*")
CONDITION = re.compile(r"^#\s*(?:el)?if(?:[^\\\n]|\\\n)*", re.MULTILINE)
MACRO = re.compile(r"#define (\w+)(\([^)]*\))?")
BLANK = re.compile(r"\s*")
LINE_END = re.compile(r"(?: /\*[^\n]*?\*/(?=\n))?")  # a comment after a declaration
LINKAGE = re.compile(r"CARRY_(BEGIN|END)_DECLS")
TOKEN = re.compile(r"/\*.*?\*/|\"(?:\\.|[^\"])*\"|'(?:\\.|[^'])+'|[(){};]", re.DOTALL)
FUNCTION = re.compile(r"\b(\w+)\(")
DECORATION = re.compile(
    r"CARRY_API(_INLINE)?\s+|__attribute__\(\((?:[^()]|\([^()]*\))*\)\)\s*|extern (?=const char)"
)
TYPE = re.compile(r"(?:struct|union|enum) (\w+)(?: \{|;)")
INCLUDED = re.compile(r"#include <carry/(\w+/\w+\.h)>")
PARTS = ("patch/sites.h", "patch/x86_64.h")
FORWARD = re.compile(r"struct \w+;[^\n]*")
VALUE = re.compile(r"(?:[\d(-]|U?INT|CARRY_(?:VERSION|CAPTURE)_)[^\"]*")
ROWS = re.compile(r"#include <carry/(\w+\.def)>\n")
# ROW matches a row of a table. TERM matches a term of a comment: the use of a macro, before its
# description.
ROW = re.compile(r"^CARRY_\w+\(((?:[^()\"]|\"[^\"]*\"|\([^)]*\))*)\)", re.M)
TERM = r"^\s*(?:\w+\([^)\n]+\), )?({}(?:\([^)\n]+\)+(?:\([^)\n]*\))?|;))(?=  |$|, \w+\()"


class HeaderError(Exception):
    """Raised if a header has a form that this module cannot read."""


@dataclass
class Declaration:
    kind: str  # "function", "object", "macro" or "type"
    name: str
    code: str  # without a body and linker attributes


@dataclass
class Entry:
    """A comment, and the declarations that it describes."""

    comment: str
    section: str
    declarations: list[Declaration] = field(default_factory=list)
    uses: dict[str, str] = field(default_factory=dict)  # of macros, as the comment shows them

    def of(self, *kinds: str) -> list[Declaration]:
        return [each for each in self.declarations if each.kind in kinds]

    def callables(self) -> dict[str, str]:
        """Returns the names that have a page of their own, each with its synopsis."""
        declared = {each.name: each.code for each in self.of("function", "object")}
        return declared | self.uses


@dataclass
class Header:
    name: str  # "sum.h"
    overview: str
    entries: list[Entry]

    @property
    def library(self) -> str:
        stem = self.name.removesuffix(".h")
        return f"carry-{stem}" if stem in ("capture", "jit") else "carry"

    def notes(self, section: str) -> list[str]:
        """Returns the comment at the beginning of a section, if it describes the whole section."""
        first = next((each for each in self.entries if each.section == section), None)
        is_of_all = section and first and not first.declarations and not first.uses
        return [first.comment] if is_of_all else []


def text_of(comment: str) -> str:
    """Returns the text of a comment, without the marks of a comment."""
    lines = comment.removeprefix("/*").removesuffix("*/").splitlines()
    return "\n".join(re.sub(r"^ ?\*? ?", "", line).rstrip() for line in lines).strip("\n")


def only_c(text: str) -> str:
    """Returns a header without code that is only for C++, and without conditional directives."""
    text = CONDITION.sub(lambda found: found[0].replace("\\\n", " "), text)
    kept, skipping, levels = [], 0, []
    for line in text.splitlines(keepends=True):
        word = re.match(r"#\s*(ifdef|ifndef|if|else|elif|endif)\b(.*)", line)
        if not word:
            kept += [] if skipping else [line]
            continue
        if word[1].startswith("if"):
            levels.append(word[2].strip() == "__cplusplus")
            skipping += levels[-1]
        elif word[1] == "endif":
            skipping -= levels.pop()
        elif levels[-1]:
            levels[-1] = False
            skipping -= 1
    return "".join(kept)


def end_of_declaration(text: str, start: int) -> int:
    """Returns the offset after a declaration: after its semicolon, or after its body."""
    depth = 0
    has_body = text.startswith("CARRY_API_INLINE", start)
    for found in TOKEN.finditer(text[start:]):
        mark = found[0]
        depth += (mark in ("(", "{")) - (mark in (")", "}"))
        if depth == 0 and (mark == ";" or (mark == "}" and has_body)):
            return start + found.end()
    raise HeaderError(f"no end: {text[start : start + 60]!r}")


@dataclass
class Piece:
    text: str  # of a comment, a directive or a declaration
    is_apart: bool  # there is an empty line before it


def pieces(text: str) -> Iterator[Piece]:
    """Yields the comments, directives and declarations of a header in their order."""
    at = 0
    while at < len(text):
        blank = BLANK.match(text, at).end()
        is_apart = text.count("\n", at, blank) > 1
        at = blank
        for form in (COMMENT, DIRECTIVE, LINKAGE):
            if found := form.match(text, at):
                end = found.end()
                break
        else:
            if at == len(text):
                break
            end = end_of_declaration(text, at)
            end = LINE_END.match(text, end).end()
        yield Piece(text[at:end], is_apart)
        at = end


def rows_of(macro: str, table: str) -> Iterator[str]:
    """Yields the enumerators that a table gives: a line for each row."""
    parameters, body = re.fullmatch(r"#define \w+\((.*?)\) (.*)", macro).groups()
    names = parameters.split(", ")
    for row in ROW.findall((FOLDER / table).read_text()):
        arguments = re.findall(r"\s*(\"[^\"]*\"|[^,\"]+)", row)
        values = dict(zip(names, arguments, strict=False))  # some rows lack the last argument
        line = "".join(values.get(word, word) for word in re.split(r"(\w+)|##", body) if word)
        said = (values.get("text") or values.get("description") or "").strip('"')
        yield f"    {line} /* {said} */\n" if said else f"    {line}\n"


def with_rows(code: str, macro: str) -> str:
    """Returns an enumeration with the rows of its table in place of the directive."""
    if not (found := ROWS.search(code)):
        return code
    macro = next(iter(re.findall(r"^#define .*$", code, re.M)), macro)
    code = re.sub(r"^#(define|undef) .*\n", "", code, flags=re.M)
    return ROWS.sub(lambda _: "".join(rows_of(macro, found[1])), code)


def declaration(code: str) -> Declaration | None:
    """Parses a declaration; returns None if it has no name that users write."""
    if found := TYPE.match(code):
        return Declaration("type", found[1], code)
    if code.startswith("typedef"):
        function = re.search(r"(\w+)\(", code)
        return Declaration("type", function[1], code) if function else None
    if code.startswith("enum {"):
        return Declaration("type", "", code)
    if not code.startswith("CARRY_API"):
        return None
    code = COMMENT.sub("", code)
    inline = code.startswith("CARRY_API_INLINE")
    shown = DECORATION.sub("", code.partition(" {")[0] + ";" if inline else code)
    shown = re.sub(r"\s+;", ";", re.sub(r"\s+", " ", shown).replace("* carry", "*carry")).strip()
    if found := FUNCTION.search(shown):
        return Declaration("function", found[1], shown)
    if found := re.search(r"[ *](\w+)(?:\[\])?;$", shown):
        return Declaration("object", found[1], shown)
    raise HeaderError(f"neither function nor object: {code!r}")


def wrapped(prototype: str, width: int) -> list[str]:
    """Returns the lines of a prototype, broken between arguments only."""
    held = re.sub(r"(?<!,) ", "\0", prototype)
    lines = textwrap.wrap(held, width, subsequent_indent="    ", break_long_words=False)
    return [line.replace("\0", " ") for line in lines]


def constant(name: str, directive: str) -> Declaration | None:
    """Returns the declaration of a macro whose value is a constant; None for other macros."""
    code = re.sub(r"\s*/\*.*?\*/", "", directive.replace("\\\n", ""), flags=re.S)
    value = re.sub(r"\s+", " ", code).removeprefix(f"#define {name}").strip()
    return Declaration("macro", name, f"#define {name} {value}") if VALUE.fullmatch(value) else None


def source_of(path: Path) -> str:
    """Returns the text of a header for C, with its parts included."""
    text = only_c(path.read_text().partition("*/")[2])
    return INCLUDED.sub(lambda found: part(found[1]), text)


def part(name: str) -> str:
    """Returns the text after the guard of a file if it is one of PARTS, or else ""."""
    if name not in PARTS:
        return ""
    return source_of(FOLDER / name).partition("_H\n")[2] + "/* ---  --- */\n"


class Reader:
    """Collects the entries of a header, piece by piece."""

    def __init__(self) -> None:
        self.overview = self.section = self.last_macro = ""
        self.entries: list[Entry] = []
        self.defined: dict[str, str] = {}  # macros, each with its parameters
        self.own: dict[int, set[str]] = {}  # the macros that follow each entry

    def take(self, piece: Piece) -> None:
        if piece.text.startswith("/*"):
            self.take_comment(piece.text)
        elif piece.text.startswith("#"):
            self.take_directive(piece.text, piece.is_apart)
        elif one := declaration(with_rows(piece.text, self.last_macro)):
            is_inline = piece.text.startswith("CARRY_API_INLINE")
            self.declare(one, piece.is_apart and not is_inline)

    def declare(self, one: Declaration, is_apart: bool) -> None:
        """Adds a declaration. A comment that describes an earlier declaration does not describe a
        declaration after an empty line."""
        if is_apart and self.entries[-1].declarations:
            self.begin("")
        self.entries[-1].declarations.append(one)

    def begin(self, comment: str) -> None:
        self.entries.append(Entry(comment, self.section))

    def take_comment(self, text: str) -> None:
        if found := SECTION.fullmatch(text):
            self.section = found[1]
            self.begin("")
        elif self.overview:
            self.begin(text_of(text))
        else:
            self.overview = text_of(text)
            self.begin("")

    def take_directive(self, text: str, is_apart: bool) -> None:
        if found := re.match(r"#undef (\w+)", text):
            self.defined.pop(found[1], None)
        elif found := MACRO.match(text):
            self.last_macro = text
            name, parameters = found[1], found[2] or ""
            self.defined[name] = parameters
            self.own.setdefault(len(self.entries), set()).add(name)
            if not parameters and (one := constant(name, text)):
                self.declare(one, is_apart)

    def drop_forward(self, prefix: str) -> None:
        """Drops forward declarations, except of the header's own types that it does not define."""
        bodies = {one.name for entry in self.entries for one in entry.of("type") if "{" in one.code}
        for entry in self.entries:
            entry.declarations = [
                one
                for one in entry.declarations
                if not FORWARD.fullmatch(one.code)
                or (one.name.startswith(prefix) and one.name not in bodies)
            ]

    def describe_macros(self) -> None:
        for number, entry in enumerate(self.entries, 1):
            for name, parameters in self.defined.items():
                if found := re.search(TERM.format(name), entry.comment, re.MULTILINE):
                    entry.uses[name] = found[1]
                elif (
                    parameters
                    and name in self.own.get(number, ())
                    and re.search(rf"\b{name}\b", entry.comment)
                ):
                    entry.uses[name] = name + parameters
            in_order = sorted(entry.uses, key=entry.comment.index)
            entry.uses = {name: entry.uses[name] for name in in_order}


def read_header(path: Path) -> Header:
    """Returns the declarations of a public header."""
    reader = Reader()
    for piece in pieces(source_of(path)):
        reader.take(piece)
    reader.describe_macros()
    reader.drop_forward(f"carry_{path.stem}")
    entries = [each for each in reader.entries if each.comment or each.declarations]
    return Header(path.name, reader.overview, entries)


def public_headers() -> list[Path]:
    """Returns the public headers, in the order of their names."""
    return sorted(FOLDER.glob("*.h"))
