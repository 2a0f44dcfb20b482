# SPDX-License-Identifier: MIT
"""Runs `carry audit`, for `python -m libcarry.audit`."""

import sys

from .command import main

sys.exit(main())
