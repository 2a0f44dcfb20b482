# SPDX-License-Identifier: MIT
"""Writes and reads results. These contain:

    format      2
    date        UTC
    libcarry    version and revision
    machine     name -> text
    notes       process -> key -> text: compilers, flags, versions
    method      starts, rounds, quick; the numbers of samples that were taken, discarded, and kept
                although the function lowers the clock (lowered)
    peers       rows of the table of peers
    functions   name -> {peer, title, work, kind}; kind: ours, peer, floor, bound
    missing     [{peer, reason}]
    wrong       [{function, limit, text}]: not timed on `limit` bytes and more
    captures    the result of `carry bench capture`, or null
    cells       [{work, mode, size, offset, to, ns, speedup, clock}]

In a cell, `ns` and `speedup` map functions to [median, low, high]; low and high are the ends of the
95 % interval. `speedup` is a function's time, divided by the library's time. `clock` maps
functions to the time of the canary beside them, divided by its time beside an empty function: 1.5
means that everything beside the function takes 1.5 times as long. A cell whose mode has other work
between the calls also has `above`: by function, [median, low, high] of the time that a call adds to
that work.

In the file, a cell is [work, mode, size, offset, to, values, clocks, above]. For each function of
the work, in the order of `functions`, values has [*ns, *speedup], [*ns] or null; clocks has a
number or null; above, which may be absent, has an interval or null.

Format 1 had no clocks, and `discarded` included all samples beside a slow canary.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure.plan import OURS, TOLERANCE
from measure.shape import (
    Each,
    Maybe,
    Shape,
    is_amount,
    is_amount_if_any,
    is_count,
    is_difference,
    is_flag,
    is_text,
    misfit,
)

FORMAT, WITHOUT_CLOCKS = 2, 1
LOSES_BELOW = 0.95
CYCLE_NS = 0.3  # a clock cycle, about
LEVEL_NS = 0.1  # times below a cycle are equal if they differ by no more than this

Result = dict[str, Any]


class ResultError(Exception):
    """Reports that a file is not a result."""


# --- Writing and reading ---

PLACE = ("work", "mode", "size", "offset", "to")


def functions_of(result: Result, work: str) -> list[str]:
    return [name for name, row in result["functions"].items() if row["work"] == work]


def pack(result: Result, cell: dict[str, Any]) -> list[Any]:
    """Returns a cell in the form of the file."""
    values = [
        [*cell["ns"][name], *cell["speedup"].get(name, ())] if name in cell["ns"] else None
        for name in functions_of(result, cell["work"])
    ]
    packed = [*(cell[key] for key in PLACE), values]
    if result["format"] == WITHOUT_CLOCKS:
        return packed
    more = [cell[kind] for kind in ("clock", "above") if kind in cell]
    names = functions_of(result, cell["work"])
    return [*packed, *([values.get(name) for name in names] for values in more)]


def unpack(result: Result, packed: list[Any]) -> dict[str, Any]:
    place, (values, *more) = packed[: len(PLACE)], packed[len(PLACE) :]
    cell = dict(zip(PLACE, place, strict=True))
    names = functions_of(result, cell["work"])
    pairs = list(zip(names, values, strict=True))
    cell["ns"] = {name: value[:3] for name, value in pairs if value}
    cell["speedup"] = {name: value[3:] for name, value in pairs if value and len(value) > 3}
    cell["clock"] = {}
    for kind, found in zip(("clock", "above"), more, strict=False):
        pairs = list(zip(names, found, strict=True))
        cell[kind] = {name: value for name, value in pairs if value is not None}
    return cell


def dump(result: Result) -> str:
    """Returns JSON with a line for each cell, so that two results can be compared."""
    parts = []
    for key, value in result.items():
        if key == "cells":
            packed = (pack(result, cell) for cell in value)
            rows = ",\n".join(json.dumps(cell, separators=(",", ":")) for cell in packed)
            parts.append(f' "cells": [\n{rows}\n ]')
        else:
            text = json.dumps(value, indent=1, ensure_ascii=False).replace("\n", "\n ")
            parts.append(f' "{key}": {text}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


KINDS = ("ours", "peer", "bound", "floor")


def is_estimate(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(map(is_amount, value))


def is_measured(value: object) -> bool:
    """Returns whether a value of a function holds times and speeds, only times, or nothing."""
    if value is None:
        return True
    return isinstance(value, list) and (
        is_estimate(value) or (is_estimate(value[:3]) and is_estimate(value[3:]))
    )


def is_place(value: list[object]) -> bool:
    return all(map(is_text, value[:2])) and all(map(is_count, value[2:]))


def is_clocks(value: object) -> bool:
    return isinstance(value, list) and all(clock is None or is_amount(clock) for clock in value)


def is_above(value: object) -> bool:
    """Returns whether a value is a list of intervals. They may be negative, since calls overlap
    other work."""
    return isinstance(value, list) and all(
        one is None or (isinstance(one, list) and len(one) == 3 and all(map(is_difference, one)))
        for one in value
    )


def is_packed(value: object) -> bool:
    if not isinstance(value, list) or not 1 <= len(value) - len(PLACE) <= 3:
        return False
    place, (values, *more) = value[: len(PLACE)], value[len(PLACE) :]
    measured = isinstance(values, list) and all(map(is_measured, values))
    judges = zip((is_clocks, is_above), more, strict=False)
    return is_place(place) and measured and all(judge(one) for judge, one in judges)


SHAPE: dict[str, Shape] = {
    "format": is_count,
    "date": is_text,
    "libcarry": is_text,
    "machine": (Each(is_text), dict.fromkeys(("cpu", "hypervisor", "kernel"), is_text)),
    "notes": Each(Each(is_text)),
    "method": {
        **{"starts": is_count, "rounds": is_count, "quick": is_flag},
        **{"taken": is_count, "discarded": is_count},
    },
    "peers": [
        dict.fromkeys(("name", "title", "language", "package", "licence", "homepage"), is_text)
    ],
    "functions": Each(
        {"peer": is_text, "title": is_text, "work": is_text, "kind": KINDS.__contains__}
    ),
    "missing": [{"peer": is_text, "reason": is_text}],
    "wrong": [{"function": is_text, "limit": is_count, "text": is_text}],
    "cells": [is_packed],
    "captures": Maybe(
        {
            "programs": [
                {
                    **{"program": is_text, "task": is_text},
                    **dict.fromkeys(("gb_per_s", "bytes", "peak_bytes"), is_amount_if_any),
                }
            ]
        }
    ),
}


def read(path: Path) -> Result:
    try:
        result = json.loads(path.read_text())
    except OSError as error:
        raise ResultError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ResultError(f"{path}: is no JSON: {error}") from error
    wrong = misfit(result, SHAPE)
    if wrong is not None:
        raise ResultError(f"{path}: is no result: wrong or missing: {wrong or 'an object'}")
    if result["format"] not in (FORMAT, WITHOUT_CLOCKS):
        raise ResultError(f"{path}: has format {result['format']}, not {FORMAT}")
    try:
        result["cells"] = [unpack(result, packed) for packed in result["cells"]]
    except ValueError as error:
        raise ResultError(f"{path}: a cell has not a value for each function") from error
    return result


# --- Questions ---


def discarded_share(result: Result) -> float:
    return result["method"]["discarded"] / max(1, result["method"]["taken"])


def lowers_clock(cell: dict[str, Any], name: str) -> bool:
    return cell["clock"].get(name, 1.0) > TOLERANCE


def unmeasured(result: Result) -> list[dict[str, Any]]:
    """Returns the cells in which the library has no time."""
    return [
        cell
        for cell in result["cells"]
        if OURS[cell["work"]] in result["functions"] and OURS[cell["work"]] not in cell["ns"]
    ]


def takes_part(result: Result, name: str) -> bool:
    """Returns whether a function is compared: it is a peer's, or the judged function of the
    library."""
    function = result["functions"][name]
    return function["kind"] == "peer" or OURS.get(function["work"]) == name


def winners(result: Result, cell: dict[str, Any]) -> set[str]:
    """Returns the fastest functions that are compared; several if their times are equal."""
    times = {name: value[0] for name, value in cell["ns"].items() if takes_part(result, name)}
    return {name for name, time in times.items() if time == min(times.values())}


def fastest(cells: Iterable[dict[str, Any]], names: Container[str]) -> list[str]:
    """Returns the function of `names` that is fastest in the most cells, or no function if none
    has a time."""
    wins: Counter[str] = Counter()
    for cell in cells:
        times = [(value[0], name) for name, value in cell["ns"].items() if name in names]
        wins.update(name for _, name in sorted(times)[:1])
    return [name for name, _ in wins.most_common(1)]


def language_of(result: Result, name: str) -> str:
    """Returns the language whose process calls a function."""
    own = result["functions"][name]["peer"]
    return next((peer["language"] for peer in result["peers"] if peer["name"] == own), "")


def floor_of(result: Result, cell: dict[str, Any], name: str) -> float | None:
    """Returns the time of an empty function in the process that calls the function."""
    language = language_of(result, name)
    for floor, row in result["functions"].items():
        if row["kind"] == "floor" and floor.endswith(f"@{language}") and floor in cell["ns"]:
            return cell["ns"][floor][0]
    return None


def is_level(one: float, other: float) -> bool:
    """Returns whether two times are below a clock cycle, and too close to be compared."""
    return max(one, other) < CYCLE_NS and abs(one - other) <= LEVEL_NS


@dataclass(frozen=True)
class Standing:
    """The library against the best peer, in a cell."""

    cell: dict[str, Any]
    best: str  # the fastest peer
    speedup: tuple[float, float, float]

    @property
    def is_level(self) -> bool:
        """Returns whether both times are below a clock cycle, and about equal."""
        times = self.cell["ns"]
        return is_level(times[OURS[self.cell["work"]]][0], times[self.best][0])

    @property
    def speed(self) -> float:
        """Returns the speed by which the library is judged."""
        return 1.0 if self.is_level else self.speedup[0]

    @property
    def loses(self) -> bool:
        """Returns whether the best peer is faster by more than noise and a twentieth."""
        return self.speed < LOSES_BELOW and self.speedup[2] < 1

    @property
    def behind(self) -> bool:
        return self.speedup[2] < 1 and not self.is_level and not self.loses


def standing(result: Result, cell: dict[str, Any]) -> Standing | None:
    """Compares the library with the fastest peer; returns None if no peer has a speedup."""
    kinds = {name: row["kind"] for name, row in result["functions"].items()}
    peers = [name for name in cell["speedup"] if kinds[name] == "peer"]
    if not peers:
        return None
    best = min(peers, key=lambda name: (cell["ns"][name][0], name))
    return Standing(cell, best, tuple(cell["speedup"][best]))


def standings(result: Result) -> list[Standing]:
    found = (standing(result, cell) for cell in result["cells"])
    return [one for one in found if one]
