# SPDX-License-Identifier: MIT
"""Archives of captures: every checksum of thousands of files, as tables in Parquet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pyarrow

__all__ = ["scan"]


def scan(
    sources: str | Iterable[str],
    table: Literal["files", "counts", "findings"] = "counts",
    *,
    findings: int | None = 1000,
    threads: int = 0,
) -> pyarrow.RecordBatchReader:
    """One table of all captures in `sources`, as a stream of Arrow: DuckDB queries captures by it.

        rows = libcarry.audit.scan("s3://bucket/captures", "findings")
        duckdb.sql("select src_ip, count(*) from rows group by all")

    `sources` is a path, or any number of them: captures, folders, globs, and URLs that fsspec
    opens. Captures are checked one after the other, by `threads` (0: one for each core), while the
    stream is read; it can be read once. At most `findings` of a capture are kept (None: all). A
    capture that is damaged, or cannot be read, raises nothing: it is a row of *files*, which says
    why.
    """
    import pyarrow

    from . import listing, rows, tables

    schema = tables.schema(rows.checked_name(table))
    options = rows.checked_options(findings, threads)
    captures = listing.find([sources] if isinstance(sources, str) else sources)
    return pyarrow.RecordBatchReader.from_batches(schema, rows.rows(captures, table, options))
