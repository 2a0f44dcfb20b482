#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the code of two revisions: without comments, docstrings and white space.

usage: compare_code.py [--texts] OLD [NEW]     NEW is the working tree unless it is named

Prints each file whose code differs, or that only one revision has, and fails if there is one. With
--texts, a string literal in the folders TEXTS may change if it is a text: if it contains a blank.
It then prints these texts, because one may be data of a test.

  scripts/compare_code.py main           the commits and changes of a branch
  scripts/compare_code.py HEAD~ HEAD     the newest commit

Documents (.md, .html, manual pages) have no code. Comments of ACSL, `clang-format off`, `noqa` and
the like, and examples in documentation of Rust are code.
"""

import argparse
import ast
import difflib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from source_text import C_KINDS, HASH_KINDS, INDENTED, docstrings, kind_of, pieces

DOCUMENTS = {".md", ".html", ".1"}
TEXTS = (".ci/", "bench/", "fuzz/", "proof/", "scripts/", "tests/")
DIRECTIVE = re.compile(
    r"SPDX-License|clang-format (?:on|off)|NOLINT|LCOV_EXCL|GCOVR_EXCL|fall ?through|noqa"
    r"|type: ?ignore|fmt: ?(?:on|off)|pragma:|shellcheck|ruff:|#!"
)
OPERATOR = r"<<=|>>=|\.\.\.|->|\+\+|--|<<|>>|[-+*/%&|^=!<>]=|&&|\|\||##|::"
NUMBER = r"\.?\d(?:[eEpP][-+]|[\w.])*"
TOKEN = re.compile(rf"\0\d+\0|{NUMBER}|\w+|{OPERATOR}|[^\w\s]")
LITERAL = re.compile(r"\0\d+\0|[^\0]+")
EXAMPLE = re.compile(r"^\s*//[/!]\s?", re.MULTILINE)


def plain(literal: str) -> str:
    """Returns a string literal, or an empty one for a text."""
    return '""' if " " in literal.strip("\"'") else literal


class Code:
    """The code of one file in a form that is equal for equal code."""

    def __init__(self, path: str, text: str, texts: bool) -> None:
        self.texts: list[str] = []  # the string literals that may change
        self.in_example = False
        self.may_change = texts and path.startswith(TEXTS)
        self.kind = kind_of(path, text)
        if self.kind == ".py":
            self.tokens = self.python(text)
        elif self.kind in {".json", ".ipynb"}:
            self.tokens = [json.dumps(json.loads(text))]
        else:
            self.tokens = self.others(text)

    def literal(self, text: str) -> str:
        """Returns a string literal as it is compared; notes a text that may change."""
        if not self.may_change or plain(text) == text:
            return text
        self.texts.append(text)
        return plain(text)

    def python(self, text: str) -> list[str]:
        """Returns the syntax tree in lines, without docstrings, then the comments that are code."""
        tree = ast.parse(text)
        omitted = {id(node) for node in docstrings(tree)}
        values = {id(node.value) for node in docstrings(tree)}
        for node in ast.walk(tree):
            if isinstance(body := getattr(node, "body", None), list):
                body[:] = [child for child in body if id(child) not in omitted]
                if not body and not isinstance(node, ast.Module):
                    body.append(ast.Pass())
            is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
            if is_text and " " in node.value and id(node) not in values:
                node.value = self.literal(node.value)
        comments = [piece.text for piece in pieces(".py", text) if piece.kind == "comment"]
        return [
            *ast.dump(tree, indent=0).split("\n"),
            *(text for text in comments if text[0] == "#" and DIRECTIVE.search(text)),
        ]

    def others(self, text: str) -> list[str]:
        """Returns the tokens of a file in any other language."""
        literals: list[str] = []
        code = ""
        for piece in pieces(self.kind, text):
            if piece.kind == "string":
                literals.append(piece.text)
                code += f" \0{len(literals) - 1}\0 "
            else:
                code += piece.text if piece.kind == "code" else self.comment(piece.text)
        found: list[str] = []
        was_literal = False
        for token in self.split(code):
            if token[0] != "\0":
                found.append(token)
            elif was_literal and self.kind in C_KINDS - {".S"}:  # adjacent literals are one
                found[-1] = found[-1][:-1] + literals[int(token[1:-1])][1:]
            else:
                found.append(literals[int(token[1:-1])])
            was_literal = token[0] == "\0"
        return [self.literal(token) if token[0] in "\"'`" else token for token in found]

    def comment(self, text: str) -> str:
        """Returns the code in a comment, or else white space to separate the code around it."""
        if DIRECTIVE.search(text):
            return f" {text} "
        if self.kind == ".rs" and EXAMPLE.match(text):
            return self.example(EXAMPLE.sub("", text))
        return " "

    def example(self, line: str) -> str:
        """Returns the line if it is part of an example, which `cargo test` runs."""
        if line.startswith("```"):
            self.in_example = not self.in_example
            return line
        return line if self.in_example else " "

    def split(self, code: str) -> list[str]:
        """Splits code that contains neither comments nor string literals into tokens."""
        if self.kind in HASH_KINDS:
            lines = [line.rstrip() for line in code.split("\n") if line.strip()]
            if self.kind not in INDENTED:
                lines = [" ".join(line.split()) for line in lines]
            return [part for line in lines for part in (*LITERAL.findall(line), "\n")]
        code = code.replace("\\\n", " ")
        # A macro with parameters differs from one whose value begins with a parenthesis.
        code = re.sub(r"(#\s*define\s+\w+)\(", r"\1 PARAMETERS (", code)
        found = []
        for line in code.split("\n"):
            tokens = TOKEN.findall(line)
            found += tokens
            if tokens and (self.kind == ".S" or tokens[0] == "#"):
                found.append("\n")
        return found


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


def changed(old: str, new: str | None) -> list[str]:
    """Returns the names of files that differ between the revisions, or that only one contains."""
    names = git("diff", "--name-only", "--no-renames", "-z", old, *([new] if new else []))
    if not new:
        names += git("ls-files", "--others", "--exclude-standard", "-z")
    return sorted({*names.split("\0")} - {""})


def content(revision: str | None, name: str) -> str | None:
    """Returns a file of a revision, or of the working tree; None if it is missing or not text."""
    try:
        if revision is None:
            path = Path(name)
            return path.read_text() if path.is_file() and not path.is_symlink() else None
        return git("show", f"{revision}:{name}")
    except (subprocess.CalledProcessError, UnicodeDecodeError):
        return None


def difference(old: list[str], new: list[str]) -> str:
    """Returns the first place where the tokens differ."""
    pairs = zip([*old, ""], [*new, ""], strict=False)
    at = next(i for i, (one, other) in enumerate(pairs) if one != other)
    shown = (" ".join(tokens[max(at - 4, 0) : at + 5]).strip() for tokens in (old, new))
    return " -> ".join(repr(text) for text in shown)


def compare(name: str, old: str | None, new: str | None, texts: bool) -> str | None:
    """Returns how the code of two versions of a file differs, or None; prints changed texts."""
    if Path(name).suffix in DOCUMENTS or old == new:
        return None
    if old is None or new is None:
        return "is only in the new revision" if old is None else "is only in the old revision"
    try:
        before, after = (Code(name, text, texts) for text in (old, new))
    except (SyntaxError, json.JSONDecodeError) as error:
        return f"cannot be read: {error}"
    if before.tokens != after.tokens:
        return f"differs: {difference(before.tokens, after.tokens)}"
    for line in difflib.ndiff(before.texts, after.texts):
        if line[0] in "-+":
            print(f"{name}: text {line[0]} {line[2:]}")
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--texts", action="store_true", help="let texts of tests and scripts change"
    )
    parser.add_argument("old", help="a revision of Git")
    parser.add_argument("new", nargs="?", help="a revision; the working tree unless it is named")
    options = parser.parse_args()
    os.chdir(git("rev-parse", "--show-toplevel").strip())
    names = changed(options.old, options.new)
    errors = 0
    for name in names:
        versions = (content(options.old, name), content(options.new, name))
        if found := compare(name, *versions, options.texts):
            errors += 1
            print(f"{name}: {found}")
    print(f"{len(names)} changed files: the code of {errors} differs")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
