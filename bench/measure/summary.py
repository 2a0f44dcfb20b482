# SPDX-License-Identifier: MIT
"""Summarises samples for a result."""

from __future__ import annotations

from typing import Any

from measure.measure import Samples, Subject
from measure.peers import Peer, peer_name
from measure.plan import OURS, Cell
from measure.process import Function
from measure.stats import Estimate, estimate, speedup
from measure.text import LANGUAGE_TITLES


def rounded(values: Estimate) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


def kind_of(function: Function, peer: Peer | None) -> str:
    if not function.is_peer:
        return "floor" if "floor" in function.flags else "bound"
    return "ours" if peer and peer.ours else "peer"


TITLES = {"load": "loads alone", "direct": "direct call"}


def title_of(subject: Subject, peer: Peer | None) -> str:
    """Returns the title of a function, or of the function whose name its name extends."""
    name = subject.function.name
    if "floor" in subject.function.flags:
        return f"empty function, {LANGUAGE_TITLES.get(subject.lane.name, subject.lane.name)}"
    if not peer:
        return TITLES.get(name, name)
    own = peer.title if name == peer.name else f"{peer.title}, {name.split('/', 1)[1]}"
    named = [key for key in peer.titles if f"{name}/".startswith(f"{key}/")]
    return peer.titles[max(named, key=len)] if named else own


def describe_functions(subjects: list[Subject], peers: list[Peer]) -> dict[str, Any]:
    """Describes the functions: first functions that belong to no peer, then the functions of peers,
    in the order of the table."""
    table = {peer.name: peer for peer in peers}
    places = {peer.name: place for place, peer in enumerate(peers)}
    described = {}

    def order(subject: Subject) -> tuple[int, str]:
        return places.get(peer_name(subject.function.name), -1), subject.name

    for subject in sorted(subjects, key=order):
        name = peer_name(subject.function.name)
        described[subject.name] = {
            "peer": name,
            "title": title_of(subject, table.get(name)),
            "work": subject.function.work,
            "kind": kind_of(subject.function, table.get(name)),
        }
    return described


def floor_of(subjects: list[Subject], subject: Subject) -> int | None:
    """Returns the index of the empty function of a subject's process and work."""
    for number, floor in enumerate(subjects):
        alike = floor.lane is subject.lane and floor.function.work == subject.function.work
        if alike and "floor" in floor.function.flags:
            return number
    return None


def add_above(made: dict[str, Any], index: int, subjects: list[Subject], samples: Samples) -> None:
    """Adds to a cell the times that calls add to the work around them."""
    made["above"] = {}
    for number, subject in enumerate(subjects):
        floor = floor_of(subjects, subject)
        if floor in (None, number) or subject.name not in made["ns"]:
            continue
        added = estimate(samples.ns[index, number] - samples.ns[index, floor])
        if added:
            made["above"][subject.name] = rounded(added)


def make_cell(
    cell: Cell, index: int, subjects: list[Subject], samples: Samples, ours: int | None
) -> dict[str, Any]:
    made: dict[str, Any] = {
        **{"work": cell.work, "mode": cell.mode, "size": cell.size},
        **{"offset": cell.offset, "to": cell.to, "ns": {}, "speedup": {}, "clock": {}},
    }
    for number, subject in enumerate(subjects):
        times = estimate(samples.ns[index, number])
        if times:
            made["ns"][subject.name] = rounded(times)
            made["clock"][subject.name] = round(float(samples.clock[index, number]), 2)
        if times and ours is not None and number != ours:
            ratio = speedup(samples.ns[index, ours], samples.ns[index, number])
            if ratio:
                made["speedup"][subject.name] = rounded(ratio)
    if cell.is_beside:
        add_above(made, index, subjects, samples)
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
