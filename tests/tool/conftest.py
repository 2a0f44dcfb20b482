# SPDX-License-Identifier: MIT
"""Lets the tests here use the helpers of tests/harness, and fixtures that run the tool."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / name) for name in ("harness", "tool", "house")]

from carry_tool import carry, check, check_all, tool  # noqa: E402

__all__ = ["carry", "check", "check_all", "tool"]


@pytest.fixture
def preload(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Returns a function that compiles C code into a library, and returns the word before a command
    that loads the library first."""

    def compiled(code: str) -> str:
        if os.environ.get("CARRY_SANITIZED"):
            pytest.skip("the sanitizers' library has to be the first; step tool runs this")
        folder = tmp_path_factory.mktemp("preloaded")
        source, library = folder / "preloaded.c", folder / "preloaded.so"
        source.write_text(code)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        return f"LD_PRELOAD={library}"

    return compiled
