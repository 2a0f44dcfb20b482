# SPDX-License-Identifier: MIT
"""The report: one HTML file that loads nothing."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path
from typing import Any

from measure import plots
from measure.claims import claims
from measure.plan import MIX_TITLES, WORKS, Work
from measure.result import Result, Standing, standing, standings, takes_part, winners
from measure.text import show_bytes, show_ns

TABLE_SIZES = (8, 20, 40, 64, 128, 256, 576, 1500, 4096, 9000, 65535)

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2937; background: #fff;
       max-width: 1320px; margin: 2rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.7rem; margin: 0 0 .2rem; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .6rem; border-bottom: 2px solid #e5e7eb; }
h3 { font-size: 1.02rem; margin: 1.6rem 0 .4rem; }
p { max-width: 52rem; }
.quiet { color: #6b7280; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13.5px; }
th, td { padding: .22rem .6rem; text-align: right; border-bottom: 1px solid #e5e7eb; }
th { font-weight: 600; vertical-align: bottom; background: #f9fafb; }
th:first-child, td:first-child, .left { text-align: left; }
th:first-child, td:first-child { position: sticky; left: 0; }
td:first-child { background: #fff; white-space: nowrap; }
.lefts th, .lefts td { text-align: left; }
td.win { font-weight: 700; background: #eaf4ff; }
td.floor { color: #6b7280; }
.loss { border: 2px solid #c62828; border-radius: 6px; padding: .2rem 1.1rem .9rem;
        margin: 1.4rem 0; background: #fff5f5; }
.loss h2 { border: 0; margin: .6rem 0; color: #b71c1c; }
.lost { display: inline-block; white-space: nowrap; margin: 0 .9rem 0 0; }
.loss td:first-child { white-space: normal; background: #fff5f5; }
.loss td { color: #b71c1c; border-color: #f5c6c6; }
.loss th { background: #fde8e8; }
.good { border: 2px solid #2e7d32; border-radius: 6px; padding: .6rem 1.1rem; background: #f3faf3; }
.kept { color: #1b5e20; font-weight: 700; }
.broken { color: #b71c1c; font-weight: 700; }
.heat td { text-align: center; padding: .25rem .05rem; font-size: 10.5px; border: 1px solid #fff; }
.heat td:first-child, .heat td:nth-child(2) { text-align: left; padding-right: .6rem;
           white-space: nowrap; }
.heat th.size { writing-mode: vertical-rl; transform: rotate(180deg); }
.heat th { font-size: 11px; padding: .25rem .1rem; text-align: left; }
.heat th.size, .heat td { min-width: 1.35rem; }
svg { max-width: 100%; height: auto; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1.2rem; }
dt { color: #6b7280; } dd { margin: 0; overflow-wrap: anywhere; }
"""


def tag(name: str, text: str, **attributes: str) -> str:
    """An element; `text` is HTML, attributes are not."""
    shown = "".join(f' {key.rstrip("_")}="{escape(value)}"' for key, value in attributes.items())
    return f"<{name}{shown}>{text}</{name}>"


def row(cells: Iterable[str], name: str = "td") -> str:
    """A row of a table; cells are HTML, and whole elements stay as they are."""
    return tag("tr", "".join(c if c.startswith("<t") else tag(name, c) for c in cells))


def table(head: Iterable[str], rows: Iterable[str], **attributes: str) -> str:
    body = row(head, "th") + "".join(rows)
    return tag("div", tag("table", body, **attributes), class_="scroll")


def capitalized(text: str) -> str:
    return text[:1].upper() + text[1:]


def place_text(cell: dict[str, Any]) -> str:
    """Where in its mode a cell is: "1,500 from 1"."""
    if not cell["size"]:
        return ""
    at = f" from {cell['offset']}" if cell["offset"] else ""
    to = f" to {cell['to']}" if cell["to"] else ""
    return f"{show_bytes(cell['size'])}{at}{to}"


def work_title(name: str) -> str:
    return next(work.title for work in WORKS if work.name == name)


# --- On top ---


