# SPDX-License-Identifier: MIT
"""The core as a module of Linux, on old and new CPUs; mutants must be caught."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest
from debian_kernel import DebianKernel, NoKernelError, fetch
from linux_module import Session, build, build_init, check, initrd
from machines import run

MODELS = ["qemu64", "Nehalem", "Haswell", "max"]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    given = os.environ.get("CARRY_RING0")
    return Path(given) / "linux" if given else tmp_path_factory.mktemp("linux")


@pytest.fixture(scope="session")
def linux(folder: Path) -> DebianKernel:
    try:
        return fetch(folder / "kernel")
    except NoKernelError as reason:
        pytest.skip(f"no kernel of Debian's: {reason}")


@pytest.fixture(scope="session")
def init(folder: Path, linux: DebianKernel) -> Path:
    return build_init(folder, "cc", "x86_64")


@pytest.fixture(scope="session")
def sound(folder: Path, linux: DebianKernel, init: Path) -> Path:
    module, warnings = build(folder, linux)
    assert not warnings
    return initrd(folder, init, module, "sound")


def boot(
    linux: DebianKernel, image: Path, model: str, parameters: str = "", options: str = ""
) -> Session:
    """Boots with parameters of the module, and options of Linux."""
    qemu = shutil.which("qemu-system-x86_64")
    if not qemu:
        pytest.skip("qemu-system-x86_64 is not installed (package qemu-system-x86)")
    _, lines = run(
        [
            *(qemu, "-accel", "tcg", "-cpu", model, "-smp", "2", "-m", "256"),
            *("-display", "none", "-nodefaults", "-no-reboot", "-serial", "stdio"),
            *("-kernel", linux.image, "-initrd", image),
            "-append",
            f"console=ttyS0 quiet panic=-1 oops=panic panic_on_warn=1 {options} -- {parameters}",
        ]
    )
    return Session(lines)


@pytest.mark.parametrize("model", MODELS)
def test_module(linux: DebianKernel, sound: Path, model: str) -> None:
    """The module passes its tests in Linux."""
    check(boot(linux, sound, model))


def test_parameters(linux: DebianKernel, sound: Path) -> None:
    """Parameters of the module choose kernels and threshold."""
    session = boot(linux, sound, "max", "mask=avx2 copy=rep threshold=100")
    check(session)
    chosen = re.findall(r"^ +(\w+) +(\w+) .* chosen$", session.text, re.MULTILINE)
    assert chosen == [("sum", "adc"), ("copy", "rep"), ("crc32c", "pclmul")], session.text
    assert "sum      without vectors" in session.text
    assert "crc32c   with vectors from 100 bytes on" in session.text


def test_feature_that_linux_does_without(linux: DebianKernel, sound: Path) -> None:
    """The CPU has AVX2, but Linux does not let sections use the registers."""
    session = boot(linux, sound, "max", options="clearcpuid=avx2")
    check(session)
    assert re.search(r"^ +sum +avx2 .* needs avx2$", session.text, re.MULTILINE), session.text
    assert re.search(r"^ +sum +adc .* chosen$", session.text, re.MULTILINE), session.text


def test_rows_off_by_one(folder: Path, linux: DebianKernel, init: Path, sound: Path) -> None:
    """With a wrong table of instructions that may fault, Linux reports a fault in the kernel."""
    module, warnings = build(folder, linux, "BREAK=row")
    assert any("objtool: carry_copy_try_rep" in line for line in warnings)
    session = boot(linux, initrd(folder, init, module, "row"), "max")
    assert "BUG: unable to handle page fault" in session.text, session.text
    assert not session.has_all_points()


def test_section_that_does_not_save(
    folder: Path, linux: DebianKernel, init: Path, sound: Path
) -> None:
    module, _ = build(folder, linux, "BREAK=section")
    session = boot(linux, initrd(folder, init, module, "section"), "max")
    assert any("bench: vector registers" in line for line in session.failed), session.text
