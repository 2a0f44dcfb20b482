# SPDX-License-Identifier: MIT
"""What the tests in ring 0 share: the test kernel, and machines that boot it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent.parent
KERNEL_SECONDS = 100  # for one boot: it takes two on a quiet machine


@dataclass
class Result:
    """What a kernel said, in TAP, and the status that it ended with (None: it was ended)."""

    status: int | None
    lines: list[str]

    @property
    def failed(self) -> list[str]:
        return [line for line in self.lines if line.startswith("not ok ")]

    @property
    def points(self) -> int:
        return sum(bool(re.match(r"(not )?ok \d+ ", line)) for line in self.lines)

    @property
    def planned(self) -> int:
        plans = [line for line in self.lines if re.fullmatch(r"1\.\.\d+", line)]
        return int(plans[-1].removeprefix("1..")) if plans else 0

    @property
    def gave_up(self) -> str:
        return next((line for line in self.lines if line.startswith("Bail out!")), "")

    def text(self) -> str:
        return "\n".join(self.lines)


@pytest.fixture(scope="session")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test kernel, built by its own Makefile."""
    out = Path(os.environ.get("CARRY_RING0", tmp_path_factory.mktemp("baremetal")))
    subprocess.run(
        ["make", "--silent", f"-j{os.cpu_count()}", f"OUT={out}"],
        cwd=SOURCE / "ports/baremetal",
        check=True,
        timeout=600,
    )
    return out / "kernel.elf"


def boot(kernel: Path, model: str, options: str = "") -> Result:
    """Boots the kernel in QEMU, which translates: it has no way into the machine it runs on."""
    qemu = shutil.which("qemu-system-x86_64")
    if not qemu:
        pytest.skip("qemu-system-x86_64 is not installed (package qemu-system-x86)")
    command = [
        *("timeout", "--signal=KILL", str(KERNEL_SECONDS)),
        *(qemu, "-accel", "tcg", "-cpu", model, "-smp", "2", "-m", "64"),
        *("-display", "none", "-nodefaults", "-no-reboot", "-serial", "stdio"),
        *("-device", "isa-debug-exit,iobase=0xf4,iosize=4"),
        *("-kernel", kernel, "-append", options),
    ]
    done = subprocess.run(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    lines = done.stdout.decode(errors="replace").splitlines()
    # isa-debug-exit ends QEMU with twice the status, and one more.
    status = done.returncode // 2 if done.returncode > 0 and done.returncode % 2 else None
    return Result(status, lines)
