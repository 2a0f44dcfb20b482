# SPDX-License-Identifier: MIT
"""Reads the table of peers: peers.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
TABLE = BENCH / "peers.toml"


@dataclass(frozen=True)
class Peer:
    name: str
    title: str
    language: str
    file: str
    package: str
    titles: dict[str, str] = field(default_factory=dict)
    ours: bool = False
    deb: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    licence: str = ""
    homepage: str = ""


def read_peers(table: Path = TABLE) -> list[Peer]:
    rows = tomllib.loads(table.read_text())["peer"]
    known = Peer.__dataclass_fields__
    peers = [Peer(**{key: row[key] for key in row if key in known}) for row in rows]
    names = [peer.name for peer in peers]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"{table.name}: two rows of {', '.join(sorted(twice))}")
    return peers


def peer_name(function: str) -> str:
    """Returns the name of the peer that provides a function."""
    return function.split("/")[0]
