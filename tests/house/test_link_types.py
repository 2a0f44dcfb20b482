# SPDX-License-Identifier: MIT
"""Link types: the reference agrees with the tables of the sources, and with tshark."""

from __future__ import annotations

import re
from typing import NamedTuple

from carry_tool import SOURCE

ROW = re.compile(
    r"^\| (?P<number>\d+) \| (?:none|`(?P<registered>\w+)`) \| (?P<name>[^|]+) "
    r"\| (?:\[(?P<protocol>\w+)\]\((?P<file>[^)]+)\)|no; [^|]+) \|$",
    re.MULTILINE,
)
PROTOCOL = re.compile(r"^CARRY_PROTOCOL\(\w+, (\w+),?(.*?)\)$(?=\n\S|\Z)", re.M | re.S)
LINK = re.compile(r"CARRY_ON_LINK\((\d+)")
NAME = re.compile(r'^CARRY_LINKTYPE\((\d+), "([^"]+)"\)$', re.M)


class LinkType(NamedTuple):
    name: str
    protocol: str | None


def reference() -> list[tuple[int, LinkType]]:
    text = (SOURCE / "docs/reference/link-types.md").read_text()
    rows = list(ROW.finditer(text))
    assert len(rows) == len(re.findall(r"^\| \d", text, re.M))
    return [(int(row["number"]), LinkType(row["name"], row["protocol"])) for row in rows]


def named() -> dict[int, str]:
    text = (SOURCE / "capture/link_names.def").read_text()
    return {int(number): name for number, name in NAME.findall(text)}


def walked() -> dict[int, str]:
    text = (SOURCE / "include/carry/protocols.def").read_text().rstrip()
    return {
        int(number): name for name, keys in PROTOCOL.findall(text) for number in LINK.findall(keys)
    }


def test_the_reference_lists_examined_link_types() -> None:
    listed = {number: link.protocol for number, link in reference() if link.protocol}
    assert listed == walked()


def test_the_reference_has_the_names_of_messages() -> None:
    assert {number: link.name for number, link in reference()} == named()


def test_numbers_and_names_are_listed_once_in_order() -> None:
    numbers = [number for number, _ in reference()]
    assert numbers == sorted(set(numbers))
    assert len(set(named().values())) == len(numbers)


def test_each_protocol_links_to_its_file() -> None:
    text = (SOURCE / "docs/reference/link-types.md").read_text()
    for row in ROW.finditer(text):
        if row["protocol"]:
            assert re.fullmatch(rf"\.\./\.\./src/packet/{row['protocol']}\.[ch]", row["file"])
