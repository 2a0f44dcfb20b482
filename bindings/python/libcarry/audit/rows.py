# SPDX-License-Identifier: MIT
"""One table of many captures, as rows come: what DuckDB and Spark read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow

from ..captures import MOST_FINDINGS, MOST_THREADS, within
from .listing import Capture
from .tables import NAMES
from .worker import Options, check

BATCH_ROWS = 10_000


def checked_name(table: str) -> str:
    """The name of a table; raises what is none."""
    if table not in NAMES:
        raise ValueError(f"{table!r} is no table: use {', '.join(NAMES)}")
    return table


def checked_options(findings: int | None, threads: int) -> Options:
    """How captures are read; raises what is out of range."""
    within("findings", findings or 0, MOST_FINDINGS)
    within("threads", threads, MOST_THREADS)
    return Options(findings=findings, threads=threads)


def rows(
    captures: Iterable[Capture], table: str, options: Options
) -> Iterator[pyarrow.RecordBatch]:
    """The rows of captures that are checked one after the other: no more than those of one are in
    memory."""
    for capture in captures:
        yield from check(capture, options)[table].to_batches(BATCH_ROWS)