def losses(result: Result) -> str:
    """Every cell where the library loses, the worst first."""
    found = standings(result)
    lost = sorted((one for one in found if one.loses), key=lambda one: one.speedup[0])
    behind = sum(one.behind for one in found)
    near = f"{behind} more are slower by less than that."
    if not lost:
        text = f"No cell of {len(found)} is slower than its fastest peer by more than 5 %. {near}"
        return tag("div", text, class_="good", id="losses")
    groups: dict[tuple[str, str, str], list[Standing]] = {}
    for one in lost:
        groups.setdefault((one.cell["work"], one.cell["mode"], one.best), []).append(one)
    order = {work.name: place for place, work in enumerate(WORKS)}
    rows = [
        loss_row(result, *group, groups[group])
        for group in sorted(groups, key=lambda group: order[group[0]])
    ]
    head = ("work", "mode", "faster peer", "bytes, and the speed in that peer's")
    title = f"Where the library loses: {len(lost)} of {len(found)} cells"
    note = (
        f"<p>Slower than the fastest peer by more than 5 %; {near} <i>From</i> and <i>to</i> say "
        "how far behind the start of a page data and copy begin.</p>"
    )
    return tag(
        "div",
        tag("h2", title) + note + table(head, rows, class_="lefts"),
        class_="loss",
        id="losses",
    )


def loss_row(result: Result, work: str, mode: str, peer: str, ones: list[Standing]) -> str:
    """All places where one peer wins."""
    title = result["functions"][peer]["title"]
    places = " ".join(loss(result, one) for one in ones)
    return row([*(escape(text) for text in (work_title(work), mode, title)), places])


def loss(result: Result, one: Standing) -> str:
    cell = one.cell
    ours = next(work.ours for work in WORKS if work.name == cell["work"])
    median, low, high = one.speedup
    times = " and ".join(show_ns(cell["ns"][name][0]) for name in (ours, one.best))
    title = f"{times} ns; {median:.3f}, 95 % interval {low:.3f} to {high:.3f}"
    place = f"{escape(place_text(cell))} " if place_text(cell) else ""
    return tag("span", f"{place}<b>{median:.2f}&times;</b>", class_="lost", title=title)


def claim_table(result: Result) -> str:
    rows = []
    for claim in claims(result):
        if claim.value is None:
            state, value = tag("span", "not measured", class_="quiet"), "&ndash;"
        else:
            kept = claim.kept
            state = tag("span", "yes" if kept else "no", class_="kept" if kept else "broken")
            value = f"{claim.value:.2f}&times;"
        rows.append(row([escape(claim.text), f"{claim.wanted:.2f}&times;", value, state]))
    return table(("what the library is built for", "at least", "measured", "kept"), rows)


def absent(result: Result) -> str:
    parts = []
    if result["missing"]:
        rows = [
            row([escape(peer_title(result, one["peer"])), escape(one["reason"])])
            for one in result["missing"]
        ]
        shown = table(("peer", "reason"), rows, id="missing", class_="lefts")
        parts.append(tag("h3", "Missing") + shown)
    if result["wrong"]:
        rows = [row(wrong_cells(result, one)) for one in result["wrong"]]
        head = ("function", "", "what the oracle found")
        parts.append(tag("h3", "Wrong") + table(head, rows, id="wrong", class_="lefts"))
    return "".join(parts)


def wrong_cells(result: Result, one: dict[str, Any]) -> list[str]:
    known = result["functions"].get(one["function"])
    timed = f"timed below {show_bytes(one['limit'])} bytes" if one["limit"] > 65535 else "not timed"
    name = known["title"] if known else one["function"]
    text = escape(f"{show_bytes(one['limit'])} bytes: {one['text']}")
    return [escape(name), timed, text]


def peer_title(result: Result, name: str) -> str:
    return next((peer["title"] for peer in result["peers"] if peer["name"] == name), name)


# --- A work ---


def is_plain(cell: dict[str, Any]) -> bool:
    return cell["offset"] == 0 and cell["to"] == 0


def table_rows(cells: list[dict[str, Any]]) -> list[tuple[str, dict[str, Any]]]:
    """The cells that the table shows, and what it calls them."""
    plain = [cell for cell in cells if is_plain(cell)]
    rows = []
    for cell in plain:
        if cell["mode"] in ("hot", "latency") and cell["size"] not in TABLE_SIZES:
            continue
        name = show_bytes(cell["size"]) if cell["size"] else MIX_TITLES[cell["mode"]]
        suffix = ", latency" if cell["mode"] == "latency" else ""
        rows.append((name + suffix, cell))
    return rows


def time_cell(result: Result, cell: dict[str, Any], name: str) -> str:
    value = cell["ns"].get(name)
    if not value:
        return tag("td", "&ndash;", class_="floor")
    interval = f"{show_ns(value[1])} to {show_ns(value[2])}"
    won = name in winners(result, cell)
    look = "win" if won else "" if takes_part(result, name) else "floor"
    return tag("td", show_ns(value[0]), class_=look, title=interval)


