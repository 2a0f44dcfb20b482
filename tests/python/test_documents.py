# SPDX-License-Identifier: MIT
"""Documents: their links lead somewhere, and the index leads to every one of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import SOURCE

DOCUMENTS = sorted([*SOURCE.glob("*.md"), *SOURCE.glob("docs/**/*.md")])
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def prose(document: Path) -> str:
    return FENCED.sub("", document.read_text())


def anchors(document: Path) -> set[str]:
    """What headings are called in links: as GitHub and most generators have it."""
    words = (
        re.sub(r"[^\w\- ]", "", heading).lower() for heading in HEADING.findall(prose(document))
    )
    return {name.replace(" ", "-") for name in words}


def links(document: Path) -> Iterator[tuple[Path, str]]:
    """Where the links of a document lead to within the project, each with its anchor."""
    for link in LINK.findall(prose(document)):
        if "://" not in link:
            name, _, anchor = link.partition("#")
            yield (document.parent / name).resolve() if name else document, anchor


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(SOURCE)))
def test_links(document: Path) -> None:
    for target, anchor in links(document):
        assert target.exists(), f"{target} is not there"
        assert target.is_relative_to(SOURCE)
        assert not anchor or anchor in anchors(target), f"{target.name} has no heading {anchor}"


def test_the_index_leads_to_every_document() -> None:
    index = SOURCE / "docs/index.md"
    assert {target for target, _ in links(index)} >= set(DOCUMENTS) - {index}


def test_the_index_names_what_is_there() -> None:
    """Headers, examples and commands, by which readers go on."""
    text = (SOURCE / "docs/index.md").read_text()
    headers = re.findall(r"`(carry/[\w/]+\.h)`", text)
    examples = re.findall(r"`(examples/\w+\.c)`", text)
    assert len(headers) > 9
    assert len(examples) > 5
    for name in [*(f"include/{header}" for header in headers), *examples]:
        assert (SOURCE / name).is_file()
    manual = (SOURCE / "docs/man/carry.1").read_text()
    for section in re.findall(r"section ([A-Z]+)", text):
        assert f"\n.SH {section}\n" in manual
