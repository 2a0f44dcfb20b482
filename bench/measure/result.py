# SPDX-License-Identifier: MIT
"""The result: what it holds, how it is made of samples, how it is written and read.

    format      1
    date        UTC
    libcarry    version and revision
    machine     name -> text
    notes       process -> key -> text: compilers, flags, versions
    method      starts, rounds, sample_us, taken, discarded, quick
    peers       rows of the table whose functions were timed
    functions   name -> {peer, title, work, kind}; kind: ours, peer, floor, bound
    missing     [{peer, reason}]
    wrong       [{function, limit, text}]: not timed on `limit` bytes and more
    cells       [{work, mode, size, offset, to, ns, speedup}]
    captures    what `carry bench capture` says, or null

Of a cell `ns` and `speedup` map functions to [median, low, high]; low and high are the ends of its
95 % interval. `speedup` is the time of a peer in that of the library.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure.measure import Samples, Subject
from measure.peers import Peer, peer_name
from measure.plan import OURS, Cell
from measure.process import Function
from measure.stats import Estimate, estimate, speedup

FORMAT = 1
LOSES_BELOW = 0.95

Result = dict[str, Any]


class ResultError(Exception):
    """A file is no result."""


# --- Making one ---


def rounded(values: Estimate) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


def kind_of(function: Function, peer: Peer | None) -> str:
    if not function.is_peer:
        return "floor" if "floor" in function.flags else "bound"
    return "ours" if peer and peer.ours else "peer"


TITLES = {"floor": "empty function", "load": "load bound", "direct": "direct call"}


def describe_functions(subjects: list[Subject], peers: dict[str, Peer]) -> dict[str, Any]:
    described = {}
    for subject in subjects:
        function = subject.function
        peer = peers.get(peer_name(function.name))
        kind = kind_of(function, peer)
        title = peer.titles.get(function.name, peer.title) if peer else TITLES.get(function.name)
        if peer and function.name != peer.name and function.name not in peer.titles:
            title = f"{peer.title}, {function.name.split('/', 1)[1]}"
        if kind == "floor":
            title = f"empty function, {subject.lane.name}"
        described[subject.name] = {
            "peer": peer_name(function.name),
            "title": title or function.name,
            "work": function.work,
            "kind": kind,
        }
    return described


def make_cell(
    cell: Cell, index: int, subjects: list[Subject], samples: Samples, ours: int | None
) -> dict[str, Any]:
    made: dict[str, Any] = {
        **{"work": cell.work, "mode": cell.mode, "size": cell.size},
        **{"offset": cell.offset, "to": cell.to, "ns": {}, "speedup": {}},
    }
    for number, subject in enumerate(subjects):
        times = estimate(samples.ns[index, number])
        if times:
            made["ns"][subject.name] = rounded(times)
        if times and ours is not None and number != ours:
            ratio = speedup(samples.ns[index, ours], samples.ns[index, number])
            if ratio:
                made["speedup"][subject.name] = rounded(ratio)
    return made


def make_cells(
    cells: list[Cell], subjects: list[Subject], samples: Samples, ours: dict[str, str] = OURS
) -> list[dict[str, Any]]:
    place = {subject.name: index for index, subject in enumerate(subjects)}
    made = [
        make_cell(cell, index, subjects, samples, place.get(ours[cell.work]))
        for index, cell in enumerate(cells)
    ]
    return [cell for cell in made if cell["ns"]]


# --- Writing and reading ---


def dump(result: Result) -> str:
    """JSON with a line a cell, so that two results can be compared."""
    parts = []
    for key, value in result.items():
        if key == "cells":
            rows = ",\n".join(f"  {json.dumps(cell)}" for cell in value)
            parts.append(f' "cells": [\n{rows}\n ]')
        else:
            text = json.dumps(value, indent=1, ensure_ascii=False).replace("\n", "\n ")
            parts.append(f' "{key}": {text}')
    return "{\n" + ",\n".join(parts) + "\n}\n"


SHAPE: dict[str, type | tuple[type, ...]] = {
    **{"format": int, "date": str, "libcarry": str, "machine": dict, "notes": dict},
    **{"method": dict, "peers": list, "functions": dict, "missing": list, "wrong": list},
    **{"cells": list, "captures": (dict, type(None))},
}
CELL_SHAPE = {"work": str, "mode": str, "size": int, "offset": int, "to": int}


def is_estimate(value: object) -> bool:
    good = isinstance(value, list) and len(value) == 3
    return good and all(isinstance(part, int | float) and part > 0 for part in value)


def complaints(result: object) -> Iterator[str]:
    """What keeps an object from being a result."""
    if not isinstance(result, dict):
        yield "is no object"
        return
    for key, kind in SHAPE.items():
        if not isinstance(result.get(key), kind) or key not in result:
            yield f"has no {key}"
            return
    if result["format"] != FORMAT:
        yield f"has format {result['format']}, not {FORMAT}"
    for number, cell in enumerate(result["cells"]):
        if not all(isinstance(cell.get(key), kind) for key, kind in CELL_SHAPE.items()):
            yield f"cell {number} has no place"
            continue
        for key in ("ns", "speedup"):
            values = cell.get(key)
            if not isinstance(values, dict) or not all(map(is_estimate, values.values())):
                yield f"cell {number} has no {key}"
            elif not set(values) <= set(result["functions"]):
                yield f"cell {number} has {key} of unknown functions"


def read(path: Path) -> Result:
    try:
        result = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise ResultError(f"{path}: {error}") from error
    for complaint in complaints(result):
        raise ResultError(f"{path}: {complaint}")
    return result


# --- Asking one ---


@dataclass(frozen=True)
class Standing:
    """How the library stands in a cell."""

    cell: dict[str, Any]
    best: str  # of the peers
    speedup: tuple[float, float, float]

    @property
    def loses(self) -> bool:
        """Slower than the best peer by more than noise and a twentieth."""
        return self.speedup[0] < LOSES_BELOW and self.speedup[2] < 1

    @property
    def behind(self) -> bool:
        return self.speedup[2] < 1 and not self.loses


def standing(result: Result, cell: dict[str, Any]) -> Standing | None:
    """Against the fastest peer; None without a peer."""
    kinds = {name: row["kind"] for name, row in result["functions"].items()}
    peers = [name for name in cell["speedup"] if kinds[name] == "peer"]
    if not peers:
        return None
    best = min(peers, key=lambda name: cell["ns"][name][0])
    return Standing(cell, best, tuple(cell["speedup"][best]))


def standings(result: Result) -> list[Standing]:
    found = (standing(result, cell) for cell in result["cells"])
    return [one for one in found if one]
