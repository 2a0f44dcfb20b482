#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the manual pages of public headers, and of the functions that they declare.

usage: make_manual.py FOLDER HEADER...
       make_manual.py --list HEADER...       the names of the pages
"""

import re
import sys
from pathlib import Path

from manual import headers, roff

COMMAND = headers.ROOT / "docs/man/carry.1"


def main() -> int:
    if len(sys.argv) < 3:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    # All pages have the date of the commands' pages.
    date = re.search(r"^\.TH \S+ \S+ (\S+)", COMMAND.read_text(), re.M)[1]
    pages = roff.pages([headers.FOLDER / name for name in sys.argv[2:]], date)
    if sys.argv[1] == "--list":
        print(*sorted(f"{name}.3" for name in pages), sep="\n")
        return 0
    for name, text in pages.items():
        (Path(sys.argv[1]) / f"{name}.3").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
