# SPDX-License-Identifier: MIT
"""Checks the words of documents, comments, docstrings, messages and names of tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from source_text import Piece, kind_of, pattern_of, pieces

# A blank, which may also be the end of a line of a comment and the start of the next.
B = r"(?:\s|[*#/])+"
TOLD = (
    rf"(?:(?:an?|the|any){B})?(?:assemblers?|callers?|callgrind|Clang|compilers?|CPUs?|debuggers?"
    r"|GCC|GDB|kernel|linkers?|perf|profilers?|users?|valgrind)"
)


class Rule(NamedTuple):
    """A phrase that must not be used."""

    pattern: str
    instead: str
    wrong: str  # an example
    right: str  # a use of the same words that is allowed, or the example in plain English


# Phrases that a term of the glossary replaces.
TERMS = [
    Rule(rf"who{B}calls", "caller", "it is who calls", "it is the caller"),
    Rule(rf"who{B}sent", "sender", "asks who sent it", "asks for the sender"),
    Rule(r"twins?", "mutant", "a broken twin", "a mutant"),
    Rule(rf"put{B}together", "reassemble", "datagrams are put together", "a reassembled datagram"),
    Rule(rf"put(?:s|ting)?{B}right", "repair", "puts right the sum", "puts the right sum there"),
    Rule(rf"tells?{B}right", "verify", "tells right from wrong", "verifies"),
    Rule(rf"looked{B}into", "examine", "headers looked into", "examined headers"),
    Rule(
        rf"(?:tells?|told|telling)\b(?!{B}{TOLD}\b|[^.;:]*\b(?:apart|from)\b)",
        "report, show or determine",
        "the log tells why",
        "tells the compiler so, tells 1 from 2, and tells both apart",
    ),
]

RULES = [
    *TERMS,
    # Actors.
    Rule(r"whoever", "caller, thread, user, ...", "whoever opens it", "the process that opens it"),
    Rule(
        r"(?:somebody|someone|anybody|everybody)",
        "caller, thread, user, ...",
        "somebody waits",
        "a thread waits",
    ),
    Rule(
        r"(?<!as )(?<!user )nobody\b(?!-)",
        "no caller, no thread, ...",
        "nobody waits",
        "no thread waits; it runs as nobody, the user nobody",
    ),
    Rule(
        rf"(?:by|for|from|of|to|with){B}who\b(?!{B}(?:is|are|was|were)\b)",
        "caller, thread, user, ...",
        "for who reads files",
        "for readers of files",
    ),
    # Constructions.
    Rule(rf"but{B}for", "except", "all but for one", "all except one; but it is for one"),
    Rule(rf"save{B}for", "except", "all save for one", "save one for later"),
    Rule(rf"none{B}that", "no ... that", "opens none that exists", "opens no file that exists"),
    Rule(
        rf"as{B}\w+{B}(?:has|have|had){B}(?:it|them)",
        'like, or "in the form of"',
        "quoted as Git has it",
        "quoted like Git; as it has their names",
    ),
    Rule(rf"want{B}of", "without, or no", "for want of room", "they want half of it"),
    Rule(
        rf"(?:is|are|was|were){B}to{B}be",
        "must be, will be or is",
        "the frame that is to be sent",
        "to be sent, it has to be whole",
    ),
    Rule(
        rf"(?:is|are|was|were){B}not{B}to",
        "must not",
        "it is not to wait",
        "it is not too late to wait; is it not the first?",
    ),
    Rule(rf"be{B}had", "available", "none can be had", "to be, had it come"),
    Rule(rf"comes{B}by", "arrives, or passes", "a thread that comes by", "comes from there"),
    Rule(
        rf"of{B}which{B}(?:nothing|none|there|not)",
        "whose, or two sentences",
        "a file of which nothing is known",
        "a file whose size is unknown; two files, one of which is read",
    ),
    Rule(
        rf"(?:stands?|stood)\b(?!-|{B}(?:alone|by|for|in{B}for|out|still)\b)",
        "is, or lies",
        "where the field stands",
        "stands for 1, stands still, is stand-alone, a standing order",
    ),
    Rule(r"(?:grave|graver|gravest)", "severe", "the gravest of all", "the most severe of all"),
    Rule(
        rf"(?:that|which|it|one){B}(?:is|are|was|may{B}be|can{B}be){B}(?-i:none)\b(?!{B}of)",
        "is not one",
        "for a sum that is none",
        "it is None; there is none; it is none of these",
    ),
]

# The first words of comments. Comments of functions must begin with a verb.
VERB = 'begin with a verb, such as "Returns" or "Checks whether"'
NOUN = "begin with a noun or a verb"
FUNCTION_START = re.compile(
    r"(?:What|Who|Whose|Of|As|The same|Whether|How|That|Where|Why|Which)\b"
    r"|(?:Is|Are|Does|Do|Has|Have|Can|Could|May|Must|Was|Were|Did|Will|Should)\b[^.;:]*\?"
)
LINES = ("//", "#", "--")  # the beginnings of comments that end with their line
CLAUSE = re.compile(
    r"(?:As|Of|Where)\b[^.;]*[,:] "
)  # the start of a whole sentence, which may describe a test
ANY_START = re.compile(r"(?:What|Who|The same)\b(?![^.;:]*\?)|Of\b(?! (?:course|all)\b)|who\b")
TEST_NAME = re.compile(r"\btest_(?:what|of|whoever|the_same|nobody|somebody)_\w+")

DOCUMENTS = {".md", ".1"}

# Code in documents and comments: it is not English.
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`[^`\n]*`")

FUNCTION = {
    "c": re.compile(
        r"\s*(?:template\b[^\n]*\n\s*)?(?!(?:return|else|case|goto|typedef|delete|throw|using)\b)"
        r"(?:__attribute__\(\(.*?\)\)\s*|\w[\w:<>]*[\s*&]+)+[~\w:]+\([^=;{]*[;{]|#\s*define \w+\("
    ),
    ".py": re.compile(r"\s*(?:@[^\n]*\n\s*)*(?:async )?def "),
    ".rs": re.compile(r"\s*(?:#\[[^\n]*\n\s*)*(?:pub(?:\(\w+\))? )?(?:\w+ |\"C\" )*fn "),
    ".go": re.compile(r"\s*func "),
    ".lua": re.compile(r"\s*(?:local )?function "),
    ".sh": re.compile(r"\s*\w+\(\)"),
}
MARKERS = re.compile(r"\A(?:[rf]?\"\"\"|/\*[\s*]*|///?!?|#+|--)\s*")


class Comment(NamedTuple):
    """Comments on lines of their own, one after another, or one at the end of a line of code."""

    line: int
    text: str
    owns_lines: bool
    function: str  # the function that follows: "?" without a known name, "" if there is none


def docstring_lines(text: str) -> dict[int, str]:
    """Returns the lines in which docstrings of functions begin, with the functions' names."""
    return {
        node.body[0].lineno: node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and isinstance(node.body[0], ast.Expr)
    }


