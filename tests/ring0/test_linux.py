# SPDX-License-Identifier: MIT
"""The core as a module of Linux, on CPUs old and new; and broken ones, which must be caught."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from debian_kernel import DebianKernel, NoKernelError, fetch
from machines import SOURCE, run

PORT = SOURCE / "ports/linux"
MODELS = ["qemu64", "Nehalem", "Haswell", "max"]


@dataclass
class Session:
    """What a machine said: TAP of its first process, and indented KTAP of the module."""

    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def failed(self) -> list[str]:
        return [line.strip() for line in self.lines if re.match(r" *not ok ", line)]

    def has_all_points(self) -> bool:
        """Each plan, the outer one and those of the module, is met."""
        for indent in ("", "    "):
            plans = re.findall(rf"^{indent}1\.\.(\d+)$", self.text, re.MULTILINE)
            points = re.findall(rf"^{indent}(?:not )?ok \d+ ", self.text, re.MULTILINE)
            if not plans or sum(map(int, plans)) != len(points):
                return False
        return True


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
    program = folder / "init"
    subprocess.run(
        ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", program, PORT / "init.c"],
        check=True,
        timeout=600,
    )
    return program


def build(folder: Path, linux: DebianKernel, *settings: str) -> tuple[Path, list[str]]:
    """The module, and warnings; another one with other settings shares most objects with it."""
    out = folder / "module"
    done = subprocess.run(
        [
            *("make", f"-j{os.cpu_count()}", f"KDIR={linux.headers}", f"OUT={out}", *settings),
            "CONFIG_DEBUG_INFO_BTF_MODULES=",  # where headers bring vmlinux, it takes pahole
        ],
        cwd=PORT,
        capture_output=True,
        text=True,
        timeout=600,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    return out / "carry.ko", [line for line in said.splitlines() if "warning" in line]


def initrd(folder: Path, init: Path, module: Path, name: str) -> Path:
    root = folder / f"{name}.root"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    shutil.copy(init, root / "init")
    shutil.copy(module, root / "carry.ko")
    archive = subprocess.run(
        ["cpio", "--create", "--format=newc", "--quiet"],
        cwd=root,
        input=b"init\ncarry.ko\n",
        stdout=subprocess.PIPE,
        check=True,
    )
    image = folder / f"{name}.gz"
    image.write_bytes(gzip.compress(archive.stdout, compresslevel=1))
    return image


@pytest.fixture(scope="session")
def sound(folder: Path, linux: DebianKernel, init: Path) -> Path:
    module, warnings = build(folder, linux)
    assert not warnings
    return initrd(folder, init, module, "sound")


def boot(
    linux: DebianKernel, image: Path, model: str, parameters: str = "", options: str = ""
) -> Session:
    """With parameters of the module, and options of Linux."""
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


def check(session: Session) -> None:
    assert not session.failed, session.text
    assert session.has_all_points(), session.text
    assert "BUG:" not in session.text, session.text


@pytest.mark.parametrize("model", MODELS)
def test_module(linux: DebianKernel, sound: Path, model: str) -> None:
    check(boot(linux, sound, model))


def test_parameters(linux: DebianKernel, sound: Path) -> None:
    session = boot(linux, sound, "max", "mask=avx2 copy=rep threshold=100")
    check(session)
    chosen = re.findall(r"^ +(\w+) +(\w+) .* chosen$", session.text, re.MULTILINE)
    assert chosen == [("sum", "adc"), ("copy", "rep"), ("crc32c", "pclmul")], session.text
    assert "sum      without vectors" in session.text
    assert "crc32c   with vectors from 100 bytes on" in session.text


def test_feature_that_linux_does_without(linux: DebianKernel, sound: Path) -> None:
    """The CPU has it, but sections may not save its registers."""
    session = boot(linux, sound, "max", options="clearcpuid=avx2")
    check(session)
    assert re.search(r"^ +sum +avx2 .* needs avx2$", session.text, re.MULTILINE), session.text
    assert re.search(r"^ +sum +adc .* chosen$", session.text, re.MULTILINE), session.text


def test_rows_off_by_one(folder: Path, linux: DebianKernel, init: Path, sound: Path) -> None:
    """Of the table of instructions that may fault: Linux then meets a fault of its own."""
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
