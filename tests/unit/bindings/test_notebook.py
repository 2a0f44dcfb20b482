# SPDX-License-Identifier: MIT
"""Notebooks: the cells and their assertions run, and the outputs are stored."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import pytest
from documents import SOURCE, copy_captures, environment, obstacle

NOTEBOOKS = sorted(SOURCE.glob("docs/**/*.ipynb"))
NEEDED = ("nbclient", "ipykernel", "nbformat", "numpy", "pandas", "pyarrow", "duckdb")
MISSING = [name for name in NEEDED if not importlib.util.find_spec(name)]
EACH_NOTEBOOK = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)

SECONDS = 300  # the time limit of a test


@pytest.mark.skipif(bool(obstacle()), reason=obstacle())
@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
@EACH_NOTEBOOK
def test_each_cell_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import nbclient
    import nbformat

    copy_captures(tmp_path)
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    place = {"metadata": {"path": str(tmp_path)}}
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=SECONDS, resources=place).execute()


@EACH_NOTEBOOK
def test_outputs_are_stored(path: Path) -> None:
    cells = [each for each in json.loads(path.read_text())["cells"] if each["cell_type"] == "code"]
    assert len(cells) > 5
    for cell in cells:
        assert cell["outputs"]
        assert all(output["output_type"] != "error" for output in cell["outputs"])
