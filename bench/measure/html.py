# SPDX-License-Identifier: MIT
"""Elements of HTML."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def tag(name: str, text: str, **attributes: str) -> str:
    """An element; `text` is HTML, attributes are not."""
    shown = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{shown}>{text}</{name}>"


def row(cells: Iterable[str], name: str = "td") -> str:
    """A row of a table; cells are HTML, and whole elements stay as they are."""
    return tag("tr", "".join(c if c.startswith("<t") else tag(name, c) for c in cells))


def table(head: Iterable[str], rows: Iterable[str], **attributes: str) -> str:
    """Wide ones are scrolled."""
    body = tag("thead", row(head, "th")) + tag("tbody", "".join(rows))
    return tag("div", tag("table", body, **attributes), class_="scroll")


def quiet(text: str) -> str:
    return tag("p", text, class_="quiet")


def capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]
