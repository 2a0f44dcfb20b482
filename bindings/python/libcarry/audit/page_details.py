# SPDX-License-Identifier: MIT
"""Makes the targets of links on the page: the captures of each folder, and the details of each
capture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from .. import _carry
from . import markup, words
from .dataset import Row
from .overview import FINDINGS_SHOWN, Capture, Overview


def anchors(kind: str, names: Iterable[str]) -> dict[str, str]:
    """Returns an anchor for each name. Anchors contain numbers, since names may contain
    anything."""
    return {name: f"{kind}-{number}" for number, name in enumerate(names, 1)}


def damage(row: Row) -> str:
    where = row["damage_offset"]
    at = "damaged" if where is None else f"damaged at offset {where:,}"
    return f"{at}: {markup.name(row['damage_reason'] or row['error'])}"


def _status(row: Row) -> str:
    wrong = words.counted(row["findings"] or 0, "wrong checksum")
    status = words.STATUS_WORDS.get(row["status"], (markup.text(row["status"]), ""))[0]
    if row["status"] == "wrong" or not row["findings"]:
        return wrong if row["findings"] else status
    return f"{status}; {wrong}"


def _status_class(row: Row) -> str:
    if row["status"] == "clean":
        return "good"
    return "partial" if row["status"] == "unchecked" else "bad"


def _last_part(name: str) -> str:
    shown = words.without_secrets(name)
    return markup.part_of_name(shown.rpartition("/")[2] or shown)


# --- Folders ---


def _capture_row(row: Row, captures: Mapping[str, str]) -> str:
    return (
        markup.head(markup.link(captures.get(row["file"]), _last_part(row["file"])))
        + markup.number(row["packets"] or 0)
        + markup.cell(_status(row), _status_class(row))
    )


def _folder(
    overview: Overview, name: str, rows: list[Row], anchor: str, captures: Mapping[str, str]
) -> str:
    folder = overview.folders[name]
    table = markup.table(
        "The captures in this folder, the worst first",
        ("file", "#packets", "outcome"),
        (_capture_row(row, captures) for row in rows),
        kind="names",
    )
    more = folder.captures - len(rows)
    line = f"and {more:,} more" + (", in folders below too" if overview.depth is not None else "")
    query = (
        "select file, status, findings, packets\n"
        f"from {words.sql_from(overview.destination, 'files')}\n"
        f"where {words.sql_is('folder', name)}\norder by findings desc, file"
    )
    rest = markup.paragraph(line) + markup.sql("All of them, in SQL", query) if more > 0 else ""
    return (
        f'<article id="{anchor}">\n<h3>{markup.name(name)}</h3>\n{table}{rest}'
        f"{markup.faint(markup.link('folders', 'all folders'))}</article>\n"
    )


def folders(overview: Overview, own: Mapping[str, str], captures: Mapping[str, str]) -> str:
    parts = [
        _folder(overview, name, rows, own[name], captures)
        for name, rows in overview.detailed.items()
    ]
    more = len(overview.folders) - len(parts)
    return "".join(parts) + (markup.paragraph(f"and {more:,} more folders") if more > 0 else "")


# --- Captures ---


def _protocol_text(rows: list[Row]) -> str:
    """Returns text such as "40 good, 7 bad (4 rewritten)"."""
    verdicts: dict[str, int] = {}
    whys: dict[str, Counter[str]] = {}
    for row in rows:
        verdict, why = row["verdict"], row["cause"] or row["reason"]
        verdicts[verdict] = verdicts.get(verdict, 0) + row["checksums"]
        if why:
            whys.setdefault(verdict, Counter())[why] += row["checksums"]
    parts = []
    for verdict in sorted(verdicts, key=_carry.VERDICTS.index):
        shown = ", ".join(f"{n:,} {markup.text(w)}" for w, n in whys.get(verdict, {}).items())
        of_kind = markup.CLASSES[verdict]
        part = f'{verdicts[verdict]:,} <span class="{of_kind}">{verdict}</span>'
        parts.append(f"{part} ({shown})" if shown else part)
    return ", ".join(parts)


def _facts(capture: Capture, folder: str | None) -> str:
    row = capture.row
    facts = [
        ("folder", markup.link(folder, markup.name(row["folder"]))),
        ("packets", f"{row['packets'] or 0:,}, {words.size(row['bytes'] or 0)}"),
        ("outcome", f'<span class="{_status_class(row)}">{_status(row)}</span>'),
    ]
    if row["first_time"]:
        facts.append(("begins", row["first_time"].isoformat().replace("+00:00", "Z")))
    if row["status"] == "damaged":
        facts.append(("damage", damage(row)))
    elif row["error"]:
        facts.append(("why", markup.name(row["error"])))
    protocols: dict[str, list[Row]] = {}
    for each in capture.counts:
        protocols.setdefault(each["protocol"], []).append(each)
    facts += [(markup.text(name), _protocol_text(rows)) for name, rows in protocols.items()]
    return markup.terms(facts)


def _route(finding: Row) -> str:
    def end(address: str | None, port: int | None) -> str:
        if not address or port is None:
            return markup.name(address)
        return markup.name(f"[{address}]:{port}" if ":" in address else f"{address}:{port}")

    source = end(finding["src_ip"], finding["src_port"])
    return f"{source} -&gt; {end(finding['dst_ip'], finding['dst_port'])}"


def _number(value: int | None) -> str:
    return "?" if value is None else f"{value:#06x}"


def _findings(capture: Capture) -> str:
    if not capture.findings:
        return ""
    rows = (
        markup.head(f"{row['frame_number']:,}")
        + markup.cell(markup.text(row["protocol"]))
        + markup.cell(markup.text(row["verdict"]), markup.CLASSES.get(row["verdict"], ""))
        + markup.cell(f"{_number(row['stored'])}, not {_number(row['expected'])}")
        + markup.cell(_route(row))
        + markup.cell(markup.text(row["cause"] or ""))
        for row in capture.findings
    )
    heads = ("frame", "protocol", "verdict", "holds", "packet", "cause")
    return markup.table("First findings", heads, rows, kind="rows")


def _omitted(overview: Overview, capture: Capture) -> str:
    listed, found = len(capture.findings), capture.row["findings"] or 0
    if listed < FINDINGS_SHOWN and found <= listed:
        return ""
    more = found - listed
    query = (
        f"select *\nfrom {words.sql_from(overview.destination, 'findings')}\n"
        f"where {words.sql_is('file', capture.row['file'])}\norder by frame_number"
    )
    line = f"and {more:,} more, as far as the audit kept findings" if more > 0 else ""
    return markup.paragraph(line) + markup.sql("All findings, in SQL", query) if line else ""


def _capture(overview: Overview, capture: Capture, anchor: str, folder: str | None) -> str:
    return (
        f'<article id="{anchor}">\n<h3>{_last_part(capture.row["file"])}</h3>\n'
        f"{_facts(capture, folder)}{_findings(capture)}{_omitted(overview, capture)}</article>\n"
    )


def captures(overview: Overview, folders: Mapping[str, str], own: Mapping[str, str]) -> str:
    parts = [
        _capture(overview, each, own[name], folders.get(each.row["folder"]))
        for name, each in overview.shown.items()
    ]
    more = overview.captures - overview.statuses["clean"] - len(parts)
    if more > 0:
        query = (
            "select file, status, findings\n"
            f"from {words.sql_from(overview.destination, 'files')}\n"
            "where status <> 'clean' order by findings desc, file"
        )
        parts.append(markup.paragraph(f"and {more:,} more that are not clean"))
        parts.append(markup.sql("All of them, in SQL", query))
    return "".join(parts)