def time_table(result: Result, names: list[str], rows: list[tuple[str, dict[str, Any]]]) -> str:
    """A row for each place, a column for each function, the winner bold."""
    functions = result["functions"]
    made = []
    for title, cell in rows:
        times = (time_cell(result, cell, name) for name in names)
        made.append(row([tag("td", escape(title)), *times]))
    head = ["bytes", *(escape(functions[name]["title"]) for name in names)]
    return table(head, made)


def heat_color(speed: float) -> str:
    """From red (half as fast) over white to blue (four times as fast)."""
    if speed < 1:
        part = min(1.0, (1 / speed - 1) * 1.6)
        return f"rgb(255,{255 - 150 * part:.0f},{255 - 150 * part:.0f})"
    part = min(1.0, (speed - 1) / 3)
    return f"rgb({255 - 140 * part:.0f},{255 - 75 * part:.0f},255)"


def heat_cell(result: Result, one: Standing | None) -> str:
    if not one:
        return "<td></td>"
    median, low, high = one.speedup
    best = result["functions"][one.best]["title"]
    title = f"{median:.3f} times the speed of {best}, {low:.3f} to {high:.3f}"
    style = f"background:{heat_color(median)}" + (
        ";font-weight:700;color:#b71c1c" if one.loses else ""
    )
    return tag("td", f"{median:.2f}" if median < 10 else f"{median:.0f}", style=style, title=title)


def heat_map(result: Result, cells: list[dict[str, Any]]) -> str:
    """Speed against the fastest peer: sizes across, modes and alignments down."""
    cells = [cell for cell in cells if cell["size"]]
    sizes = sorted({cell["size"] for cell in cells})
    lines: dict[tuple[str, int, int], dict[int, Standing | None]] = {}
    for cell in cells:
        key = (cell["mode"], cell["offset"], cell["to"])
        lines.setdefault(key, {})[cell["size"]] = standing(result, cell)
    copies = any(to for _, _, to in lines)
    rows = [
        row(
            [
                mode,
                f"{offset} to {to}" if copies else str(offset),
                *(heat_cell(result, line.get(size)) for size in sizes),
            ]
        )
        for (mode, offset, to), line in lines.items()
    ]
    head = ["mode", "at", *(tag("th", show_bytes(size), class_="size") for size in sizes)]
    return table(head, rows, class_="heat")


def byte_work(result: Result, work: Work, cells: list[dict[str, Any]], names: list[str]) -> str:
    parts = [tag("h2", escape(capitalized(work.title)))]
    for mode, title in (
        ("hot", "The same bytes again and again, and more than a packet has"),
        ("latency", "Latency: each call waits for the result of the last"),
    ):
        modes = (mode, "large") if mode == "hot" else (mode,)
        shown = [cell for cell in cells if cell["mode"] in modes and is_plain(cell)]
        if shown:
            parts.append(tag("h3", title))
            parts.append(plots.plot_sizes(shown, result["functions"]))
    parts.append(tag("h3", "Nanoseconds a call"))
    parts.append(
        "<p class='quiet'>Data starts at the start of a page. The winner is bold; what is grey "
        "does not take part.</p>"
    )
    parts.append(time_table(result, names, table_rows(cells)))
    parts.append(tag("h3", "Speed in that of the fastest peer, by size, alignment and mode"))
    parts.append(heat_map(result, cells))
    mixes = [(cell["mode"], standing(result, cell)) for cell in cells if not cell["size"]]
    rows = [
        row([escape(MIX_TITLES[mode]), heat_cell(result, one)])
        for mode, one in mixes
        if one is not None
    ]
    if rows:
        parts.append(table(("sizes that vary", "speed"), rows, class_="heat"))
    return "".join(parts)


def loop_work(result: Result, work: Work, cells: list[dict[str, Any]], names: list[str]) -> str:
    """Works without bytes: a row for each function."""
    rows = []
    for cell in cells:
        timed = [name for name in names if name in cell["ns"]]
        for name in sorted(timed, key=lambda name: cell["ns"][name][0]):
            function = result["functions"][name]
            speed = cell["speedup"].get(name)
            shown = (
                f"{speed[0]:.2f}&times; ({speed[1]:.2f} to {speed[2]:.2f})" if speed else "&ndash;"
            )
            time = time_cell(result, cell, name)
            rows.append(row([escape(function["title"]), time, shown]))
    head = ("", "ns", "its time in the library's")
    return tag("h2", escape(capitalized(work.title))) + table(head, rows)


