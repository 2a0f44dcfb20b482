# SPDX-License-Identifier: MIT
"""Manual pages of section 3: one for each entry of a public header, one for the header itself."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from . import headers, prose

FONTS = {"code": "B", "word": "I", "header": "I", "function": "B", "constant": "B"}
MEMBER = re.compile(r"(?P<code>^[^\n]*[^\s/*][^\n/]*?)[ \t]*/\*(?P<said>.*?)\*/", re.M | re.S)
WIDTH = 70  # columns of a synopsis


def named(header: str) -> str:
    return header if header == "carry.h" else f"carry_{header}"


def page_of(header: headers.Header) -> str:
    """Returns the name of a header's own page: names of files cannot contain a slash."""
    return named(header.name)


def escaped(text: str, dashes: str = r"(?<!\w)-(?=[\w-])") -> str:
    """Returns text for roff: each character means itself."""
    text = text.replace("\\", "\\e").replace("~", "\\(ti").replace("^", "\\(ha")
    text = re.sub(dashes, r"\\-", text)
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.M)


def code(text: str) -> str:
    text = escaped(text, "-").replace("`", "\\(ga").replace("'", "\\(aq")
    return text.replace("\\&\\(aq", "\\(aq")


def font(name: str, text: str) -> str:
    return f"\\f{name}{text}\\fP"


def line(text: str) -> str:
    """Returns a paragraph's words, in their fonts."""
    shown = ""
    for kind, words in prose.runs(text):
        if not kind:
            shown += escaped(words)
        else:
            bold = font(FONTS[kind], code(f"<{words}>" if kind == "header" else words))
            shown += bold + ("()" if kind == "function" else "")
    return "\n".join(textwrap.wrap(shown, 100, break_long_words=False, break_on_hyphens=False))


def part(blocks: list[prose.Block]) -> Iterator[str]:
    """Yields the description of a term, or the text of an item. Its first paragraph follows without
    a break."""
    first, *rest = blocks or [prose.Block("text")]
    is_text = first.kind == "text"
    yield line(first.text) if is_text else "\\&"
    if inner := rest if is_text else blocks:
        yield from (".RS", *body(inner), ".RE")


def body(blocks: Iterable[prose.Block]) -> Iterator[str]:
    for block in blocks:
        if block.kind == "text":
            yield from (".PP", line(block.text))
        elif block.kind == "code":
            yield from (".PP", ".RS 4", ".nf", code(block.text), ".fi", ".RE")
        else:
            for term, inner in zip(block.terms, block.parts, strict=True):
                yield from ([".IP \\(bu 2"] if not term else [".TP", font("B", code(term))])
                yield from part(inner)


def described(comment: str) -> Iterator[str]:
    yield from body(prose.parse(comment))


def prototype(text: str) -> str:
    """Returns a declaration in bold, its arguments in italics, broken at the width of a
    terminal."""
    lines = headers.wrapped(text, WIDTH)

    def argument(found: re.Match[str]) -> str:
        return found[0] if found[1] == "void" else f"\\fP\\fI{found[1]}\\fP\\fB{found[2]}"

    return "\n".join(
        "\\fB" + re.sub(r"\b([a-z]\w*)((?:\[\])?(?=[,)]))", argument, code(each)) + "\\fP"
        for each in lines
    )


def head(name: str, names: str, said: str, date: str) -> Iterator[str]:
    yield '.\\" SPDX-License-Identifier: MIT'
    yield f'.TH {name} 3 {date} "libcarry" "Library Functions"'
    yield from (".nh", ".ad l", ".SH NAME", f"{names} \\- {escaped(said)}")


def synopsis(header: headers.Header, prototypes: Iterable[str]) -> Iterator[str]:
    library = header.library
    yield from (".SH LIBRARY", f"lib{library} (pkg\\-config lib{library}, \\-l{code(library)})")
    yield from (".SH SYNOPSIS", ".nf", font("B", f"#include <carry/{header.name}>"))
    for each in prototypes:
        yield from (".PP", prototype(each))
    yield ".fi"


