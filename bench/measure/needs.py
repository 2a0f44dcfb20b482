# SPDX-License-Identifier: MIT
"""Ends the program if this Python lacks required packages. Programs import this module first."""

from __future__ import annotations

import sys
from importlib.util import find_spec

if missing := [name for name in ("matplotlib", "numpy") if not find_spec(name)]:
    sys.exit(
        f"bench: {sys.executable} has no {' and no '.join(missing)}; "
        "make packages-bench installs them, for /usr/bin/python3"
    )
