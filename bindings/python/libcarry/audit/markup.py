# SPDX-License-Identifier: MIT
"""Makes the parts of the HTML page of an audit."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Sequence

from .. import _carry
from . import words

CLASSES = dict(zip(_carry.VERDICTS, _carry.VERDICT_CLASSES, strict=True))

# Styles that only the page of an audit needs, not the page of captures.
STYLE = """<style>
bdi { white-space: pre-wrap } bdi mark { padding: 0 .1em; margin: 0 .05em }
a { color: inherit; text-underline-offset: .15em }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin-top: 1rem }
section > article { margin: 1rem 0 } article:target { border-color: var(--text) }
.deep { padding-left: calc(var(--depth) * 1.1rem) }
.short th, .rows th, .rows td { white-space: nowrap } .rows bdi { white-space: pre }
.tree th[scope=col] { white-space: normal }
details { margin: .5rem 0 } pre { white-space: pre-wrap }
.tree th[scope=row], .names th[scope=row], .senders th[scope=row] { min-width: 9rem }
.senders td:last-child { min-width: 11rem }
@media (max-width: 40rem) { .tree th[scope=row] { min-width: 7.5rem } }
@media print { details, nav { display: none } a { text-decoration: none } }
</style>
"""


def text(value: object) -> str:
    return html.escape(str(value))


def name(value: str | None) -> str:
    """Returns an untrusted name in a form that cannot act as markup or pass for another name."""
    return part_of_name(words.without_secrets(value or ""))


def part_of_name(value: str) -> str:
    """Returns the HTML of a part of a name. Its secrets must have been removed before."""
    if not value:
        return '<span class="faint">(none)</span>'
    parts = words.pieces(value)
    return f"<bdi>{''.join(mark(part) if escaped else text(part) for part, escaped in parts)}</bdi>"


def mark(value: str) -> str:
    return f"<mark>{text(value)}</mark>"


def link(anchor: str | None, content: str) -> str:
    return f'<a href="#{anchor}">{content}</a>' if anchor else content


def paragraph(content: str, kind: str = "") -> str:
    return f'<p class="{kind}">{content}</p>\n' if kind else f"<p>{content}</p>\n"


def faint(content: str) -> str:
    return paragraph(content, "faint")


def section(anchor: str, title: str, *content: str, kind: str = "") -> str:
    of_kind = f' class="{kind}"' if kind else ""
    return f'<section id="{anchor}"{of_kind}>\n<h2>{title}</h2>\n{"".join(content)}</section>\n'


def items(contents: Iterable[str]) -> str:
    return "<ul>\n" + "".join(f"<li>{content}</li>\n" for content in contents) + "</ul>\n"


def terms(pairs: Iterable[tuple[str, str]]) -> str:
    return "<dl>\n" + "".join(f"<dt>{a}</dt><dd>{b}</dd>\n" for a, b in pairs) + "</dl>\n"


def sql(question: str, query: str) -> str:
    return (
        f"<details>\n<summary>{question}</summary>\n"
        f"<pre><code>{text(query)}</code></pre>\n</details>\n"
    )


# --- Tables ---


def head(content: str, depth: int = 0, anchor: str | None = None) -> str:
    """Returns the first cell of a row: its heading."""
    deep = f' class="deep" style="--depth:{depth}"' if depth else ""
    own = f' id="{anchor}"' if anchor else ""
    return f'<th scope="row"{own}{deep}>{content}</th>'


def cell(content: str, kind: str = "") -> str:
    return f'<td class="{kind}">{content}</td>' if kind else f"<td>{content}</td>"


def number(value: int, kind: str = "") -> str:
    """Returns a cell with a count; a faint "-" stands for 0."""
    return cell(f"{value:,}" if value else "-", f"number {kind if value else 'faint'}".rstrip())


def share(verdicts: Counter[str]) -> str:
    """Returns a cell with a bar of the shares of all verdicts. Other cells contain the counts."""
    total, x, bars = sum(verdicts.values()), 0.0, ""
    for verdict, kind in CLASSES.items():
        width = 100 * verdicts[verdict] / total if total else 0
        if width:
            bars += f'<rect class="fill-{kind}" x="{x:.2f}" y="0" width="{width:.2f}" height="1"/>'
        x += width
    return (
        '<td class="share" aria-hidden="true"><svg viewBox="0 0 100 1" '
        f'preserveAspectRatio="none">{bars}</svg></td>'
    )


SHARE_HEAD = '<td class="share" aria-hidden="true"></td>'


def table(
    caption: str, heads: Sequence[str], rows: Iterable[str], *, kind: str = "", bars: bool = False
) -> str:
    """Returns a table of rows of cells. A heading that begins with # marks a column of numbers."""
    cells = "".join(
        f'<th scope="col" class="number">{title[1:]}</th>'
        if title.startswith("#")
        else f'<th scope="col">{title}</th>'
        for title in heads
    )
    of_kind = f' class="{kind}"' if kind else ""
    body = "".join(f"<tr>{row}</tr>\n" for row in rows)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{caption}">\n'
        f"<table{of_kind}>\n<caption>{caption}</caption>\n"
        f"<thead><tr>{cells}{SHARE_HEAD if bars else ''}</tr></thead>\n"
        f"<tbody>\n{body}</tbody>\n</table>\n</div>\n"
    )
