# SPDX-License-Identifier: MIT
"""Runs the command `carry`, for `python -m libcarry`, `libcarry` and `pipx run libcarry`."""

import os
import shutil
import sys
import sysconfig
from pathlib import Path


def program() -> str | None:
    """Returns the path of the command: installed by pip beside this interpreter, or found on the
    PATH."""
    beside = Path(sysconfig.get_path("scripts")) / "carry"
    return str(beside) if beside.is_file() else shutil.which("carry")


def main() -> int:
    path = program()
    if path is None:
        print("libcarry: the command carry is not installed", file=sys.stderr)
        return 3
    os.execv(path, ["carry", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
