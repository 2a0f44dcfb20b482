# SPDX-License-Identifier: MIT
"""The static programs below the folder CARRY_STATIC, and roots that contain nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent.parent.parent
CPUS = ["x86_64", "aarch64"]
SECONDS = 900  # ends a hanging command
CLEAN = {"LC_ALL": "C.UTF-8"}

Done = subprocess.CompletedProcess[str]


def ask(*command: str | Path, env: dict[str, str] | None = None) -> Done:
    return subprocess.run(
        ["timeout", "-s", "KILL", str(SECONDS), *map(str, command)],
        env={"PATH": os.environ["PATH"], **CLEAN, **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


def programs() -> Path:
    return Path(os.environ["CARRY_STATIC"])


def program(cpu: str) -> Path:
    (path,) = (programs() / "dist").glob(f"carry-*-linux-{cpu}")
    return path


@dataclass(frozen=True)
class Root:
    """A folder that contains the program, and an emulator if it is for another architecture."""

    folder: Path
    start: list[str]

    def run(self, *arguments: str, env: dict[str, str] | None = None) -> Done:
        enter = ["chroot"] if os.geteuid() == 0 else ["unshare", "--map-root-user", "--root"]
        done = ask(*enter, self.folder, *self.start, *arguments, env=env)
        if done.returncode == 1 and done.stderr.startswith("unshare: "):
            pytest.skip(f"no user namespace may be made here: {done.stderr.strip()}")
        return done

    def give(self, path: Path, name: str = "") -> str:
        """Returns the name of a copy of a file in the root."""
        target = self.folder / (name or path.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
        return f"/{target.relative_to(self.folder)}"


def make_root(cpu: str, folder: Path) -> Root:
    shutil.copy(program(cpu), folder / "carry")
    if cpu == os.uname().machine:
        return Root(folder, ["/carry"])
    emulator = programs() / f"qemu/usr/bin/qemu-{cpu}-static"
    if not emulator.is_file():
        pytest.skip(f"no static emulator of {cpu}: the step fetches Debian's qemu-user-static")
    shutil.copy(emulator, folder / "emulator")
    return Root(folder, ["/emulator", "/carry"])


@pytest.fixture(params=CPUS)
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Root:
    return make_root(request.param, tmp_path)


@pytest.fixture
def own_root(tmp_path: Path) -> Root:
    """Returns a root for the architecture of this machine, without an emulator."""
    return make_root(os.uname().machine, tmp_path)


@pytest.fixture(scope="session")
def dynamic() -> Path:
    """Returns the dynamically linked tool for this machine."""
    return Path(os.environ["CARRY_TOOL"])
