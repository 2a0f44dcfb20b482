# SPDX-License-Identifier: MIT
"""Compares JSON that the tool prints with the schemas in docs/schema.

Published schemas permit further members. Here they do not: a member that no schema lists is a
fault.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

try:
    import jsonschema
except ImportError:
    jsonschema = None

Json = dict[str, "Json"] | list["Json"] | str | float | bool | None

FOLDER = Path(__file__).resolve().parent.parent.parent / "docs/schema"
COMMON = "common.json#/$defs/"


def names() -> list[str]:
    """Returns the names of the schemas of commands."""
    return sorted(path.stem for path in FOLDER.glob("*.json") if path.stem != "common")


def load(name: str) -> dict[str, Any]:
    return json.loads((FOLDER / f"{name}.json").read_text())


def closed(schema: Json) -> Json:
    """Returns the schema with shared definitions inside; it forbids members that it does not
    name."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: closed(value) for key, value in schema.items()}
    if isinstance(copy.get("$ref"), str) and copy["$ref"].startswith(COMMON):
        copy["$ref"] = "#/$defs/common." + copy["$ref"].removeprefix(COMMON)
    if copy.get("type") == "object" and "properties" in copy:
        copy["additionalProperties"] = False
    return copy


def members(node: Json, path: str = "") -> Iterator[tuple[str, dict[str, Json]]]:
    """Yields all members of a schema with their paths, and the types that it defines."""
    if not isinstance(node, dict):
        return
    parts = [
        (f"{path}.{key}".lstrip("."), part) for key, part in node.get("properties", {}).items()
    ]
    parts += [(f"#{key}", part) for key, part in node.get("$defs", {}).items()]
    if isinstance(node.get("additionalProperties"), dict):
        parts.append((f"{path}.*", node["additionalProperties"]))
    yield from parts
    inner = [(path, each) for each in [*node.get("anyOf", []), *node.get("oneOf", [])]]
    inner.append((f"{path}[]", node.get("items")))
    for where, part in [*parts, *inner]:
        yield from members(part, where)


def undescribed(schema: dict[str, Json]) -> list[str]:
    """Returns the members that have no description, and whose types have none."""
    types = {COMMON + key: part for key, part in load("common")["$defs"].items()}
    types |= {f"#/$defs/{key}": part for key, part in schema.get("$defs", {}).items()}

    def is_described(member: dict[str, Json]) -> bool:
        said = member.get("description") or types.get(member.get("$ref"), {}).get("description")
        return bool(said and said.strip())

    return [path for path, member in members(schema) if not is_described(member)]


@functools.cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = closed(load(name))
    shared = {f"common.{key}": closed(each) for key, each in load("common")["$defs"].items()}
    schema["$defs"] = {**schema.get("$defs", {}), **shared}
    return jsonschema.Draft202012Validator(schema)


def complaints(name: str, value: dict[str, Any]) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in validator(name).iter_errors(value)]


def conforming(name: str, text: str) -> dict[str, Any]:
    """Returns the object in `text`, which must match its schema (where jsonschema is installed)."""
    value = json.loads(text)
    if jsonschema:
        assert not complaints(name, value), text
    return value