def is_one(before: str, after: str) -> bool:
    """Checks whether a comment continues the comment on the line before."""
    return "SPDX" not in before and all(text.startswith(LINES) for text in (before, after))


def comments(text: str, parts: list[Piece], kind: str) -> Iterator[Comment]:
    """Yields the comments of a file; lines that belong together are one comment."""
    of_functions = docstring_lines(text) if kind == ".py" else {}
    function = FUNCTION.get(kind, FUNCTION["c"] if kind in {".c", ".h", ".cc"} else None)
    end = -1
    found: list[Piece] = []
    for piece in [*parts, Piece("comment", "", len(text))]:
        if piece.kind != "comment":
            continue
        between = text[end : piece.start] if found else ""
        is_apart = between.strip() or between.count("\n") > 1 or not piece.text
        if found and (is_apart or not is_one(found[-1].text, piece.text)):
            line = text.count("\n", 0, found[0].start) + 1
            before = text[text.rfind("\n", 0, found[0].start) + 1 : found[0].start]
            following = text[end + 1 : end + 1000] if text[end : end + 1] == "\n" else ""
            match = function.match(following) if function else None
            name = re.search(r"\w*(?=\()", match[0]) if match else None
            yield Comment(
                line,
                " ".join(MARKERS.sub("", part.text) for part in found),
                not before.strip(),
                of_functions.get(line, (name[0] if name else "?") if match else ""),
            )
            found = []
        found.append(piece)
        end = piece.start + len(piece.text)


def starts(text: str, parts: list[Piece], kind: str) -> Iterator[tuple[int, str]]:
    """Yields line number and complaint for comments whose first word is wrong."""
    for comment in comments(text, parts, kind):
        said = " ".join(comment.text.split())
        if comment.function and (match := FUNCTION_START.match(said)):
            if not (comment.function.startswith("test_") and CLAUSE.match(said)):
                yield comment.line, f'"{match[0]}": {VERB}'
        elif (match := ANY_START.match(said)) and (comment.owns_lines or match[0] == "who"):
            yield comment.line, f'"{match[0]}": {NOUN}'


def words(parts: list[Piece], strings: bool) -> str:
    """Returns the comments of a file, and its texts if `strings`, each on its line of the file.

    A text is a string literal with a blank. Code between two comments becomes a NUL.
    """
    found = ""
    for piece in parts:
        said = piece.text
        if piece.kind == "string":
            said = said.replace(r"\n", " ").strip("\"'`") if strings and " " in said else ""
        if piece.kind == "code" and not said.strip():
            found += said
        elif piece.kind == "code" or not said:
            found += "\0" + "\n" * piece.text.count("\n")
        else:
            found += said
    return found


def phrases(text: str) -> Iterator[tuple[int, str]]:
    """Yields line number and complaint for phrases that must not be used in prose."""
    text = FENCED.sub(lambda match: "\n" * match[0].count("\n"), text)
    text = QUOTED.sub("``", text)
    for rule in RULES:
        for match in re.finditer(rf"\b(?:{rule.pattern})\b", text, re.IGNORECASE):
            found = re.sub(B, " ", match[0])
            yield text.count("\n", 0, match.start()) + 1, f'"{found}": say "{rule.instead}"'


def names(text: str) -> Iterator[tuple[int, str]]:
    """Yields line number and complaint for names of tests."""
    for match in re.finditer(r"\b(?:def|void) (test_\w+)\(", text):
        line = text.count("\n", 0, match.start()) + 1
        said = match[1].replace("_", " ")
        for _, complaint in phrases(said):
            yield line, f"{match[1]}: {complaint}"
        if TEST_NAME.match(match[1]):
            yield line, f"{match[1]}: begin with a noun or a verb"


def complaints(path: str, text: str, strings: bool) -> list[tuple[int, str]]:
    """Returns line numbers and complaints about the words of a document or a source file.

    With `strings`, complaints about its texts are included.
    """
    kind = kind_of(path, text)
    if kind in DOCUMENTS:
        return sorted(phrases(text))
    if not pattern_of(kind) and kind != ".py":
        return []
    parts = list(pieces(kind, text))
    first = starts(text, parts, kind)
    return sorted([*first, *phrases(words(parts, strings)), *names(text)])
