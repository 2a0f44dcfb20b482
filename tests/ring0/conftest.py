# SPDX-License-Identifier: MIT
"""What the tests in ring 0 share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from machines import make


@pytest.fixture(scope="session")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test kernel, built by its own Makefile."""
    out = Path(os.environ.get("CARRY_RING0", tmp_path_factory.mktemp("baremetal")))
    make(out)
    return out / "kernel.elf"
