# SPDX-License-Identifier: MIT
"""Types of the package: strict, in agreement with the module, and documented."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import libcarry
import libcarry.testing
import pytest
from conftest import SOURCE

pytest.importorskip("mypy", reason="mypy is not installed")

PACKAGE = Path(libcarry.__file__).parent

USE = """
import array, io, pathlib
import libcarry
from libcarry.testing import assert_checksums

report: libcarry.Report = libcarry.check(pathlib.Path("x"), wrong=["bad"])
libcarry.check(b"bytes"), libcarry.check(memoryview(b"")), libcarry.check(open("x", "rb"))
stored: int = report.findings[0].stored
verdicts: list[str] = [finding.verdict for finding in report]
number: int = libcarry.sum(bytearray(4)) + libcarry.checksum(memoryview(b"ab"))
sums: memoryview = libcarry.sum_many(b"", array.array("Q"), array.array("I"))
for frame in libcarry.frames("x"):
    protocols: list[str] = [s.protocol for s in frame.check()]
libcarry.fix("x", io.BytesIO()), libcarry.fix("x", "y"), libcarry.fix("x", None)
assert_checksums([b"frame"])
reveal_type(report.damage)
"""


def mypy(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=cwd,
        env=os.environ | {"MYPYPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_package_is_strict(tmp_path: Path) -> None:
    config = f"--config-file={SOURCE / 'pyproject.toml'}"
    cache = f"--cache-dir={tmp_path}"
    done = mypy("mypy", config, cache, "-p", "libcarry", cwd=PACKAGE.parent)
    assert done.returncode == 0, done.stdout


def test_use_is_strict(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(USE)
    config = f"--config-file={SOURCE / 'pyproject.toml'}"
    done = mypy("mypy", config, "--strict", "use.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert 'note: Revealed type is "libcarry.captures.Damage | None"' in done.stdout.replace(
        "Union[libcarry.captures.Damage, None]", "libcarry.captures.Damage | None"
    )


def test_stubs_agree_with_the_module(tmp_path: Path) -> None:
    allowed = tmp_path / "allowed"
    # Named tuples that C code defines differ from those of typing.NamedTuple.
    allowed.write_text(r"libcarry\._carry\.(Finding|PacketSum)(\..*)?" + "\n")
    done = mypy("mypy.stubtest", "libcarry._carry", f"--allowlist={allowed}", cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_everything_public_is_described() -> None:
    for module, names in ((libcarry, libcarry.__all__), (libcarry.testing, ["assert_checksums"])):
        for name in names:
            item = getattr(module, name)
            if inspect.isroutine(item) or inspect.isclass(item):
                assert inspect.getdoc(item), name
