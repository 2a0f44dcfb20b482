# SPDX-License-Identifier: MIT
"""The core as a module of Linux on AArch64; mutants must be caught."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from debian_kernel import DebianKernel, NoKernelError, fetch_aarch64
from linux_module import Session, build, build_init, check, initrd
from machines import run

if os.environ.get("CARRY_TEST_LEVEL", "medium") != "long":
    reason = "it takes minutes: make test-ring0 runs it (CARRY_TEST_LEVEL=long)"
    pytest.skip(reason, allow_module_level=True)

COMPILER = "aarch64-linux-gnu-gcc"
CROSS = "CROSS_COMPILE=aarch64-linux-gnu-"
MODELS = ["cortex-a72", "max"]  # without PAN, and with it


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = os.environ.get("CARRY_RING0")
    return Path(given) / "linux-aarch64" if given else tmp_path_factory.mktemp("linux-aarch64")


@pytest.fixture(scope="session")
def linux(folder: Path) -> DebianKernel:
    if not shutil.which(COMPILER):
        pytest.skip("there is no compiler for AArch64 (package gcc-aarch64-linux-gnu)")
    try:
        return fetch_aarch64(folder / "kernel")
    except NoKernelError as reason:
        pytest.skip(f"no kernel of Debian's: {reason}")


@pytest.fixture(scope="session")
def init(folder: Path, linux: DebianKernel) -> Path:
    return build_init(folder, COMPILER, "aarch64")


@pytest.fixture(scope="session")
def sound(folder: Path, linux: DebianKernel, init: Path) -> Path:
    module, warnings = build(folder, linux, CROSS)
    assert not warnings
    return initrd(folder, init, module, "sound")


def boot(linux: DebianKernel, image: Path, model: str) -> Session:
    qemu = shutil.which("qemu-system-aarch64")
    if not qemu:
        pytest.skip("qemu-system-aarch64 is not installed (package qemu-system-arm)")
    _, lines = run(
        [
            *(qemu, "-accel", "tcg", "-M", "virt", "-cpu", model, "-smp", "2", "-m", "256"),
            *("-display", "none", "-nodefaults", "-no-reboot", "-serial", "stdio"),
            *("-kernel", linux.image, "-initrd", image),
            *("-append", "console=ttyAMA0 quiet panic=-1 oops=panic panic_on_warn=1 --"),
        ]
    )
    return Session(lines)


@pytest.mark.parametrize("model", MODELS)
def test_module(linux: DebianKernel, sound: Path, model: str) -> None:
    """The module passes its tests in Linux, with the kernels for NEON."""
    session = boot(linux, sound, model)
    check(session)
    chosen = re.findall(r"^ +(\w+) +(\w+) .* chosen$", session.text, re.MULTILINE)
    assert ("sum", "neon") in chosen and ("copy", "neon") in chosen, session.text


def test_rows_off_by_one(folder: Path, linux: DebianKernel, init: Path, sound: Path) -> None:
    """With a wrong table of instructions that may fault, Linux reports a fault in the kernel."""
    module, _ = build(folder, linux, CROSS, "BREAK=row")
    session = boot(linux, initrd(folder, init, module, "row"), "max")
    assert "Unable to handle kernel paging request" in session.text, session.text
    assert not session.has_all_points()


def test_section_that_does_not_save(
    folder: Path, linux: DebianKernel, init: Path, sound: Path
) -> None:
    module, _ = build(folder, linux, CROSS, "BREAK=section")
    session = boot(linux, initrd(folder, init, module, "section"), "max")
    assert any("bench: vector registers" in line for line in session.failed), session.text