def references(names: Iterable[str]) -> Iterator[str]:
    yield ".SH SEE ALSO"
    yield ",\n".join(f".BR {name} (3)" for name in names).replace(",\n.BR", " ,\n.BR")


def mentioned(texts: Iterable[str], pages: Iterable[str]) -> list[str]:
    words = {word for text in texts for word in re.findall(r"\bcarry_\w+|\bCARRY_\w+", text)}
    return sorted(words & {*pages})


def entry_page(
    header: headers.Header, entry: headers.Entry, pages: Iterable[str], date: str
) -> str:
    """Returns the page of one comment: of one function, or of several that belong together."""
    callables = entry.callables()
    first, *_ = callables
    said = [entry.comment, *header.notes(entry.section)]
    lines = [
        *head(first, ", ".join(callables), prose.brief(entry.comment), date),
        *synopsis(header, callables.values()),
        ".SH DESCRIPTION",
        *(each for text in said for each in described(text)),
        *(shown for each in entry.of("macro", "type") for shown in type_shown(each)),
        ".SH NOTES",
        "What",
        f".BR {page_of(header)} (3)",
        "says of all functions of this header holds here too.",
        *references([page_of(header), *mentioned(said, {*pages} - {*callables})]),
    ]
    return without_empty_paragraphs(lines)


def type_shown(one: headers.Declaration) -> Iterator[str]:
    """Yields a type's code, then its members' comments, which would be too wide beside them."""
    said = [(found["code"], found["said"]) for found in MEMBER.finditer(one.code)]
    bare = MEMBER.sub(lambda found: found["code"], one.code)
    yield from (".PP", ".RS 4", ".nf", code(bare), ".fi", ".RE")
    for member, text in said:
        words = re.sub(r"\s+\*?\s*", " ", text).strip()
        yield from (".TP", font("B", code(member.strip().rstrip(";,"))), line(words))


def header_page(header: headers.Header, date: str) -> str:
    """Returns the page of a header: notes on all functions, its types, a list of its functions."""
    name = page_of(header)
    title = prose.brief(header.overview, end="[.]")
    lines = [*head(name, name, title, date), *synopsis(header, []), ".SH DESCRIPTION"]
    lines += described(header.overview)
    types = [entry for entry in header.entries if entry.of("macro", "type")]
    if types:
        lines.append(".SH TYPES AND CONSTANTS")
    for entry in types:
        if not entry.callables():
            lines += described(entry.comment)
        lines += [each for one in entry.of("macro", "type") for each in type_shown(one)]
    listed = [entry for entry in header.entries if entry.callables()]
    if listed:
        lines.append(".SH FUNCTIONS")
    for entry in listed:
        names = " ,\n.BR ".join(f"{name} (3)" for name in entry.callables())
        lines += [".TP", f".BR {names}", escaped(prose.brief(entry.comment))]
    others = re.findall(r"carry/(\w+\.h)", header.overview)
    lines += references(dict.fromkeys(["carry_base.h", *map(named, others)]))
    return without_empty_paragraphs(lines)


def without_empty_paragraphs(lines: list[str]) -> str:
    """Returns joined lines, without .PP directly after a heading or a change of the indent."""
    text = "\n".join(lines) + "\n"
    return re.sub(r"^(\.(?:SH|SS|RS)\b.*\n)\.PP\n", r"\1", text, flags=re.M)


def pages_of(header: headers.Header, pages: Iterable[str], date: str) -> dict[str, str]:
    """Returns all pages of a header, by the names of their files without the section."""
    made = {page_of(header): header_page(header, date)}
    for entry in header.entries:
        first, *others = entry.callables() or [""]
        if first:
            made[first] = entry_page(header, entry, pages, date)
            made |= {name: f".so man3/{first}.3\n" for name in others}
    return made


def pages(paths: Iterable[Path], date: str) -> dict[str, str]:
    """Returns all pages of the headers `paths`, by the names of their files without the section."""
    read = [headers.read_header(path) for path in paths]
    names = {name for header in read for entry in header.entries for name in entry.callables()}
    return {name: text for each in read for name, text in pages_of(each, names, date).items()}
