# SPDX-License-Identifier: MIT
"""Pages of the site: one for each public header."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from pathlib import Path

from . import headers, prose

WIDTH = 96  # columns of a prototype
SPECIAL = re.compile(r"[\\*_\[\]<>|&#`~]")


@functools.cache
def places() -> dict[str, str]:
    """Returns where each name is described: page and anchor."""
    found = {}
    for path in headers.public_headers():
        header = headers.read_header(path)
        for entry in header.entries:
            for name in names_of(entry):
                found.setdefault(name, f"{path.stem}.md#{name}")
    return found


def names_of(entry: headers.Entry) -> list[str]:
    """Returns the names that an entry describes, each once."""
    types = [one.name for one in entry.of("type", "macro") if one.name]
    return [*dict.fromkeys([*entry.callables(), *types])]


def escaped(text: str) -> str:
    return SPECIAL.sub(lambda found: f"&#{ord(found[0])};", text)


def reference(name: str, shown: str) -> str:
    return f"[`{shown}`]({places()[name]})" if name in places() else f"`{shown}`"


def line(text: str) -> str:
    """Returns a paragraph, with links to the functions, constants and headers that it names."""
    shown = ""
    for kind, words in prose.runs(text):
        if kind == "header":
            shown += f"[`<{words}>`]({Path(words).stem}.md)"
        elif kind == "function":
            shown += reference(words, f"{words}()")
        elif kind == "word":
            shown += f"*{escaped(words)}*"
        elif kind:
            shown += reference(words, words)
        else:
            shown += escaped(words)
    return shown


def indented(text: str) -> str:
    return re.sub(r"^(?=.)", "    ", text, flags=re.M)


def body(blocks: list[prose.Block]) -> Iterator[str]:
    for block in blocks:
        if block.kind == "text":
            yield line(block.text)
        elif block.kind == "code":
            yield f"```c\n{block.text}\n```"
        else:
            yield "\n".join(items(block))


def items(block: prose.Block) -> Iterator[str]:
    """Yields the items of a list as Markdown; an item that has a term begins with it."""
    for term, inner in zip(block.terms, block.parts, strict=True):
        text = "\n\n".join(body(inner))
        if term:
            joint = "\n\n" if inner and inner[0].kind != "text" else ": "
            text = f"`{term}`{joint}{text}"
        yield "-   " + indented(text).lstrip() + "\n"


def described(comment: str) -> Iterator[str]:
    yield from body(prose.parse(comment))


def title_of(entry: headers.Entry) -> str:
    functions = {one.name for one in entry.of("function")}
    if entry.callables():
        return ", ".join(name + "()" * (name in functions) for name in entry.callables())
    return ", ".join(names_of(entry))


def synopsis(entry: headers.Entry) -> Iterator[str]:
    for one in entry.declarations:
        is_call = one.kind in ("function", "object")
        yield from headers.wrapped(one.code, WIDTH) if is_call else [one.code]
    yield from entry.uses.values()


def entry_of(entry: headers.Entry) -> Iterator[str]:
    first, *others = names_of(entry)
    anchors = "".join(f'<a id="{name}"></a>' for name in others)
    yield f"### {anchors}`{title_of(entry)}` {{ #{first} }}"
    yield "```c\n" + "\n".join(synopsis(entry)) + "\n```"
    yield from described(entry.comment)


def header_page(path: Path) -> str:
    """Returns a public header as a page: its comments and declarations, in their order, with
    links."""
    header = headers.read_header(path)
    parts = [f"# carry/{header.name}", *described(header.overview)]
    parts.append(f"```c\n#include <carry/{header.name}>\n```")
    parts.append(f"Library: `lib{header.library}` (`pkg-config lib{header.library}`)")
    section = ""
    for entry in header.entries:
        if entry.section != section and names_of(entry):
            section = entry.section
            if section:
                parts.append(f"## {escaped(section)}")
                parts += [each for note in header.notes(section) for each in described(note)]
        if names_of(entry):
            parts += entry_of(entry)
    return "\n\n".join(parts) + "\n"
