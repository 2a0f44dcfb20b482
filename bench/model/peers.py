# SPDX-License-Identifier: MIT
"""Builds peers of the benchmark for models, compiled for levels of x86-64.

Peers that cannot be fetched or built are listed as missing; the others are modelled.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

from measure.fetch import fetch_packages
from measure.peers import BENCH, TABLE
from model.path import Function

C = BENCH / "peers/c/build"
LEVELS = {
    "": frozenset(),
    "x86-64-v3": frozenset({"avx2", "bmi2"}),
    "x86-64-v4": frozenset({"avx512vl"}),
}


@dataclass(frozen=True)
class Wanted:
    row: str  # of peers.toml
    title: str
    package: str
    level: str = ""  # the level of x86-64 for which it is compiled


WANTED = (
    Wanted("linux", "Linux 6.12", "linux-source-6.12"),
    Wanted("dpdk", "DPDK, v3", "libdpdk-dev", "x86-64-v3"),
    Wanted("dpdk", "DPDK, v4", "libdpdk-dev", "x86-64-v4"),
)


@dataclass
class Built:
    functions: list[Function] = field(default_factory=list)
    objects: list[Path] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)  # title -> reason


def load_builder() -> ModuleType:
    """Loads the script that builds the benchmark's peers in C: it contains the needs of each."""
    loader = SourceFileLoader("build_c", str(C))
    module = module_from_spec(spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def renamed(wanted: Wanted, symbol: str) -> dict[str, Any]:
    """Returns the peer's row, changed so that gcc builds it with its function named `symbol`."""
    row = next(row for row in tomllib.loads(TABLE.read_text())["peer"] if row["name"] == wanted.row)
    flags = f"{row.get('flags', '')} -Dsum={symbol}"
    if wanted.level:
        flags += f" -O3 -march={wanted.level}"
    build = {"variant": symbol, "compiler": "gcc", "flags": flags}
    return {key: row[key] for key in ("name", "file")} | {"builds": [build]}


def build_peers(folder: Path) -> Built:
    debs, out = folder / "debs", folder / "models"
    for path in (debs, out):
        path.mkdir(parents=True, exist_ok=True)
    failed = fetch_packages(dict.fromkeys(one.package for one in WANTED), debs)
    os.environ["BENCH_DEBS"] = str(debs)
    builder, built = load_builder(), Built()
    for number, one in enumerate(WANTED):
        symbol = f"model_peer_{number}"
        try:
            built.objects += builder.build_peer(out, renamed(one, symbol))
        except (builder.MissingError, OSError) as error:
            built.missing[one.title] = failed.get(one.package, str(error))
            continue
        built.functions.append(Function(one.title, symbol, LEVELS[one.level]))
    return built
