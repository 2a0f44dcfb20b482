# SPDX-License-Identifier: MIT
"""The built wheels, and the systems that use them: below the folder CARRY_WHEELS."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent.parent.parent
SECONDS = 600  # ends a hanging command
CPUS = ["x86_64", "aarch64"]
# pip's settings of this machine must not apply.
CLEAN = {"HOME": "/", "PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "PIP_CONFIG_FILE": os.devnull}


def ask(
    *command: str | Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a command, which may fail. Its output includes its standard error."""
    return subprocess.run(
        list(map(str, command)),
        env=CLEAN | (env or {}),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=SECONDS,
    )


def say(*command: str | Path, env: dict[str, str] | None = None) -> str:
    done = ask(*command, env=env)
    assert done.returncode == 0, done.stdout
    return done.stdout


@dataclass(frozen=True)
class System:
    """A minimal Debian system in a folder."""

    root: Path

    def ask(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        enter = ["chroot"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--root"]
        done = ask(*enter, self.root, *command)
        if done.returncode == 1 and done.stdout.startswith("unshare: "):
            pytest.skip(f"no user namespace may be made here: {done.stdout.strip()}")
        return done

    def say(self, *command: str | Path) -> str:
        done = self.ask(*command)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def give(self, path: Path) -> str:
        """Returns the name of a copy of the file in the system."""
        shutil.copy(path, self.root)
        return f"/{path.name}"


@dataclass(frozen=True)
class Wheels:
    folder: Path

    @property
    def tools(self) -> Path:
        return self.folder / "tools/bin/python"

    def wheel(self, cpu: str) -> Path:
        (path,) = (self.folder / "dist").glob(f"*_{cpu}.whl")
        return path

    def system(self, name: str) -> System:
        root = self.folder / name
        if not root.is_dir():
            pytest.skip(f"no packages of the system {name}")
        return System(root)


@pytest.fixture(scope="session")
def wheels() -> Wheels:
    return Wheels(Path(os.environ["CARRY_WHEELS"]))


@pytest.fixture(scope="session")
def unpacked(wheels: Wheels, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Returns the unpacked contents of each wheel."""
    folders = {}
    for cpu in CPUS:
        folder = tmp_path_factory.mktemp(cpu)
        say(wheels.tools, "-m", "wheel", "unpack", f"--dest={folder}", wheels.wheel(cpu))
        (folders[cpu],) = folder.iterdir()
    return folders
