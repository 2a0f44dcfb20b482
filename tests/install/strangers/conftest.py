# SPDX-License-Identifier: MIT
"""The environment of another project: the installed libraries, pkg-config, compilers, debuggers."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parent
SOURCE = FOLDER.parent.parent.parent
SECONDS = 120  # ends a hanging command

# Programs that are expected to crash must not leave core files in the working folder.
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def ask(*command: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Runs a command, which may fail. Its output includes its standard error."""
    return subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=SECONDS,
    )


@dataclass(frozen=True)
class Library:
    """An installation, as `make install DESTDIR=` makes it: programs use nothing else."""

    root: Path

    @property
    def config(self) -> Path:
        return next(self.root.rglob("libcarry.pc"))

    def flags(self, *options: str) -> list[str]:
        """Returns the flags of pkg-config, with the prefix set to the installation's folder."""
        command = ["pkg-config", f"--define-variable=prefix={self.root / 'usr'}", *options]
        done = subprocess.run(
            [*command, "libcarry"],
            env=os.environ | {"PKG_CONFIG_LIBDIR": str(self.config.parent)},
            check=True,
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
        return done.stdout.split()

    @property
    def folder(self) -> Path:
        """Returns the folder of the libraries."""
        return self.config.parent.parent


class Strangers:
    """The installations that the step `strangers` of scripts/run_tests.py has made."""

    def __init__(self) -> None:
        folder = os.environ.get("CARRY_STRANGERS")
        assert folder, "scripts/run_tests.py strangers makes what these tests need"
        self.folder = Path(folder)

    def library(self, kind: str) -> Library:
        reason = self.folder / f"no-{kind}"
        if reason.is_file():
            pytest.skip(reason.read_text())
        return Library(self.folder / kind)


@pytest.fixture(scope="session")
def strangers() -> Strangers:
    return Strangers()


def needs(program: str) -> None:
    if not shutil.which(program):
        pytest.skip(f"{program} is not installed")