def work_section(result: Result, work: Work) -> str:
    cells = [cell for cell in result["cells"] if cell["work"] == work.name]
    if not cells:
        return ""
    timed = {name for cell in cells for name in cell["ns"]}
    names = [name for name in result["functions"] if name in timed]
    has_bytes = any(cell["size"] for cell in cells)
    return (byte_work if has_bytes else loop_work)(result, work, cells, names)


# --- Captures, and how it was measured ---

TASKS = {
    "verify": "verify the checksums",
    "repair": "write a copy in which they are right",
    "read": "only read",
    "copy": "only copy",
}


def captures(result: Result) -> str:
    found = result["captures"]
    title = tag("h2", "Whole programs on a capture")
    if not found:
        return title + "<p class='quiet'>Not measured.</p>"
    rows = []
    for task, what in TASKS.items():
        programs = [one for one in found["programs"] if one["task"] == task]
        best = max((one.get("gb_per_s") or 0 for one in programs), default=0)
        for one in programs:
            speed = one.get("gb_per_s")
            look = "win" if speed and speed == best and task in ("verify", "repair") else ""
            cells = [
                tag("td", escape(what), class_="left"),
                tag("td", escape(one["program"]), class_="left"),
                tag("td", f"{speed:.3g}" if speed else "missing", class_=look),
                f"{one['peak_bytes'] / 1e6:.1f}" if one.get("peak_bytes") else "&ndash;",
            ]
            rows.append(row(cells))
    note = "<p class='quiet'>IMIX, in the page cache; programs as users start them.</p>"
    head = ("task", tag("th", "program", class_="left"), "GB/s", "peak memory, MB")
    return title + note + table(head, rows)


def provenance(result: Result) -> str:
    pairs = [("libcarry", result["libcarry"]), ("date", result["date"]), *result["machine"].items()]
    for process, notes in result["notes"].items():
        pairs += [(f"{process}: {key}", text) for key, text in notes.items()]
    shown = "".join(tag("dt", escape(key)) + tag("dd", escape(text)) for key, text in pairs)
    head = ("peer", "language", "from", "licence", "")
    keys = ("title", "language", "package", "licence", "homepage")
    rows = [row(escape(peer[key]) for key in keys) for peer in result["peers"]]
    peers = table(head, rows, class_="lefts")
    return tag("h2", "On what") + tag("dl", shown) + tag("h2", "Peers") + peers


def method(result: Result) -> str:
    how = result["method"]
    share = 100 * how["discarded"] / max(1, how["taken"])
    return tag("h2", "How") + (
        f"<p>Each language's peers are one process. In {how['starts']} starts of all processes, "
        f"{how['rounds']} rounds each, every function takes a sample of 0.1 ms in every cell, one "
        "after the other, another one first each time; every call is through a pointer. Times are "
        "medians; intervals are drawn over the starts, as code, stack and data lie elsewhere in "
        "each. Speeds are medians of quotients of samples taken one after the other. A loop of "
        "integers beside each sample notices a busy core or another clock: "
        f"{how['discarded']:,} of {how['taken']:,} samples ({share:.1f} %) were thrown away. "
        "Functions are compared with an oracle before; who is wrong on sizes of packets is not "
        "timed.</p>"
    )


def make_report(result: Result) -> str:
    machine = result["machine"]
    subtitle = f"{machine['cpu']}, {machine['kernel']}, {result['date']}"
    quick = (
        "<p class='broken'>A quick run: few cells and rounds.</p>"
        if result["method"]["quick"]
        else ""
    )
    parts = [
        tag("h1", "libcarry among its peers"),
        tag("p", escape(subtitle), class_="quiet"),
        *(quick, claim_table(result), losses(result), absent(result)),
        *(work_section(result, work) for work in WORKS),
        *(captures(result), method(result), provenance(result)),
    ]
    head = "<meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
    head += tag("title", "libcarry among its peers") + tag("style", STYLE)
    body = "\n".join(filter(None, parts))
    return f"<!DOCTYPE html>\n<html lang='en'><head>{head}</head><body>\n{body}\n</body></html>\n"


def write_report(result: Result, path: Path) -> None:
    path.write_text(make_report(result))
