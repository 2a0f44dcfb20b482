# SPDX-License-Identifier: MIT
"""Adds the options that all measuring programs share."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from measure.peers import ROOT


def add(parser: argparse.ArgumentParser, folder: str) -> None:
    """Adds options for the CPU and for the build folder, by default `folder` in the tree."""
    last = max(os.sched_getaffinity(0))
    parser.add_argument("--cpu", type=int, default=last, help="where to measure (the last one)")
    parser.add_argument(
        *("--build",),
        **{"type": Path, "metavar": "FOLDER", "default": ROOT / folder},
        help=f"where to build ({folder})",
    )


def check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    if options.cpu not in cpus:
        parser.error(f"there is no CPU {options.cpu} to use, only {cpus}")
