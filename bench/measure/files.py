# SPDX-License-Identifier: MIT
"""Files that are whole or not there, and replace none by accident."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path


def free_path(folder: Path, name: str, suffix: str) -> Path:
    """`name` with `suffix`, or if that is taken, the first free of name-2, name-3..."""
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    paths = (folder / f"{taken}{suffix}" for taken in names)
    return next(path for path in paths if not path.exists())


def check_writable(folder: Path) -> None:
    """Makes the folder, and fails where no file can be written to it."""
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
    """In the way of other programs: "file: what is wrong"."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)
