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
    """Returns one table of all captures in `sources` as an Arrow stream, which DuckDB can query.

        rows = libcarry.audit.scan("s3://bucket/captures", "findings")
        duckdb.sql("select src_ip, count(*) from rows group by all")

    `sources` is a path, or any number of them: captures, folders, globs, and URLs that fsspec
    opens. While the stream is read, captures are checked one after the other, by `threads` threads
    (0: one for each core). The stream can be read once. At most `findings` of a capture are kept
    (None: all). A capture that is damaged, or cannot be read, raises nothing: its row of *files*
    contains the reason.
    """
    import pyarrow

    from . import listing, rows, tables

    schema = tables.schema(rows.checked_name(table))
    options = rows.checked_options(findings, threads)
    captures = listing.find([sources] if isinstance(sources, str) else sources)
    return pyarrow.RecordBatchReader.from_batches(schema, rows.rows(captures, table, options))
