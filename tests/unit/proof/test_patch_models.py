# SPDX-License-Identifier: MIT
"""The models of proof/patch: each model holds, and fails if a step is left out."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent.parent
FOLDER = ROOT / "proof/patch"


def load_runner() -> ModuleType:
    """Loads proof/patch/run as a module: its name has no suffix."""
    loader = importlib.machinery.SourceFileLoader("proof_patch_run", str(FOLDER / "run"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


run = load_runner()
TEXTS = list(run.table_rows("TEXT"))
OTHERS = list(run.table_rows("OTHER"))
ORDERS = list(run.table_rows("ORDER"))

pytestmark = pytest.mark.skipif(not shutil.which("spin"), reason="spin is not installed")


@pytest.mark.parametrize(("name", "flags"), run.CONFIGURATIONS)
def test_holds(name: str, flags: str) -> None:
    assert run.check_configuration(run.Model(name, flags.split()))


@pytest.mark.parametrize("row", TEXTS, ids=lambda row: f"{row[1]} {row[0]}")
def test_trail_about_text(row: list[str]) -> None:
    """A model without this step fails, with the recorded trail and fetch."""
    name, mode, flags, trail, fetch, _ = row
    assert run.check_omission(run.of_mode(mode, f"{flags} WITHOUT_{name}"), trail, fetch)


@pytest.mark.parametrize("row", OTHERS, ids=lambda row: f"{row[0]} {row[1]}")
def test_trail(row: list[str]) -> None:
    """A model without this step fails."""
    model, name, flags, _, _ = row
    assert run.check_omission(run.Model(model, [*flags.split(), f"WITHOUT_{name}"]), None, None)


@pytest.mark.parametrize(("name", "flags"), run.GAPS)
def test_gap(name: str, flags: str) -> None:
    """A model of a case that the library does not support fails."""
    assert run.check_omission(run.Model(name, flags.split()), None, None)


@pytest.mark.parametrize("row", ORDERS, ids=lambda row: f"{row[0]} {row[1]}")
def test_order(row: list[str]) -> None:
    """The model reaches this order of events, with the recorded trail."""
    mode, flags, _, trail = row
    assert run.check_order(run.of_mode(mode, flags), trail)


def test_every_omission_has_its_row() -> None:
    """Every step that a model can leave out has a row in the table, and no other row exists."""
    in_models = {
        (path.stem, name)
        for path in FOLDER.glob("*.pml")
        for name in re.findall(r"\bWITHOUT_([A-Z]\w+)", path.read_text())
    }
    in_table = {("stop" if mode == "STOP" else "commit", name) for name, mode, *_ in TEXTS}
    in_table |= {(model, name) for model, name, *_ in OTHERS}
    assert in_models == in_table


def test_a_search_that_is_cut_is_not_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """The runner must not accept a search limited in depth or memory as a proof."""
    monkeypatch.setattr(run, "DEPTH", 20)
    assert not run.check_configuration(run.Model("commit", ["MODE=TRAP"]))
    monkeypatch.setattr(run, "DEPTH", 2_000_000)
    monkeypatch.setattr(run, "MEMORY_MB", 1)
    assert not run.check_configuration(run.Model("section", []))


def test_a_fault_is_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert not run.check_configuration(run.Model("commit", ["MODE=TRAP", "WITHOUT_SYNC_1"]))
    assert "a fault" in capsys.readouterr().out


def test_functions_of_the_comments_are_there() -> None:
    """Comments of models name existing functions of the library."""
    source = "\n".join(
        path.read_text()
        for folder in (
            "src/patch",
            "src/hosted",
            "src/xstate",
            "src/hook",
            "src/base",
            "ports/baremetal",
        )
        for path in (ROOT / folder).rglob("*.[ch]")
    )
    foreign = {"fork", "mremap", "exec"}
    for path in FOLDER.glob("*.pml"):
        comments = " ".join(re.findall(r"/\*.*?\*/", path.read_text(), re.DOTALL))
        for name in set(re.findall(r"\b([a-z]\w+)\(\)", comments)) - foreign:
            assert re.search(rf"\b{name}\b", source), f"{path.name}: {name}()"
