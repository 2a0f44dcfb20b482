# SPDX-License-Identifier: MIT
"""Makes elements of HTML."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def tag(name: str, text: str, **attributes: str) -> str:
    """Returns an element; `text` is HTML, attributes are plain text."""
    shown = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{shown}>{text}</{name}>"


def row(cells: Iterable[str], name: str = "td") -> str:
    """Returns a row of a table; cells are HTML, and complete elements are not wrapped."""
    return tag("tr", "".join(c if c.startswith("<t") else tag(name, c) for c in cells))


def table(head: Iterable[str], rows: Iterable[str], **attributes: str) -> str:
    """Returns a table that can be scrolled if it is wide."""
    body = tag("thead", row(head, "th")) + tag("tbody", "".join(rows))
    return tag("div", tag("table", body, **attributes), class_="scroll")


def quiet(text: str) -> str:
    return tag("p", text, class_="quiet")


def capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
