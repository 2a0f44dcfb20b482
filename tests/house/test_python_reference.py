# SPDX-License-Identifier: MIT
"""The reference of the package for Python is generated from its sources without loss."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from carry_tool import SOURCE

sys.path.insert(0, str(SOURCE / "scripts"))
from manual import python

SECTIONS = python.read_entries()
ENTRIES = {entry.name: entry for entries in SECTIONS.values() for entry in entries}


def test_the_page_is_made_of_the_sources() -> None:
    """If this fails, run scripts/make_python_reference.py."""
    assert python.PAGE.read_text() == python.page()


def test_all_public_names_are_there() -> None:
    names = python.public_names(python.Module(python.PACKAGE / "__init__.py"))
    modules = {place: {entry.name for entry in SECTIONS[place]} for place in python.MODULES}
    assert len(names) > 30
    assert {"assert_checksums", "to_capture"} <= modules["testing"]
    assert "scan" in modules["audit"]
    assert modules["spark"] == {"register"}
    assert {*ENTRIES} == names.union(*modules.values())
    assert all(SECTIONS.values())


@pytest.mark.parametrize("name", ENTRIES)
def test_a_name_is_declared_and_described(name: str) -> None:
    entry = ENTRIES[name]
    for each in (entry, *entry.members):
        assert each.code
        assert each.text, f"{name}: {each.name} has no description"
    assert name in entry.code or entry.kind == "value"


def test_all_parameters_have_known_types() -> None:
    for entry in python.aliases():
        assert entry.text, f"{entry.name} has no description"


def test_columns_are_rows_of_the_table() -> None:
    rows = (python.SOURCES / "tables.def").read_text().count('")\n')
    assert [table.name for table in python.TABLES] == ["files", "counts", "findings"]
    assert sum(len(table.columns) for table in python.TABLES) == rows
    assert all(column.text for table in python.TABLES for column in table.columns)


def test_columns_of_audits() -> None:
    """The reference lists each column of an audit, with type and description."""
    columns = {column.name: column for column in python.audit_columns()}
    assert columns["folder"].code == "string"
    assert columns["modified"].code == "timestamp[us, UTC], or null"
    assert all(column.text for column in columns.values())
    assert f"| `{'` | `'.join(['pieces', 'uint32'])}` |" in python.page()


# --- Reading ---


def module(tmp_path: Path, text: str) -> python.Module:
    path = tmp_path / "some.py"
    path.write_text(text)
    return python.Module(path)


def entries(some: python.Module) -> list[python.Entry]:
    return [entry for _, entry in python.Reader().entries(some)]


def test_signatures(tmp_path: Path) -> None:
    """Constants of the package are shown by their values; self is omitted."""
    some = module(
        tmp_path,
        "MANY = 1 << 4\n"
        "def f(a: int, b: str = 'x', /, c: bool = True, *, d: int = MANY) -> int: ...\n"
        "class A:\n    def g(self, a: int = MANY) -> None:\n        'Text.'\n",
    )
    f, a = entries(some)
    assert f.code == 'f(a: int, b: str = "x", /, c: bool = True, *, d: int = 1 << 4) -> int'
    assert [(each.code, each.text) for each in a.members] == [
        ("g(a: int = 1 << 4) -> None", "Text.")
    ]


def test_properties_and_members(tmp_path: Path) -> None:
    """Public members and properties are described; private ones are omitted."""
    some = module(
        tmp_path,
        "class A:\n    b: int  # of it\n    _c: int\n    @property\n    def d(self) -> str:\n"
        "        'Text.'\n    def _e(self) -> None: ...\n",
    )
    (a,) = entries(some)
    assert [(each.name, each.code, each.text) for each in a.members] == [
        ("b", "int", "of it"),
        ("d", "str", "Text."),
    ]


def test_missing_description_is_empty(tmp_path: Path) -> None:
    (f,) = entries(module(tmp_path, "def f() -> int: ...\n"))
    assert f.text == ""


def test_links_lead_to_functions_alone() -> None:
    assert python.linked("a() b() `a()` x.a()", ["a"]) == "[`a()`](#a) b() `a()` x.a()"
