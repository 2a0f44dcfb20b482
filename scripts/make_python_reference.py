#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes docs/reference/python.md.

usage: make_python_reference.py
"""

import sys

from manual import python


def main() -> int:
    if len(sys.argv) != 1:
        print("usage: make_python_reference.py", file=sys.stderr)
        return 2
    python.PAGE.write_text(python.page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
