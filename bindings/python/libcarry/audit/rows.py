# SPDX-License-Identifier: MIT
"""Yields the rows of one table for many captures, in the order of reading, for DuckDB and Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow

from ..captures import MOST_FINDINGS, MOST_THREADS, within
from .listing import Capture
from .tables import NAMES
from .worker import Options, check

BATCH_ROWS = 10_000


def checked_name(table: str) -> str:
    """Returns the name of a table; raises ValueError if there is no such table."""
    if table not in NAMES:
        raise ValueError(f"{table!r} is no table: use {', '.join(NAMES)}")
    return table


def checked_options(findings: int | None, threads: int) -> Options:
    """Returns the options for reading captures; raises ValueError if they are out of range."""
    within("findings", findings or 0, MOST_FINDINGS)
    within("threads", threads, MOST_THREADS)
    return Options(findings=findings, threads=threads)


def rows(
    captures: Iterable[Capture], table: str, options: Options
) -> Iterator[pyarrow.RecordBatch]:
    """Yields the rows of captures. Checks the captures one after the other, so that memory holds
    the rows of only one."""
    for capture in captures:
        yield from check(capture, options)[table].to_batches(BATCH_ROWS)
