# SPDX-License-Identifier: MIT
"""The tables of an audit: those of a check, with what only an archive has."""

from __future__ import annotations

from functools import cache

import pyarrow

from .. import _carry

# Columns are only ever added behind the others; any other change is a new version.
VERSION = "1"
NAMES = ("files", "counts", "findings")

_TIME = pyarrow.timestamp("ns", "UTC")

# Columns of *files* that follow libcarry's own: name, type, may be null, what it is.
EXTRA_FILES = (
    ("folder", pyarrow.string(), False, "what stands before the last slash of the name"),
    ("modified", _TIME, True, "when the capture was last changed, as its store says"),
    ("digest", pyarrow.string(), True, "of the content, as its store says or its ends show"),
    ("findings", pyarrow.uint64(), False, "bad and illegal checksums, those too that are not kept"),
    ("error", pyarrow.string(), True, "why the capture was not read to its end: one line"),
    ("attempts", pyarrow.uint32(), False, "how often it was opened"),
    ("pieces", pyarrow.uint32(), False, "in how many pieces it was read"),
    ("seconds", pyarrow.float64(), False, "that workers took for it"),
)


@cache
def schema(name: str) -> pyarrow.Schema:
    """The columns of a table. Its metadata has the versions of both parts."""
    own = pyarrow.schema(_carry.schema(name))
    if name == "files":
        for column, kind, nullable, _text in EXTRA_FILES:
            own = own.append(pyarrow.field(column, kind, nullable))
    return own.with_metadata({**(own.metadata or {}), "libcarry.audit_version": VERSION})
