# SPDX-License-Identifier: MIT
"""Pages of the manual on the JSON of the tool, from its schemas: a table with every member.

The page of NAME.json is NAME.md. Pages are in one folder: they link to common.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

Node = dict[str, Any]

HEAD = "| member | type | | description |\n|---|---|---|---|\n"


@dataclass(frozen=True)
class Document:
    """A file with a schema."""

    path: Path

    @cached_property
    def root(self) -> Node:
        return json.loads(self.path.read_text())

    def at(self, pointer: str) -> Node:
        """Returns the node that a JSON pointer, such as /$defs/name, leads to."""
        node: Any = self.root
        for part in pointer.split("/")[1:]:
            node = node[part.replace("~1", "/").replace("~0", "~")]
        return node

    @property
    def is_shared(self) -> bool:
        """Checks whether the schema only describes types for other schemas: each type has a
        section."""
        return not {"type", "oneOf"} & {*self.root}


@dataclass(frozen=True)
class Place:
    """A part of a schema, with its document and the references that led to it."""

    node: Node
    document: Document
    references: tuple[str, ...] = ()  # FILE#POINTER of each open reference, the outermost first
    link: str = ""  # to the section that describes a shared type
    again: bool = False  # an open reference: its members are listed above

    def part(self, node: Node) -> Place:
        return replace(self, node=node, link="", again=False).followed()

    def followed(self) -> Place:
        """Returns the place that its references lead to. A description beside a reference has
        precedence."""
        place = self
        while "$ref" in place.node:
            place = place.next()
        return place

    def next(self) -> Place:
        name, _, pointer = self.node["$ref"].partition("#")
        document = Document(self.document.path.parent / name) if name else self.document
        reference = f"{document.path.name}#{pointer}"
        title = pointer.rpartition("/")[2]
        page = f"{document.path.stem}.md" if name else ""
        own = {key: value for key, value in self.node.items() if key != "$ref"}
        return Place(
            node={**document.at(pointer), **own},
            document=document,
            references=(*self.references, reference),
            link=self.link or (f"[{title}]({page}#{title})" if document.is_shared else ""),
            again=reference in self.references,
        )


@dataclass(frozen=True)
class Row:
    """A line of a table."""

    path: str
    kind: str
    required: bool
    description: str

    def __str__(self) -> str:
        presence = "required" if self.required else "optional"
        cells = (code(self.path), self.kind, presence, plain(self.description))
        return f"| {' | '.join(cells)} |\n"


# --- Text ---


def code(text: str) -> str:
    return "`" + text.replace("|", "\\|") + "`"


def plain(text: str) -> str:
    """Returns text for a cell of a table: nothing in it is markup."""
    for character in "\\|<*`":
        text = text.replace(character, "\\" + character)
    return text


def values(node: Node) -> str:
    return ", ".join(code(json.dumps(value)) for value in node["enum"])


def limits(node: Node) -> str:
    if "minimum" in node and "maximum" in node:
        return f" from {node['minimum']:,} to {node['maximum']:,}"
    return ""


def keys(place: Place) -> str:
    """Returns a text on the names of the members that the schema does not list, or ""."""
    names = place.part(place.node.get("propertyNames", {}))
    if names.link:
        return f", by {names.link}"
    return f", by {values(names.node)}" if "enum" in names.node else ""


def basic(place: Place, kind: str) -> str:
    if kind == "array":
        return f"array of {plural(place.part(place.node.get('items', {})))}"
    if kind == "object" and "additionalProperties" in place.node:
        return kind + keys(place)
    return kind + (limits(place.node) if kind == "integer" else "")


def plural(place: Place) -> str:
    kind = place.node.get("type")
    text = f"{kind}s{limits(place.node)}" if isinstance(kind, str) else type_of(place)
    return text + remark(place)


def remark(place: Place) -> str:
    """Returns the remark after a type: that its members are listed above, or a link to its
    description."""
    link = f" ({place.link})" if place.link else ""
    return (" (as above)" if place.again else "") + link


def type_of(place: Place) -> str:
    """Returns the type of a value, or the permitted values."""
    node = place.node
    if "const" in node:
        return code(json.dumps(node["const"]))
    if "enum" in node:
        return values(node)
    for choice in ("anyOf", "oneOf"):
        if choice in node:
            return " or ".join(linked(place.part(each)) for each in node[choice])
    kinds = node.get("type", "any value")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return " or ".join(basic(place, each) for each in kinds)


def linked(place: Place) -> str:
    return type_of(place) + remark(place)


# --- Members ---


def below(place: Place, path: str) -> Iterator[Row]:
    """Yields the members of a value, and the members of these members at any depth."""
    if place.again:
        return
    node = place.node
    dot = "." if path else ""
    required = node.get("required", ())
    for name, member in node.get("properties", {}).items():
        yield from member_of(place.part(member), path + dot + name, name in required)
    if isinstance(node.get("additionalProperties"), dict):
        yield from member_of(place.part(node["additionalProperties"]), f"{path}{dot}*", False)
    if "items" in node:
        yield from below(place.part(node["items"]), f"{path}[]")
    for choice in (*node.get("anyOf", ()), *node.get("oneOf", ())):
        yield from below(place.part(choice), path)


def member_of(place: Place, path: str, required: bool) -> Iterator[Row]:
    yield Row(path, linked(place), required, place.node.get("description", ""))
    yield from below(place, path)


def table(place: Place) -> str:
    rows = "".join(map(str, below(place, "")))
    return f"\n{HEAD}{rows}" if rows else ""


# --- Pages ---


def section(title: str, place: Place) -> str:
    kind = type_of(place)
    said = "" if kind == "object" else f"\nType: {kind}.\n"
    return f"\n## {title}\n\n{place.node.get('description', '')}\n{said}{table(place)}"


def origin(document: Document) -> str:
    """Returns sentences that name the schema's file, and the command lines in its title."""
    calls = [code(each) for each in document.root["title"].split(", ") if each[:6] == "carry "]
    schema = code(f"docs/schema/{document.path.name}")
    return f"Written by {' and '.join(calls)}. Schema: {schema}." if calls else f"Schema: {schema}."


def sections(document: Document) -> Iterator[tuple[str, Place]]:
    """Yields the kinds of objects that the output may have, or the shared types."""
    top = Place(document.root, document)
    if "oneOf" in document.root:
        for each in document.root["oneOf"]:
            yield each["$ref"].rpartition("/")[2], top.part(each)
    elif document.is_shared:
        for name, node in document.root["$defs"].items():
            reference = f"{document.path.name}#/$defs/{name}"
            yield name, replace(top, node=node, references=(reference,)).followed()


def page(path: Path) -> str:
    """Returns the schema as a page in Markdown."""
    document = Document(path)
    head = f"# {document.root['title']}\n\n{document.root.get('description', '')}\n"
    parts = [section(*each) for each in sections(document)]
    body = "".join(parts) or table(Place(document.root, document))
    return f"{head}\n{origin(document)}\n{body}"
