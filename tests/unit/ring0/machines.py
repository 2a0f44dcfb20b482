# SPDX-License-Identifier: MIT
"""The test kernel of ports/baremetal: its build, the machines that boot it, and its output."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parent.parent.parent.parent
KERNEL_SECONDS = 900  # limit for one boot, which takes twelve seconds on an idle machine


@dataclass
class Result:
    """A kernel's output in TAP, and its exit status (None: unknown, or the kernel was killed)."""

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


def make(out: Path, *words: str) -> None:
    subprocess.run(
        ["make", "--silent", f"-j{os.cpu_count()}", f"OUT={out}", *words],
        cwd=SOURCE / "ports/baremetal",
        check=True,
        timeout=600,
    )


def run(command: list[str | Path], text: str = "") -> tuple[int, list[str]]:
    """Returns the status and output of an emulator; kills it at a time limit."""
    limit = ["timeout", "--signal=KILL", str(KERNEL_SECONDS)]
    done = subprocess.run(
        [*limit, *command],
        input=text.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | {"TERM": "vt100"},
    )
    return done.returncode, done.stdout.decode(errors="replace").splitlines()


def run_qemu(command: list[str | Path]) -> tuple[int, list[str]]:
    """Runs QEMU, at most three times: a QEMU that cannot start on a busy machine ends with 1, like
    one whose kernel succeeds, but its kernel prints nothing."""
    for _ in range(3):
        status, lines = run(command)
        if lines or status != 1:
            break
    return status, lines


def boot(kernel: Path, model: str, options: str = "") -> Result:
    """Boots in QEMU without hardware acceleration: the kernel cannot affect this machine."""
    qemu = shutil.which("qemu-system-x86_64")
    if not qemu:
        pytest.skip("qemu-system-x86_64 is not installed (package qemu-system-x86)")
    status, lines = run_qemu(
        [
            *(qemu, "-accel", "tcg", "-cpu", model, "-smp", "2", "-m", "64"),
            *("-display", "none", "-nodefaults", "-no-reboot", "-serial", "stdio"),
            *("-device", "isa-debug-exit,iobase=0xf4,iosize=4"),
            *("-kernel", kernel, "-append", options),
        ]
    )
    # isa-debug-exit ends QEMU with twice the status plus one.
    return Result(status // 2 if status > 0 and status % 2 else None, lines)


def boot_aarch64(kernel: Path, model: str, options: str = "", accelerator: str = "tcg") -> Result:
    """Boots in QEMU on its virtual board; QEMU exits with the status that the kernel requests."""
    qemu = shutil.which("qemu-system-aarch64")
    if not qemu:
        pytest.skip("qemu-system-aarch64 is not installed (package qemu-system-arm)")
    status, lines = run(
        [
            *(qemu, "-accel", accelerator, "-M", "virt", "-cpu", model, "-smp", "2", "-m", "64"),
            *("-display", "none", "-nodefaults", "-no-reboot", "-serial", "stdio"),
            *("-semihosting-config", "enable=on,target=native"),
            *("-kernel", kernel, "-append", options),
        ]
    )
    return Result(status if status >= 0 else None, lines)


BOCHS_SETTINGS = """
megs: 64
cpu: count=2, ips=5000000, model={model}
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=disk, path={disk}, mode=flat, cylinders=20, heads=16, spt=63
boot: disk
com1: enabled=1, mode=file, dev={serial}
display_library: term
log: {log}
panic: action=fatal
clock: sync=none
"""


def bochs() -> str:
    found = shutil.which("bochs-bin")
    if not found:
        pytest.skip("Bochs is not installed (packages bochs, bochs-term)")
    return found


def bochs_version() -> tuple[int, ...]:
    shown = subprocess.run([bochs(), "--help"], capture_output=True, text=True, timeout=600)
    found = re.search(r"Bochs x86 Emulator (\d+)\.(\d+)", shown.stdout + shown.stderr)
    assert found, "Bochs does not report its version"
    return int(found[1]), int(found[2])


def boot_bochs(kernel: Path, folder: Path, model: str, options: str, *words: str) -> Result:
    """Boots in Bochs, which has AVX-512. The exit status of Bochs is always 1: the output
    decides."""
    (kernel.parent / "disk.img").unlink(missing_ok=True)
    make(kernel.parent, "disk", f"OPTIONS={options}", *words)
    disk = folder / "disk.img"
    if disk.parent != kernel.parent:
        shutil.copy(kernel.parent / "disk.img", disk)
    serial = folder / "serial"
    settings = folder / "bochsrc"
    settings.write_text(
        BOCHS_SETTINGS.format(model=model, disk=disk, serial=serial, log=folder / "log")
    )
    run([bochs(), "-q", "-f", settings], text="c\n")  # continues from the debugger
    return Result(None, serial.read_text(errors="replace").splitlines() if serial.exists() else [])
