# SPDX-License-Identifier: MIT
"""Makes the result of an audit: as a few lines, as JSON, and as an exit status."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .. import _carry
from . import tasks, words
from .overview import Overview, rate, worst_folders

CAUSES_SHOWN = 3
NAMES_SHOWN = 3


def headline(overview: Overview) -> str:
    """Returns the outcome of all captures."""
    parts = [words.outcome(overview.verdicts, overview.packets)]
    return "; ".join([*parts, *words.remainders(overview.statuses)])


def _first_line(overview: Overview) -> str:
    captures = words.counted(overview.captures, "capture")
    packets = words.counted(overview.packets, "packet")
    return f"{captures}, {packets}, {words.size(overview.bytes)}: {headline(overview)}"


def _rate(overview: Overview) -> Iterator[str]:
    share = rate(overview.verdicts)
    if share is not None:
        yield f"corruption rate: {words.percent(share)} of checksums that are good or bad are bad"


def causes(overview: Overview) -> list[tuple[str, str | None, int]]:
    """Returns verdict, cause and number of checksums. Counts bad and partial checksums, and illegal
    ones whose cause is known. The order is: bad, illegal, partial; within a verdict the most
    frequent cause first, and no cause last."""
    sums: dict[tuple[str, str | None], int] = {}
    for (_, verdict, _, cause), number in overview.counts.items():
        if number and (cause or verdict in ("bad", "partial")):
            sums[verdict, cause] = sums.get((verdict, cause), 0) + number
    found = [(verdict, cause, number) for (verdict, cause), number in sums.items()]
    return sorted(found, key=lambda each: (each[0], each[1] is None, -each[2], each[1] or ""))


def _causes(overview: Overview) -> Iterator[str]:
    shown = [each for each in causes(overview) if each[0] != "partial" and each[1]][:CAUSES_SHOWN]
    if shown:
        parts = (
            f"{number:,} {words.cause_words(cause or '', number)}" for _, cause, number in shown
        )
        yield f"why: {'; '.join(parts)}"


def _worst(overview: Overview) -> Iterator[str]:
    """Yields a line about the folder with the most wrong checksums, if there are several folders,
    and a line about the sender with the most checksums in findings, if there is any sender."""
    if overview.wrong and len(overview.folders) > 1:
        name = worst_folders(overview)[0]
        wrong = words.counted(overview.folders[name].wrong, "wrong checksum")
        yield f"worst folder: {words.plain(name) or '(none)'}, {wrong}"
    if overview.senders:
        sender = overview.senders[0]
        captures = words.counted(sender.captures, "capture")
        address = words.plain(sender.address or "(no address)")
        yield f"worst sender: {address}, {sender.checksums:,} in findings of {captures}"


def reasons(overview: Overview) -> dict[str, int]:
    """Returns the numbers of unverifiable checksums by reason, the most frequent reason first."""
    sums: dict[str, int] = {}
    for (_, verdict, reason, _), number in overview.counts.items():
        if verdict == "unverifiable" and reason:
            sums[reason] = sums.get(reason, 0) + number
    return dict(sorted(sums.items(), key=lambda each: (-each[1], each[0])))


def _unverifiable(overview: Overview) -> Iterator[str]:
    parts = [
        f"{number:,} {words.REASON_WORDS.get(reason, reason)}"
        for reason, number in reasons(overview).items()
    ]
    if parts:
        yield f"could not be verified: {', '.join(parts)}"


def _not_clean(overview: Overview) -> Iterator[str]:
    number = overview.captures - overview.statuses["clean"]
    names = [words.plain(row["file"]) for row in overview.worst[:NAMES_SHOWN]]
    if names:
        more = f" and {number - len(names):,} more" if number > len(names) else ""
        yield f"not clean: {', '.join(names)}{more}"


def text(overview: Overview) -> str:
    lines = [_first_line(overview), *_rate(overview), *_causes(overview), *_worst(overview)]
    return "\n".join([*lines, *_unverifiable(overview), *_not_clean(overview), ""])


def to_dict(overview: Overview) -> dict[str, Any]:
    """Returns the object that `carry audit --json` prints."""
    verdicts = overview.verdicts
    return {
        "schema": 1,
        "tables": words.public(overview.destination),
        "captures": overview.captures,
        "packets": overview.packets,
        "bytes": overview.bytes,
        "statuses": {name: number for name, number in sorted(overview.statuses.items()) if number},
        "verdicts": {name: verdicts[name] for name in _carry.VERDICTS},
        "corruption_rate": rate(verdicts),
        "causes": [
            {"verdict": verdict, "cause": cause, "checksums": number}
            for verdict, cause, number in causes(overview)
        ],
        "outcome": headline(overview),
    }


def exit_status(overview: Overview) -> int:
    """Returns the status of the worst capture. A file that is not a capture counts only if it has
    the name of a capture."""
    found = [tasks.GRAVITY[status] for status in overview.statuses if status in tasks.GRAVITY]
    return max([*found, tasks.DAMAGED if overview.misnamed else tasks.CLEAN])
