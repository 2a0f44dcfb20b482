# SPDX-License-Identifier: MIT
"""The pages on JSON have a row for each member of each schema, with references resolved."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemas
from carry_tool import SOURCE

sys.path.insert(0, str(SOURCE / "scripts"))
from manual.schemas import page

EVERY = ["common", *schemas.names()]
ROW = re.compile(r"^\| `(.+?)` \| (.+?) \| (required|optional) \| (.*) \|$", re.M)


def path_of(name: str) -> Path:
    return schemas.FOLDER / f"{name}.json"


def rows(text: str) -> list[dict[str, str]]:
    names = ("path", "type", "presence", "description")
    return [dict(zip(names, row, strict=True)) for row in ROW.findall(text)]


def paths(root: dict[str, Any], node: dict[str, Any], path: str = "") -> Iterator[str]:
    """Yields the paths of all members of a part of a schema that does not refer to itself."""
    if "$ref" in node:
        file, name = re.fullmatch(r"(common\.json)?#/\$defs/(\w+)", node["$ref"]).groups()
        root = schemas.load("common") if file else root
        yield from paths(root, root["$defs"][name], path)
    for key, member in node.get("properties", {}).items():
        yield f"{path}.{key}".lstrip(".")
        yield from paths(root, member, f"{path}.{key}".lstrip("."))
    if isinstance(node.get("additionalProperties"), dict):
        yield f"{path}.*"
        yield from paths(root, node["additionalProperties"], f"{path}.*")
    yield from paths(root, node["items"], f"{path}[]") if "items" in node else ()
    for choice in [*node.get("anyOf", []), *node.get("oneOf", [])]:
        yield from paths(root, choice, path)


@pytest.mark.parametrize("name", EVERY)
def test_each_member_has_a_row(name: str) -> None:
    root = schemas.load(name)
    tops = [root] if {"type", "oneOf"} & {*root} else root["$defs"].values()
    expected = [path for top in tops for path in paths(root, top)]
    assert expected
    assert [row["path"] for row in rows(page(path_of(name)))] == expected


@pytest.mark.parametrize("name", EVERY)
def test_rows_have_descriptions(name: str) -> None:
    text = page(path_of(name))
    found = rows(text)
    assert "None" not in text
    assert len(found) == len(re.findall(r"^\| `", text, re.M))
    for row in found:
        assert re.match(r"[A-Z].*\.$", row["description"]), row
        assert row["type"] != "any value"


@pytest.mark.parametrize("name", EVERY)
def test_links_lead_to_sections(name: str) -> None:
    text = page(path_of(name))
    shared = re.findall(r"^## (\w+)$", page(path_of("common")), re.M)
    for document, anchor in re.findall(r"\]\(([\w.]*)#(\w+)\)", text):
        assert document == "common.md" or name == "common"
        assert anchor in shared


@pytest.mark.parametrize("name", EVERY)
def test_page_begins_with_the_schema_description(name: str) -> None:
    schema = schemas.load(name)
    assert page(path_of(name)).startswith(f"# {schema['title']}\n\n{schema['description']}\n\n")


def test_a_page_names_the_commands_that_write_it() -> None:
    text = page(path_of("bench_kernels"))
    assert "\nWritten by `carry bench sum --json` and `carry bench crc --json`." in text
    assert "Written by" not in page(path_of("common"))


def test_rows_follow_references(tmp_path: Path) -> None:
    """The schema refers to itself, and to another one."""
    (tmp_path / "common.json").write_text(
        json.dumps(
            {
                "title": "Shared",
                "$defs": {"word": {"type": "string", "description": "A word."}},
            }
        )
    )
    tree = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"description": "A name.", "$ref": "common.json#/$defs/word"},
            "under": {
                "description": "What is below.",
                "type": "array",
                "items": {"$ref": "#/$defs/tree"},
            },
            "over": {
                "description": "What is a|bove.",
                "anyOf": [{"$ref": "#/$defs/branch"}, {"type": "null"}],
            },
            "kinds": {
                "description": "By word.",
                "type": "object",
                "propertyNames": {"$ref": "common.json#/$defs/word"},
                "additionalProperties": {"description": "How.", "enum": ["a", None]},
            },
        },
    }
    schema = {
        "title": "carry grow --json",
        "description": "One tree.",
        "type": "object",
        "properties": {"root": {"description": "The root.", "$ref": "#/$defs/tree"}},
        "$defs": {"tree": tree, "branch": {"$ref": "#/$defs/tree"}},
    }
    path = tmp_path / "grow.json"
    path.write_text(json.dumps(schema))
    word = "[word](common.md#word)"
    assert page(path) == (
        "# carry grow --json\n\nOne tree.\n\n"
        "Written by `carry grow --json`. Schema: `docs/schema/grow.json`.\n\n"
        "| member | type | | description |\n|---|---|---|---|\n"
        "| `root` | object | optional | The root. |\n"
        f"| `root.name` | string ({word}) | required | A name. |\n"
        "| `root.under` | array of objects (as above) | optional | What is below. |\n"
        "| `root.over` | object (as above) or null | optional | What is a\\|bove. |\n"
        f"| `root.kinds` | object, by {word} | optional | By word. |\n"
        '| `root.kinds.*` | `"a"`, `null` | optional | How. |\n'
    )
