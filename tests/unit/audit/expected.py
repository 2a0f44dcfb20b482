# SPDX-License-Identifier: MIT
"""The rows that an audit must contain: the rows of libcarry.check() for each capture."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import libcarry
import pyarrow


def captures_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def checked(
    folder: Path,
    table: str,
    files: Iterable[Path] | None = None,
    named: Callable[[str], str] | None = None,
) -> pyarrow.Table:
    """Checks `files`, or all captures in a folder; `named` maps paths in the folder to other
    names."""
    reports = (
        libcarry.check(
            path,
            on_damage="report",
            name=named(str(path.relative_to(folder))) if named else None,
        )
        for path in files or captures_in(folder)
    )
    found = pyarrow.concat_tables(pyarrow.table(report.table(table)) for report in reports)
    return in_microseconds(found)


def in_microseconds(table: pyarrow.Table) -> pyarrow.Table:
    """Converts times to microseconds, as audits store them."""
    fields = [
        field.with_type(pyarrow.timestamp("us", "UTC"))
        if pyarrow.types.is_timestamp(field.type)
        else field
        for field in table.schema
    ]
    return table.cast(pyarrow.schema(fields), safe=False)


def ordered(table: pyarrow.Table) -> list[tuple[Any, ...]]:
    """Returns the rows sorted, because engines guarantee no order."""
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=str)
