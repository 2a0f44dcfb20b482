# SPDX-License-Identifier: MIT
"""Records which of the project's files the tests read.

Where CARRY_READS names a folder, each process of pytest writes a file into it: one path per line,
for each file that tests opened or passed to a command. Files that a module opens while pytest
collects its tests count only if one of these tests runs.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
READS = os.environ.get("CARRY_READS")
# The files that were opened, keyed by the module that pytest was collecting at the time; the key is
# "" if it was collecting none.
opened: defaultdict[str, set[str]] = defaultdict(set)
collected = ""
ran = {""}


def note(event: str, arguments: tuple[Any, ...]) -> None:
    """Notes the names of files in an audit event of Python."""
    if event == "open":
        note_names("", arguments[:1])
    elif event == "subprocess.Popen":
        note_names(os.fsdecode(arguments[2] or ""), arguments[1])


def note_names(folder: str, names: Iterable[Any]) -> None:
    for name in names:
        if isinstance(name, str | bytes | os.PathLike):
            path = os.path.join(folder, os.fsdecode(name))
            opened[collected].add(os.path.abspath(path))


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    global collected
    collected = str(collector.path)
    yield
    collected = ""


def pytest_runtest_setup(item: pytest.Item) -> None:
    ran.add(str(item.path))


def own(name: str) -> str | None:
    """Returns the path of a file, or of the source of a compiled module, relative to the checkout.
    Returns None for files outside the checkout."""
    path = Path(name)
    if path.parent.name == "__pycache__":
        path = path.parent.parent / f"{path.name.partition('.')[0]}.py"
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) and path.is_file() else None


def pytest_unconfigure() -> None:
    if READS:
        names = set().union(*(opened[module] for module in ran))
        lines = sorted({path for name in names if (path := own(name))})
        Path(READS, f"{os.getpid()}.txt").write_text("".join(f"{line}\n" for line in lines))


if READS:
    sys.addaudithook(note)
