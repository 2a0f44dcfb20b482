# SPDX-License-Identifier: MIT
"""Lets the tests of this folder use the helpers of tests/harness, and fixtures that run the
tool."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / name) for name in ("harness", "tool", "house")]

from carry_tool import carry, check, check_all, tool  # noqa: E402

__all__ = ["carry", "check", "check_all", "tool"]
