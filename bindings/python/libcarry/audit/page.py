# SPDX-License-Identifier: MIT
"""Writes the page of an audit: one HTML file that loads nothing and runs nothing.

The size of the page is bounded: it lists a limited number of folders, senders and captures. It
shows the number of further ones, and an SQL query that lists them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import fsspec

from .. import _carry, sources
from . import markup, page_details, report, timeline, tree, words
from .overview import NOT_READ, STATUSES, Overview, rate, read
from .words import WRONG

if TYPE_CHECKING:
    from .._types import Path, Writable

CAUSES_OF_SENDER = 3

TITLES = {
    "captures": "Captures",
    "time": "Over time",
    "folders": "By folder",
    "protocols": "By protocol",
    "causes": "Why",
    "senders": "By sender",
    "coverage": "Where coverage ends",
    "damage": "Damage",
    "unread": "Not read",
    "listed": "Captures of folders",
    "details": "Captures in detail",
}


def _section(anchor: str, *content: str) -> str:
    return markup.section(anchor, TITLES[anchor], *content)


# --- The outcome ---


def _title(overview: Overview) -> str:
    return f"Checksums of {words.counted(overview.captures, 'capture')}"


def _rate(verdicts: Counter[str]) -> str:
    share = rate(verdicts)
    if share is None:
        return ""
    judged = verdicts["good"] + verdicts["bad"]
    return markup.paragraph(
        f"Corruption rate: <strong>{words.percent(share)}</strong>: {verdicts['bad']:,} bad of "
        f"{words.counted(judged, 'checksum')} that {'is' if judged == 1 else 'are'} good or bad"
    )


def _header(overview: Overview) -> str:
    kind = words.outcome_class(overview.verdicts)
    versions = words.joined(sorted(map(markup.text, overview.versions))) or _carry.__version__
    facts = f"{words.counted(overview.packets, 'packet')}, {words.size(overview.bytes)}"
    return (
        f"<header>\n<h1>{_title(overview)}</h1>\n"
        + markup.paragraph(markup.text(report.headline(overview)), f"outcome {kind}")
        + _rate(overview.verdicts)
        + markup.faint(f"{facts}; checked by carry {versions}")
    )


def _captures(overview: Overview) -> str:
    known = [status for status in STATUSES if overview.statuses[status]]
    others = sorted(overview.statuses.keys() - STATUSES)
    rows = (
        markup.head(markup.text(status))
        + markup.cell(words.STATUS_WORDS.get(status, ("", ""))[1])
        + markup.number(overview.statuses[status])
        + markup.cell(words.percent(overview.statuses[status] / overview.captures), "number")
        for status in [*known, *others]
    )
    heads = ("status", "captures", "#number", "#share")
    return _section("captures", markup.table("Captures by status", heads, rows, kind="short"))


# --- Checksums ---


def _folders(overview: Overview, anchors: Mapping[str, str]) -> str:
    note = ""
    if overview.depth is not None:
        note = markup.faint("There are many folders: those far down count as the folders above.")
    wrong = ", ".join(f"'{verdict}'" for verdict in WRONG)
    query = (
        "select files.folder, sum(checksums) as wrong\n"
        f"from {words.sql_from(overview.destination, 'counts')} as counts\n"
        f"join {words.sql_from(overview.destination, 'files')} as files using (file)\n"
        f"where verdict in ({wrong}) group by all order by wrong desc"
    )
    shown = markup.sql("All folders, in SQL", query)
    return _section("folders", tree.table(overview.folders, anchors), note, shown)


def _protocols(overview: Overview) -> str:
    verdicts = [verdict for verdict in _carry.VERDICTS if overview.verdicts[verdict]]
    sums: dict[str, Counter[str]] = {}
    for (protocol, verdict, _, _), number in overview.counts.items():
        sums.setdefault(protocol, Counter())[verdict] += number
    known = [protocol for protocol in _carry.PROTOCOLS if protocol in sums]
    rows = (
        markup.head(markup.text(protocol))
        + "".join(markup.number(sums[protocol][v], markup.CLASSES[v]) for v in verdicts)
        + markup.cell(words.percent(rate(sums[protocol])), "number")
        + markup.share(sums[protocol])
        for protocol in [*known, *sorted(sums.keys() - known)]
    )
    heads = ["protocol", *(f"#{verdict}" for verdict in verdicts), "#corruption rate"]
    caption = "Checksums by protocol and verdict"
    return _section("protocols", markup.table(caption, heads, rows, bars=True))


def _shares(protocols: Counter[str]) -> str:
    """Returns text such as "tcp 913, udp 739"."""
    return ", ".join(f"{markup.text(name)} {count:,}" for name, count in words.ranked(protocols))


def _cause(verdict: str, cause: str | None, number: int, protocols: Counter[str]) -> str:
    """Returns the card of a cause."""
    said = words.CAUSE_WORDS.get(cause or "")
    parts = [
        markup.paragraph(f'{number:,} <span class="{markup.CLASSES[verdict]}">{verdict}</span>'),
        markup.faint(_shares(protocols)),
        markup.paragraph(
            f"A checksum {markup.text(said)}." if said else "The captures show no cause."
        ),
    ]
    if advice := words.CAUSE_ADVICE.get(cause or ""):
        parts.append(markup.paragraph(f"try: {markup.text(advice)}"))
    own = f' id="cause-{cause}"' if cause and _known_cause(cause) else ""
    return (
        f"<article{own}>\n<h3>{markup.text(cause or 'unknown')}</h3>\n{''.join(parts)}</article>\n"
    )


def _known_cause(cause: str | None) -> bool:
    """Checks whether a cause is known, so that it can be an anchor."""
    return cause in _carry.CAUSES


def _causes(overview: Overview) -> str:
    protocols: dict[tuple[str, str | None], Counter[str]] = {}
    for (protocol, verdict, _, cause), number in overview.counts.items():
        protocols.setdefault((verdict, cause), Counter())[protocol] += number
    found = report.causes(overview)
    if not found:
        return ""
    cards = "".join(_cause(*each, protocols[each[0], each[1]]) for each in found)
    note = markup.faint("Why checksums are bad, illegal or partial, as far as the captures show.")
    return _section("causes", note, f'<div class="cards">\n{cards}</div>\n')


def _sender_causes(causes: Counter[tuple[str, str, str | None]], linked: set[str]) -> str:
    parts = []
    for (protocol, verdict, cause), number in words.ranked(causes)[:CAUSES_OF_SENDER]:
        shown = markup.text(cause) if cause else "unknown cause"
        shown = shown if cause or verdict == "bad" else "no checksum"
        anchor = f"cause-{cause}" if cause in linked else None
        what = f"{markup.text(protocol)} {markup.text(verdict)}"
        parts.append(f"{number:,} {what}: {markup.link(anchor, shown)}")
    more = len(causes) - len(parts)
    return "; ".join(parts) + (f"; and {more:,} more" if more else "")


def _senders(overview: Overview) -> str:
    if not overview.senders:
        return ""
    linked = {cause for _, cause, _ in report.causes(overview) if cause and _known_cause(cause)}
    least = "" if overview.senders_exact else "at least "
    rows = (
        markup.head(markup.name(sender.address))
        + markup.cell(f"{least}{sender.checksums:,}", "number")
        + markup.cell(f"{least}{sender.captures:,}", "number")
        + markup.cell(_sender_causes(sender.causes, linked))
        for sender in overview.senders
    )
    heads = ("sender", "#checksums", "#captures", "most frequent causes")
    caption = "Senders of bad and illegal checksums, those of the most first"
    kept = words.counted(overview.findings, "finding")
    notes = f"Counted in the {kept} that the audit kept, of {overview.wrong:,} wrong checksums."
    if overview.senders_more:
        more = f"{overview.senders_more:,}" if overview.senders_exact else "many"
        notes += f" {more[0].upper()}{more[1:]} more are not shown."
    query = (
        "select src_ip, count(*) as checksums, count(distinct file) as captures\n"
        f"from {words.sql_from(overview.destination, 'findings')}\n"
        "where verdict in ('bad', 'illegal') group by src_ip order by checksums desc"
    )
    table = markup.table(caption, heads, rows, kind="senders")
    return _section("senders", table, markup.faint(notes), markup.sql("All senders, in SQL", query))


def _coverage(overview: Overview) -> str:
    reasons: dict[str, Counter[str]] = {}
    for (protocol, verdict, reason, _), number in overview.counts.items():
        if verdict == "unverifiable":
            reasons.setdefault(reason or "unknown", Counter())[protocol] += number
    total = sum(overview.verdicts.values())
    sums = Counter({reason: sum(protocols.values()) for reason, protocols in reasons.items()})
    rows = (
        markup.head(markup.text(reason))
        + markup.cell(markup.text(words.REASON_WORDS.get(reason, "")))
        + markup.number(number)
        + markup.cell(words.percent(number / total), "number")
        + markup.cell(_shares(reasons[reason]))
        for reason, number in words.ranked(sums)
    )
    heads = ("reason", "checksums", "#number", "#share of all", "protocols")
    table = (
        markup.table("Checksums that could not be verified", heads, rows, kind="short")
        if reasons
        else ""
    )
    note = (
        "These may be right or wrong. No corruption rate counts them, nor those that are partial "
        "(left to transmit offload), absent (not sent) or illegal."
    )
    unread = sum(overview.statuses[status] for status in ("unchecked", "damaged", *NOT_READ))
    captures = (
        f"{words.counted(unread, 'capture')} {'was' if unread == 1 else 'were'} not read to the "
        f"end, or hold{'s' if unread == 1 else ''} nothing that could be checked."
    )
    parts = [table, markup.faint(note), markup.paragraph(captures) if unread else ""]
    return _section("coverage", *parts) if reasons or unread else ""


# --- Captures that were not read to the end ---


def _more(overview: Overview, shown: int, statuses: tuple[str, ...], columns: str) -> str:
    """Returns the note on captures that a list omits."""
    more = sum(overview.statuses[status] for status in statuses) - shown
    listed = ", ".join(f"'{status}'" for status in statuses)
    source = words.sql_from(overview.destination, "files")
    query = f"select {columns}\nfrom {source}\nwhere status in ({listed}) order by file"
    line = markup.paragraph(f"and {more:,} more") if more > 0 else ""
    return line + markup.sql("All of them, in SQL", query)


def _damage(overview: Overview, anchors: Mapping[str, str]) -> str:
    if not overview.damaged:
        return ""
    rows = (
        f"{markup.link(anchors.get(row['file']), markup.name(row['file']))}: "
        f"{page_details.damage(row)}"
        for row in overview.damaged
    )
    columns = "file, damage_offset, damage_reason, packets"
    more = _more(overview, len(overview.damaged), ("damaged",), columns)
    return _section("damage", markup.items(rows), more)


def _not_read(overview: Overview, anchors: Mapping[str, str]) -> str:
    if not overview.not_read:
        return ""
    rows = (
        markup.head(markup.link(anchors.get(row["file"]), markup.name(row["file"])))
        + markup.cell(words.STATUS_WORDS[row["status"]][0])
        + markup.cell(markup.name(row["error"]))
        for row in overview.not_read
    )
    table = markup.table("Captures that could not be read", ("file", "status", "why"), rows)
    more = _more(overview, len(overview.not_read), NOT_READ, "file, status, error")
    return _section("unread", table, more)


# --- The page ---


def _navigation(sections: list[tuple[str, str]]) -> str:
    links = (markup.link(anchor, TITLES[anchor]) for anchor, content in sections if content)
    return f'<nav aria-label="Sections">{" ".join(links)}</nav>\n</header>\n<main>\n'


def _sections(overview: Overview) -> Iterator[tuple[str, str]]:
    folders = page_details.anchors("folder", overview.detailed)
    captures = page_details.anchors("capture", overview.shown)
    if not overview.captures:
        return
    yield "captures", _captures(overview)
    yield "time", timeline.section(overview)
    yield "folders", _folders(overview, folders)
    if overview.verdicts:
        yield "protocols", _protocols(overview)
    yield "causes", _causes(overview)
    yield "senders", _senders(overview)
    yield "coverage", _coverage(overview)
    yield "damage", _damage(overview, captures)
    yield "unread", _not_read(overview, captures)
    yield "listed", _section("listed", page_details.folders(overview, folders, captures))
    if overview.shown:
        yield "details", _section("details", page_details.captures(overview, folders, captures))


def html(overview: Overview) -> str:
    """Returns the page as text."""
    sections = [*_sections(overview)]
    return (
        f"{_carry.PAGE_HEAD}<title>{_title(overview)}</title>\n{_carry.PAGE_STYLE}{markup.STYLE}"
        f"</head>\n<body>\n{_header(overview)}{_navigation(sections)}"
        + "".join(content for _, content in sections)
        + "</main>\n</body>\n</html>\n"
    )


def write(destination: str, target: Path | Writable, overview: Overview | None = None) -> Overview:
    """Writes the page of the audit at `destination` to a path, a URL or a file object. Replaces an
    existing file once the page is complete. Returns the overview that the page shows."""
    overview = overview or read(destination)
    text = html(overview).encode()
    if sources.is_url(target):
        with fsspec.open(target, "wb") as file:
            file.write(text)
    elif isinstance(target, str | os.PathLike):
        _replace(os.fspath(target), text)
    else:
        sources.writer_of(target)(text)
    return overview


def _replace(path: str, text: bytes) -> None:
    with sources.open_target(path, 0o666) as (descriptor, write_stream):
        if write_stream:
            write_stream(text)
        else:
            with open(descriptor, "wb", closefd=False) as file:
                file.write(text)
