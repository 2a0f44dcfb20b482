# SPDX-License-Identifier: MIT
"""Shows folders as a tree, with the worst branches open."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from . import markup, words
from .overview import Folder, rate

ROWS_MAX = 60
BRANCHES_MAX = 8  # rows below each folder; further branches share a row


@dataclass
class Node:
    """A folder, and the sum of this folder and all folders below it."""

    name: str  # text of its row: the rest of the path below the node above
    path: str
    folder: str | None = None  # name, if it has captures of its own
    total: Folder = field(default_factory=Folder)
    below: dict[str, Node] = field(default_factory=dict)
    is_open: bool = False

    def order(self) -> tuple[int, int, str]:
        """Returns the sort key, worst first."""
        return -self.total.wrong, self.total.statuses["clean"] - self.total.captures, self.path


def _parts(folder: str) -> list[str]:
    """Returns the parts of a path. "s3://bucket" is one part, and so is the first folder of
    "/a/b"."""
    scheme, separator, rest = folder.rpartition("://")
    first, *others = rest.split("/")
    if not separator and not first and others:
        first, *others = f"/{others[0]}", *others[1:]
    return [f"{scheme}{separator}{first}", *others]


def plant(folders: Mapping[str, Folder]) -> Node:
    root = Node("", "")
    for name, folder in folders.items():
        node, path = root, ""
        node.total.add(folder)
        for place, part in enumerate(_parts(words.without_secrets(name))):
            path = f"{path}/{part}" if place else part
            node = node.below.setdefault(part, Node(part, path))
            node.total.add(folder)
        node.folder = name
    for node in root.below.values():
        _join(node)
    return root


def _join(node: Node) -> None:
    """Joins a folder without captures to the folder below it, if there is only one."""
    while len(node.below) == 1 and node.folder is None:
        (only,) = node.below.values()
        node.name, node.path, node.below = f"{node.name}/{only.name}", only.path, only.below
        node.folder = only.folder
    for each in node.below.values():
        _join(each)


def _open_worst(root: Node) -> None:
    """Opens folders, worst first, while there is room for rows."""
    rows, waiting = 0, [(root.order(), root)]
    while waiting and rows < ROWS_MAX:
        _, node = heapq.heappop(waiting)
        node.is_open = True
        shown = sorted(node.below.values(), key=Node.order)[:BRANCHES_MAX]
        rows += len(shown)
        for each in shown:
            if each.below:
                heapq.heappush(waiting, (each.order(), each))


def _cells(total: Folder) -> str:
    unclean = total.captures - total.statuses["clean"]
    return (
        "".join(markup.number(total.verdicts[verdict], "bad") for verdict in words.WRONG)
        + markup.cell(words.percent(rate(total.verdicts)), "number")
        + markup.number(total.captures)
        + markup.number(unclean)
        + markup.share(total.verdicts)
    )


def _others(nodes: list[Node], depth: int) -> str:
    total = Folder()
    for node in nodes:
        total.add(node.total)
    title = f'<span class="faint">{words.counted(len(nodes), "other")}</span>'
    return markup.head(title, depth) + _cells(total)


def _rows(node: Node, anchors: Mapping[str, str], depth: int) -> Iterator[str]:
    ordered = sorted(node.below.values(), key=Node.order)
    for each in ordered[:BRANCHES_MAX]:
        name = markup.link(anchors.get(each.folder or ""), markup.part_of_name(each.name))
        yield markup.head(name, depth) + _cells(each.total)
        if each.is_open:
            yield from _rows(each, anchors, depth + 1)
    if rest := ordered[BRANCHES_MAX:]:
        yield _others(rest, depth)


def table(folders: Mapping[str, Folder], anchors: Mapping[str, str]) -> str:
    """Returns the table of the folders. `anchors` holds the anchors of the folders whose captures
    the page lists."""
    root = plant(folders)
    _open_worst(root)
    heads = ["folder", *(f"#{verdict}" for verdict in words.WRONG), "#corruption rate"]
    heads += ["#captures", "#not clean"]
    caption = "Folders with all that lies below them, those with the most wrong checksums first"
    return markup.table(caption, heads, _rows(root, anchors, 0), kind="tree", bars=True)
