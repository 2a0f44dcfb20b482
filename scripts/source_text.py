# SPDX-License-Identifier: MIT
"""Splits source files of all languages of the project into code, string literals and comments."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import PurePath
from typing import NamedTuple


class Piece(NamedTuple):
    """A part of a file. The parts of a file, joined in their order, are the file."""

    kind: str  # "code", "string" or "comment"
    text: str
    start: int  # offset in the file


C_KINDS = {".c", ".h", ".cc", ".def", ".S", ".acsl", ".pml", ".ld", ".map", ".css", ".js", ".go"}
HASH_KINDS = {".sh", ".bash", ".zsh", ".fish", ".awk", ".build", ".toml", ".yaml", ".yml", ".mk"}
HASH_KINDS |= {"Makefile", "Kbuild", "Dockerfile", ".cmake", ".ini", ".rb", "meson_options.txt"}
HASH_KINDS |= {"rules", ".gitattributes", ".editorconfig", ".gitignore", "packages.txt", "control"}
INDENTED = {".yaml", ".yml", ".mk", "Makefile", "Kbuild", "rules"}  # white space is code there

# A comment of ACSL, /*@ or //@, is code. Raw strings of C++ are not recognised: the project has
# none.
C = re.compile(
    r"""(?P<comment>//(?!@)(?:\\\n|[^\n])*|/\*(?!@).*?\*/)
    |(?P<string>"(?:\\.|[^"\\\n])*")|'(?:\\.|[^'\\\n])+'|/\*@.*?\*/|//@[^\n]*|[^/"']+|.""",
    re.DOTALL | re.VERBOSE,
)
GO = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
    |(?P<string>"(?:\\.|[^"\\\n])*"|`[^`]*`)|'(?:\\.|[^'\\\n])+'|[^/"'`]+|.""",
    re.DOTALL | re.VERBOSE,
)
RUST = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
    |(?P<string>\b(?:br|cr|r)(?P<hash>\#*)".*?"(?P=hash)|"(?:\\.|[^"\\])*")
    |'(?:\\[^\n]*?|[^'\\\n])'|\w+|[^/"'\w]+|.""",
    re.DOTALL | re.VERBOSE,
)
LUA = re.compile(
    r"""(?P<comment>--\[\[.*?\]\]|--[^\n]*)
    |(?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\[\[.*?\]\])|[^-"'\[]+|.""",
    re.DOTALL | re.VERBOSE,
)
# A comment: a # at the beginning of a line or after a blank, followed by a blank, another # or the
# end of the text. Any other # may belong to a program in a here document, such as #include.
HASH = re.compile(
    r"""(?P<comment>(?<![^\s])\#(?=[\s#]|\Z)[^\n]*)
    |(?P<string>'''.*?'''|"(?:\\.|[^"\\\n])*"|'[^'\n]*')|\\.|[^\#"'\\]+|.""",
    re.DOTALL | re.VERBOSE,
)


def kind_of(path: PurePath | str, text: str) -> str:
    """Returns the suffix or name that decides which language a file is in."""
    path = PurePath(path)
    if path.name in HASH_KINDS:
        return path.name
    if path.suffix == ".in":
        return kind_of(path.with_suffix(""), text)
    if path.suffix:
        return ".py" if path.suffix == ".pyi" else path.suffix
    first = text.partition("\n")[0]
    if first.startswith("#!"):
        return ".py" if "python" in first else ".mk" if "make" in first else ".sh"
    return path.name


def pattern_of(kind: str) -> re.Pattern[str] | None:
    """Returns the expression whose matches are the pieces of a file, or None if there is none."""
    special = {".go": GO, ".rs": RUST, ".lua": LUA}
    if kind in special:
        return special[kind]
    return C if kind in C_KINDS else HASH if kind in HASH_KINDS else None


def docstrings(tree: ast.AST) -> Iterator[ast.Expr]:
    """Yields the statements that consist of a string literal: docstrings, including docstrings of
    attributes."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield node


def python_pieces(text: str) -> Iterator[Piece]:
    """Yields the pieces of a program in Python; docstrings are comments."""
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    statements = {node.lineno for node in docstrings(ast.parse(text))}
    end = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in (tokenize.COMMENT, tokenize.STRING):
            continue
        start = lines[token.start[0] - 1] + token.start[1]
        before = text[lines[token.start[0] - 1] : start]
        is_docstring = token.start[0] in statements and not before.strip()
        is_comment = token.type == tokenize.COMMENT or is_docstring
        if start > end:
            yield Piece("code", text[end:start], end)
        end = lines[token.end[0] - 1] + token.end[1]
        yield Piece("comment" if is_comment else "string", text[start:end], start)
    if end < len(text):
        yield Piece("code", text[end:], end)


def pieces(kind: str, text: str) -> Iterator[Piece]:
    """Yields the pieces of a file. A file in an unknown language is only code."""
    if kind == ".py":
        yield from python_pieces(text)
        return
    pattern = pattern_of(kind)
    if pattern is None:
        yield Piece("code", text, 0)
        return
    for match in pattern.finditer(text):
        yield Piece(match.lastgroup or "code", match[0], match.start())
