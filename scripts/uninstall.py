#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Removes the files that `meson install` installs from a build, and the library's own folders if
they are empty then.

usage: uninstall.py BUILD [DESTDIR]
"""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

OWN = "carry"  # a folder of this name, as in include/, is the library's


def installed(build: str, destdir: str) -> list[Path]:
    """Returns the files that an installation has; they may be absent."""
    command = ["meson", "introspect", build, "--installed"]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return sorted(Path(destdir + path) for path in json.loads(told).values())


def own_folders(files: list[Path]) -> list[Path]:
    """Returns the library's own folders within the prefix, the deepest first."""
    prefix = Path(os.path.commonpath(files))
    inside = {p for f in files for p in f.parents if p.is_relative_to(prefix)}
    return sorted((p for p in inside if OWN in p.relative_to(prefix).parts), reverse=True)


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print("usage: uninstall.py BUILD [DESTDIR]", file=sys.stderr)
        return 2
    files = installed(sys.argv[1], "".join(sys.argv[2:]))
    for path in files:
        path.unlink(missing_ok=True)
    for folder in own_folders(files):
        with contextlib.suppress(OSError):  # it contains files of other projects
            folder.rmdir()
    return 0


if __name__ == "__main__":
    sys.exit(main())
