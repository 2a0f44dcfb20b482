# SPDX-License-Identifier: MIT
"""The page on scale shows the results of the model, and the model matches the program."""

from __future__ import annotations

import subprocess
import sys

import pytest
from conftest import SOURCE

pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pytest.importorskip("fsspec", reason="fsspec is not installed")

sys.path.insert(0, str(SOURCE / "bench"))

import archive
from libcarry.audit import merge, plan

PAGE = SOURCE / "docs/explanation/scale.md"


def test_the_page_shows_what_the_model_computes() -> None:
    model = [sys.executable, SOURCE / "bench/archive.py"]
    done = subprocess.run(model, capture_output=True, text=True, check=True)
    shown = PAGE.read_text()
    rows = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert len(rows) > 10
    assert [row for row in rows if row not in shown] == []


def test_the_model_knows_the_program() -> None:
    assert archive.WAVE == plan.WAVE
    assert plan._BATCH_BYTES[1] == archive.BATCH_BYTES
    assert archive.BATCH_CAPTURES == plan._BATCH_CAPTURES
    assert archive.MERGED_FILES == merge._FILES
