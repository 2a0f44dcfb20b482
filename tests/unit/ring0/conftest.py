# SPDX-License-Identifier: MIT
"""Fixtures of the tests in ring 0."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from machines import make


@pytest.fixture(scope="session")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the test kernel with its own Makefile."""
    out = Path(os.environ.get("CARRY_RING0", tmp_path_factory.mktemp("baremetal")))
    make(out)
    return out / "kernel.elf"


@pytest.fixture(scope="session")
def kernel_aarch64(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the test kernel for AArch64."""
    if not shutil.which("aarch64-linux-gnu-gcc"):
        pytest.skip("there is no compiler for AArch64 (package gcc-aarch64-linux-gnu)")
    given = os.environ.get("CARRY_RING0")
    out = Path(given) / "aarch64" if given else tmp_path_factory.mktemp("aarch64")
    make(out, "ARCH=aarch64")
    return out / "kernel.elf"
