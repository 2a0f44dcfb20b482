# SPDX-License-Identifier: MIT
"""Writes the report: one HTML file that loads no other file."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

from measure import plots
from measure.claims import claims, noisy, unknown
from measure.clock import clock_section
from measure.files import write_whole
from measure.html import capitalized, quiet, row, table, tag
from measure.losses import losses, tally
from measure.plan import TOLERANCE, WORKS, Work
from measure.result import Result, discarded_share, unmeasured
from measure.tables import beside_table, heat_map, is_plain, loop_table, time_tables
from measure.text import LANGUAGE_TITLES, join, show_bytes, show_ns, show_speed

STYLE = Path(__file__).with_name("report.css")

# --- The head ---


def judged(result: Result) -> str:
    return join(list(dict.fromkeys(w.api for w in WORKS if w.ours in result["functions"])))


def floors(result: Result) -> str:
    """Returns the times of empty calls, by language: the medians of their cells."""
    found = []
    for name, function in result["functions"].items():
        if function["work"] != "sum" or function["kind"] != "floor":
            continue
        times = sorted(cell["ns"][name][0] for cell in result["cells"] if name in cell["ns"])
        language = name.partition("@")[2]
        if times:
            title = LANGUAGE_TITLES.get(language, language)
            found.append(f"{title} {show_ns(times[len(times) // 2])}")
    return f" ({', '.join(found)} ns)" if found else ""


def compilers(notes: dict[str, str]) -> str:
    """Returns the compilers and flags of a process; flags of peers are shown with the peers."""
    keys = [key for key in notes if key == "compiler" or key.startswith("compiler-")]
    flags = [notes["flags"]] if notes.get("flags") else []
    return "; ".join([*(notes[key] for key in keys), *flags])


def facts(result: Result) -> str:
    machine, how = dict(result["machine"]), result["method"]
    share = 100 * discarded_share(result)
    cpu = machine.pop("cpu")
    details = [f"{key} {text}" for key, text in machine.items()]
    rows = {
        "judged": (
            f"{judged(result)}: what programs call, with its jump patched by carry_patch_apply(). "
            "Each function is called through a pointer, or is a loop"
        ),
        "floor": (
            "the time of a call of an empty function through the same pointer"
            f"{floors(result)}; every time here contains it"
        ),
        "machine": "; ".join([cpu, *details]),
        "date": result["date"],
        "libcarry": "; ".join(filter(None, (result["libcarry"], compilers(library_notes(result))))),
        **{
            f"peers, {LANGUAGE_TITLES.get(name, name)}": compilers(notes)
            for name, notes in result["notes"].items()
            if name != "libcarry" and compilers(notes)
        },
        "thrown away": (
            f"{how['discarded']:,} of {how['taken']:,} samples ({share:.1f} %): a loop of integers "
            f"beside them took over {100 * (TOLERANCE - 1):.0f} % longer than usual, so "
            "other work used the core, or its clock changed"
        ),
        **lowered(how),
    }
    return tag("dl", "".join(tag("dt", key) + tag("dd", escape(rows[key])) for key in rows))


def lowered(how: dict[str, Any]) -> dict[str, str]:
    if not how.get("lowered"):
        return {}
    text = "samples beside a lower clock, as the function itself lowers it"
    return {"kept": f"{how['lowered']:,} {text}"}


def library_notes(result: Result) -> dict[str, str]:
    return result["notes"].get("libcarry", {})


NOT_MEASURED = tag("span", "not measured", class_="broken")


def claim_table(result: Result) -> str:
    rows = []
    for claim in claims(result):
        if claim.value is None:
            state, value = tag("span", "unknown", class_="broken"), NOT_MEASURED
        else:
            kept = claim.kept
            state = tag("span", "yes" if kept else "no", class_="kept" if kept else "broken")
            value = f"{show_speed(claim.value)}&times;"
        rows.append(row([escape(claim.text), f"{claim.wanted:.2f}&times;", value, state]))
    return table(("speed", "at least", "measured", "kept"), rows)


def no_headlines(result: Result) -> list[str]:
    """Returns texts about headlines and cells that could not be measured."""
    texts = [f"Not measured: {text}." for text in unknown(claims(result))]
    if cells := len(unmeasured(result)):
        texts.append(f"The library has no time in {cells} of {len(result['cells'])} cells.")
    return texts


def too_noisy(result: Result) -> list[str]:
    """Returns a text about headlines whose intervals are too wide because of noise."""
    headlines = noisy(claims(result))
    if not headlines:
        return []
    share = f"{100 * discarded_share(result):.0f} % of the samples were thrown away"
    return [
        "This machine was too noisy for some headlines, whose 95 % intervals are wider than a "
        f"tenth of the speed ({share}). {'; '.join(headlines)}."
    ]


def doubts(result: Result) -> list[str]:
    """Returns reasons to doubt the report, the worst first."""
    texts = [*too_noisy(result), *no_headlines(result)]
    if result["method"]["quick"]:
        texts.append("A quick run: few cells and rounds.")
    if missing := len(result["missing"]):
        texts.append(f"Missing peers: {missing}. What follows is against the others.")
    return texts


def warnings(result: Result) -> str:
    texts = doubts(result)
    shown = "".join(tag("p", escape(text)) for text in texts)
    return tag("div", shown, class_="doubts broken", id="doubts") if texts else ""


def absent(result: Result) -> str:
    parts = []
    if result["missing"]:
        alike: dict[str, list[str]] = {}
        for one in result["missing"]:
            alike.setdefault(one["reason"], []).append(peer_title(result, one["peer"]))
        rows = [row([escape(join(names)), escape(reason)]) for reason, names in alike.items()]
        shown = table(("peers", "reason"), rows, id="missing", class_="lefts")
        parts.append(tag("h2", "Missing") + shown)
    if result["wrong"]:
        head = ("functions", "", "what the oracle found")
        shown = table(head, wrong_rows(result), id="wrong", class_="lefts")
        parts.append(tag("h2", "Wrong") + shown)
    return "".join(parts)


def wrong_rows(result: Result) -> list[str]:
    """Returns a row for each kind of error, with all functions that have it."""
    alike: dict[tuple[int, str], list[str]] = {}
    for one in result["wrong"]:
        name = function_title(result, one["function"])
        alike.setdefault((one["limit"], one["text"]), []).append(name)
    rows = []
    for (limit, text), names in alike.items():
        size = show_bytes(limit)
        timed = f"timed below {size} bytes" if limit > 65535 else "not timed"
        found = f"{size} bytes: {text}" if limit else text
        rows.append(row([escape(join(names)), timed, escape(found)]))
    return rows


def function_title(result: Result, name: str) -> str:
    """Returns the title of a function, also of one that was not timed and is not in the result."""
    if name in result["functions"]:
        return result["functions"][name]["title"]
    peer, _, variant = name.partition("/")
    return ", ".join(filter(None, (peer_title(result, peer), variant)))


def peer_title(result: Result, name: str) -> str:
    return next((peer["title"] for peer in result["peers"] if peer["name"] == name), name)


# --- The section of a work ---

PLOTS = {
    "hot": "The same bytes again and again",
    "latency": "Latency: each call waits for the result of the last",
}


def byte_work(result: Result, work: Work, cells: list[dict[str, Any]]) -> str:
    parts = []
    for mode, title in PLOTS.items():
        shown = [cell for cell in cells if cell["mode"] == mode and is_plain(cell)]
        if shown:
            parts.append(tag("h3", title) + plots.plot_sizes(result, shown, work.ours))
    tables = (time_tables(result, cells), beside_table(result, cells), heat_map(result, cells))
    return "".join([*parts, *tables])


def work_section(result: Result, work: Work) -> str:
    cells = [cell for cell in result["cells"] if cell["work"] == work.name]
    if not cells:
        return ""
    has_bytes = any(cell["size"] for cell in cells)
    title = tag("h2", escape(capitalized(work.title)), id=work.name)
    return title + (byte_work(result, work, cells) if has_bytes else loop_table(result, cells))


# --- Captures and method ---

TASKS = {
    "verify": "verify the checksums",
    "repair": "write a copy in which they are right",
    "read": "only read",
    "copy": "only copy",
}


def captures(result: Result) -> str:
    found = result["captures"]
    title = tag("h2", "Whole programs on a capture", id="captures")
    if not found:
        return title + quiet("Not measured.")
    rows = []
    for task, what in TASKS.items():
        programs = [one for one in found["programs"] if one["task"] == task]
        best = max((one.get("gb_per_s") or 0 for one in programs), default=0)
        for place, one in enumerate(programs):
            speed = one.get("gb_per_s")
            look = "win" if speed and speed == best and task in ("verify", "repair") else ""
            cells = [
                tag("td", escape(what) if not place else "", class_="left"),
                tag("td", escape(one["program"]), class_="left"),
                tag("td", f"{speed:.3g}" if speed else "missing", class_=look),
                *(
                    f"{one[key] / 1e6:,.1f}" if one.get(key) else "&ndash;"
                    for key in ("bytes", "peak_bytes")
                ),
            ]
            rows.append(row(cells))
    note = quiet(
        "IMIX, in the page cache; programs as users start them, slow ones on a shorter capture."
    )
    head = (
        tag("th", "task"),
        tag("th", "program", class_="left"),
        "GB/s",
        "of MB",
        "peak memory, MB",
    )
    return title + note + table(head, rows)


def method(result: Result) -> str:
    how = result["method"]
    return tag("h2", "How", id="how") + (
        f"<p>Each language's peers are one process. In {how['starts']} starts of all processes, "
        f"{how['rounds']} rounds each, every function takes a sample of 0.1 ms in every cell, one "
        "after the other, another one first each time; every call is through a pointer. Times are "
        "medians; intervals (95 %) are drawn over the starts, as code, stack and data lie "
        "elsewhere in each. Speeds are medians of quotients of samples taken one after the other: "
        "2 is twice as fast. Before each sample the empty function runs, with the canary beside "
        "it: a loop of integers. Where that is slow, other work used the core, and the sample "
        "is discarded. Where it is slow beside one function only, time and again, that function "
        "lowers the clock, and the sample is kept. "
        "Before, functions are compared with an oracle; a function that is wrong on sizes "
        "of packets is not timed.</p>"
    )


def own_notes(notes: dict[str, str], kind: str, name: str) -> str:
    """Returns the notes on a peer, and on its functions with notes of their own."""
    lines = [notes[f"{kind}-{name}"]] if f"{kind}-{name}" in notes else []
    for key, text in notes.items():
        if key.startswith(f"{kind}-{name}/"):
            lines.append(f"{key.partition('/')[2]}: {text}")
    return "<br>".join(map(escape, lines))


def peers(result: Result) -> str:
    """Returns a table of the peers outside this tree, with the version and flags of each."""
    rows = []
    for peer in result["peers"]:
        if peer["package"] == "this tree":
            continue
        notes = result["notes"].get(peer["language"], {})
        language = LANGUAGE_TITLES.get(peer["language"], peer["language"])
        home = f"<br>{quiet_span(peer['homepage'])}" if peer["homepage"] else ""
        rows.append(
            row(
                [
                    *(escape(peer["title"]), escape(language), escape(peer["package"]) + home),
                    *(own_notes(notes, kind, peer["name"]) for kind in ("version", "flags")),
                    escape(peer["licence"]),
                ]
            )
        )
    head = ("peer", "language", "from", "version", "flags of its own", "licence")
    return tag("h2", "Peers", id="peers") + table(head, rows, class_="lefts")


def quiet_span(text: str) -> str:
    return tag("span", escape(text), class_="quiet")


def navigation(result: Result) -> str:
    measured = {cell["work"] for cell in result["cells"]}
    places = {
        "losses": "what is lost",
        "clock": "the clock",
        **{work.name: work.title for work in WORKS if work.name in measured},
        **{"captures": "captures", "how": "how", "peers": "peers"},
    }
    links = (tag("a", escape(title), href=f"#{place}") for place, title in places.items())
    return tag("nav", " ".join(links))


def make_report(result: Result) -> str:
    parts = [
        tag("h1", "libcarry among its peers"),
        *(warnings(result), facts(result), navigation(result)),
        tag("h2", "What the library is built for") + claim_table(result),
        tag("h2", "Against the fastest peer of each cell") + tally(result),
        *(losses(result), clock_section(result), absent(result)),
        *(work_section(result, work) for work in WORKS),
        *(captures(result), method(result), peers(result)),
    ]
    head = "<meta charset='utf-8'><meta name='viewport' content='width=device-width'>"
    head += tag("title", "libcarry among its peers") + tag("style", STYLE.read_text())
    body = "\n".join(filter(None, parts))
    return f"<!DOCTYPE html>\n<html lang='en'><head>{head}</head><body>\n{body}\n</body></html>\n"


def write_report(result: Result, path: Path) -> None:
    write_whole(path, make_report(result))
