# SPDX-License-Identifier: MIT
"""Writes tables like those of an audit, for tests of its page and of documented queries."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
from libcarry.audit import tables

Row = dict[str, Any]
UTC = datetime.UTC


@dataclass
class Audit:
    """Rows of the three tables."""

    files: list[Row] = field(default_factory=list)
    counts: list[Row] = field(default_factory=list)
    findings: list[Row] = field(default_factory=list)

    def capture(
        self,
        name: str,
        sums: Iterable[tuple[Any, ...]] = (),
        *,
        time: datetime.datetime | None = datetime.datetime(2026, 11, 1, tzinfo=UTC),
        status: str | None = None,
        **columns: Any,  # noqa: ANN401
    ) -> None:
        """Adds a capture; each of `sums` is (protocol, verdict, checksums, reason, cause)."""
        counts = [dict(zip(COUNTS, each, strict=False)) for each in sums]
        wrong = sum(row["checksums"] for row in counts if row["verdict"] in ("bad", "illegal"))
        row: Row = {
            "file": name,
            "folder": name.rpartition("/")[0],
            "size": 1_000,
            "packets": sum(row["checksums"] for row in counts),
            "bytes": 900,
            "status": status or ("wrong" if wrong else "clean" if counts else "unchecked"),
            "first_time": time,
            "last_time": time,
            "digest": f"{len(self.files):04x}",
            "findings": wrong,
            "version": "0.1.0",
        }
        self.files.append(row | columns)
        self.counts += [{"file": name, **each} for each in counts]

    def finding(self, name: str, number: int = 1, **columns: Any) -> None:  # noqa: ANN401
        row: Row = {
            "file": name,
            "frame_number": number,
            "frame_time": datetime.datetime(2026, 11, 1, 12, 0, number % 60, tzinfo=UTC),
            "protocol": "tcp",
            "verdict": "bad",
            "src_ip": "192.0.2.1",
            "dst_ip": "198.51.100.7",
            "src_port": 40_000,
            "dst_port": 443,
            "stored": 0x1234,
            "expected": 0x4321,
            "file_offset": 24 + 80 * number,
        }
        self.findings.append(row | columns)

    def write(self, folder: Path, pieces: int = 1) -> Path:
        """Writes each table as a folder of `pieces` files; returns `folder`."""
        for name in tables.NAMES:
            rows = getattr(self, name)
            (folder / name).mkdir(parents=True, exist_ok=True)
            step = max(1, -(-len(rows) // pieces))
            for piece, start in enumerate(range(0, len(rows), step)):
                path = folder / name / f"{piece:06}.parquet"
                rows_of_piece = table(name, rows[start : start + step])
                pyarrow.parquet.write_table(rows_of_piece, path, compression="zstd")
        return folder


COUNTS = ("protocol", "verdict", "checksums", "reason", "cause")


def table(name: str, rows: list[Row]) -> pyarrow.Table:
    """Returns a table of the rows with all columns; missing columns that may not be null are 0."""
    columns = tables.schema(name)
    zeros = {each.name: 0 for each in columns if not each.nullable}
    return pyarrow.Table.from_pylist([zeros | row for row in rows], schema=columns)
