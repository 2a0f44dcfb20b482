# SPDX-License-Identifier: MIT
"""Writes files so that they are complete or absent, and never replaces a file by accident."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path


def free_path(folder: Path, name: str, suffix: str) -> Path:
    """Returns the first free path of `name`, `name`-2, `name`-3, ... with `suffix`."""
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    paths = (folder / f"{taken}{suffix}" for taken in names)
    return next(path for path in paths if not path.exists())


def check_writable(folder: Path) -> None:
    """Makes a folder; raises an error if no file can be written to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(folder)) from error


def write_whole(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.part")
    part.write_text(text)
    part.replace(path)


def message(error: Exception) -> str:
    """Returns a message in the usual form: "file: what is wrong"."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)
