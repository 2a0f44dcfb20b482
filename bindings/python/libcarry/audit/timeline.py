# SPDX-License-Identifier: MIT
"""Draws verdicts over time: two bar charts like the charts on the page of captures, and a table."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Sequence

from . import markup, words
from .overview import Overview, rate

# The verdicts from the bottom of a bar upwards.
ORDER = ("bad", "illegal", "partial", "absent", "good")

_STEPS = {
    "minute": datetime.timedelta(minutes=1),
    "hour": datetime.timedelta(hours=1),
    "day": datetime.timedelta(days=1),
}
_FORMATS = {"minute": "%Y-%m-%dT%H:%MZ", "hour": "%Y-%m-%dT%HZ", "day": "%Y-%m-%d"}
_FORMATS |= {"month": "%Y-%m", "year": "%Y"}


def _next(time: datetime.datetime, unit: str) -> datetime.datetime:
    if unit in _STEPS:
        return time + _STEPS[unit]
    if unit == "month" and time.month < 12:
        return time.replace(month=time.month + 1)
    return time.replace(year=time.year + 1, month=1)


def _spans(overview: Overview) -> list[datetime.datetime]:
    """Returns the starts of all spans, including spans in which no capture begins."""
    starts = sorted(overview.spans)
    spans = starts[:1]
    while spans and spans[-1] < starts[-1]:
        spans.append(_next(spans[-1], overview.unit))
    return spans


def _bar(verdicts: Counter[str], place: int, shown: Sequence[str], most: int) -> str:
    """Returns a bar with its height in percent of the tallest bar."""
    base, bars = 100.0, ""
    for verdict in shown:
        height = 100 * verdicts[verdict] / most
        base -= height
        if height:
            bars += (
                f'<rect class="fill-{markup.CLASSES[verdict]}" x="{place}.08" y="{base:.2f}" '
                f'width=".84" height="{height:.2f}"/>\n'
            )
    return bars


def _chart(
    overview: Overview, spans: Sequence[datetime.datetime], shown: Sequence[str], what: str
) -> str:
    counts = [overview.spans.get(span, Counter()) for span in spans]
    most = max(sum(each[verdict] for verdict in shown) for each in counts)
    if not most:
        return ""
    size = "many" if len(shown) > len(words.WRONG) else "few"
    article = "an" if overview.unit == "hour" else "a"
    bars = "".join(_bar(each, place, shown, most) for place, each in enumerate(counts))
    return (
        markup.faint(f"{what}: at most {most:,} in {article} {overview.unit}")
        + f'<svg role="img" aria-label="{what} over time; the numbers are in the table below" '
        + f'class="{size}" viewBox="0 0 {len(spans)} 100" preserveAspectRatio="none">\n'
        + f"{bars}</svg>\n"
    )


def _legend(shown: Sequence[str]) -> str:
    squares = (
        f'<span class="{markup.CLASSES[verdict]}">&#9632; {verdict}</span>'
        for verdict in reversed(shown)
    )
    return markup.paragraph("".join(squares), "legend")


def _numbers(overview: Overview, shown: Sequence[str]) -> str:
    def row(title: str, verdicts: Counter[str]) -> str:
        cells = "".join(markup.number(verdicts[verdict]) for verdict in reversed(shown))
        return markup.head(title) + cells + markup.cell(words.percent(rate(verdicts)), "number")

    rows = [row(_title(overview, span), each) for span, each in sorted(overview.spans.items())]
    if overview.timeless:
        rows.append(row("no time", overview.timeless))
    heads = [overview.unit, *(f"#{verdict}" for verdict in reversed(shown)), "#corruption rate"]
    caption = f"Checksums by the {overview.unit} in which their captures begin, in UTC"
    table = markup.table(caption, heads, rows)
    return f"<details>\n<summary>The same in numbers</summary>\n{table}</details>\n"


def _title(overview: Overview, span: datetime.datetime) -> str:
    # Not strftime("%Y"): C libraries differ in whether they pad years before 1000.
    return span.strftime(_FORMATS[overview.unit].replace("%Y", f"{span.year:04}"))


def _timeless(overview: Overview) -> str:
    """Returns a note on captures that no bar contains, or no text if there are none."""
    number = overview.timeless_captures
    if not number:
        return ""
    verb = "says" if number == 1 else "say"
    checksums = words.counted(sum(overview.timeless.values()), "checksum")
    return markup.faint(
        f"Not in the charts: {words.counted(number, 'capture')} that {verb} no time, with "
        f"{checksums}."
    )


def section(overview: Overview) -> str:
    spans = _spans(overview)
    if not spans:
        return ""
    verdicts = overview.verdicts
    shown = [verdict for verdict in ORDER if verdicts[verdict]]
    wrong = [verdict for verdict in shown if verdict in words.WRONG]
    ends = f"<span>{_title(overview, spans[0])}</span><span>{_title(overview, spans[-1])}</span>"
    charts = ""
    if shown and len(spans) > 1:
        charts += _legend(shown) + _chart(overview, spans, shown, "Checksums")
        charts += _chart(overview, spans, wrong, "Wrong checksums") if wrong else ""
        charts += markup.paragraph(ends, "ends faint")
    note = markup.faint("A capture counts where its first packet lies.")
    parts = (note, charts, _timeless(overview), _numbers(overview, shown))
    return markup.section("time", "Over time", *parts, kind="chart")
