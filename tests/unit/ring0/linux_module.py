# SPDX-License-Identifier: MIT
"""The module of ports/linux: its build, its initial RAM disk, and its output."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from debian_kernel import DebianKernel
from machines import SOURCE

PORT = SOURCE / "ports/linux"


@dataclass
class Session:
    """The output of a machine: TAP of its first process, and indented KTAP of the module."""

    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def failed(self) -> list[str]:
        return [line.strip() for line in self.lines if re.match(r" *not ok ", line)]

    def has_all_points(self) -> bool:
        """Checks that the outer plan, and all plans of the module, are met."""
        for indent in ("", "    "):
            plans = re.findall(rf"^{indent}1\.\.(\d+)$", self.text, re.MULTILINE)
            points = re.findall(rf"^{indent}(?:not )?ok \d+ ", self.text, re.MULTILINE)
            if not plans or sum(map(int, plans)) != len(points):
                return False
        return True


def build_init(folder: Path, compiler: str, architecture: str) -> Path:
    """Builds the first process of the machine."""
    program = folder / "init"
    warnings = ["-Wall", "-Wextra", "-Werror"]
    words = [compiler, "-O2", *warnings, "-static", f"-I{PORT / architecture}"]
    subprocess.run([*words, "-o", program, PORT / "init.c"], check=True, timeout=600)
    return program


def build(folder: Path, linux: DebianKernel, *settings: str) -> tuple[Path, list[str]]:
    """Builds the module; returns it and the warnings. Builds with other settings share most
    objects."""
    out = folder / "module"
    done = subprocess.run(
        [
            *("make", f"-j{os.cpu_count()}", f"KDIR={linux.headers}", f"OUT={out}", *settings),
            "CONFIG_DEBUG_INFO_BTF_MODULES=",  # where headers contain vmlinux, this needs pahole
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


def check(session: Session) -> None:
    assert not session.failed, session.text
    assert session.has_all_points(), session.text
    assert "BUG:" not in session.text, session.text
