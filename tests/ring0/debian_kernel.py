# SPDX-License-Identifier: MIT
"""Debian's kernel of this release, and what builds modules for it: unpacked, never installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

FLAVOUR = "cloud-amd64"  # the least to fetch and to boot
FETCH_SECONDS = 300
ARCHIVE = re.compile(r"^'\S+' (\S+\.deb) (\d+) ", re.MULTILINE)  # as --print-uris has it


class NoKernelError(Exception):
    """There is none to be had; the message says why."""


@dataclass
class DebianKernel:
    image: Path
    headers: Path


def ask(*words: str | Path, cwd: Path) -> str:
    """What a command of apt or dpkg says."""
    if not shutil.which(str(words[0])):
        raise NoKernelError(f"no {words[0]}: this is not Debian")
    try:
        done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=FETCH_SECONDS)
    except subprocess.TimeoutExpired:
        raise NoKernelError(f"{words[0]} takes longer than {FETCH_SECONDS} s") from None
    if done.returncode:
        error = re.search(r"^E: (.*)$", done.stderr, re.MULTILINE)
        reason = error[1] if error else f"status {done.returncode}"
        raise NoKernelError(f"{words[0]} {words[1]}: {reason}")
    return done.stdout


def depends(package: str, cwd: Path) -> list[str]:
    """The packages of the kernel's source that a package depends on."""
    shown = ask("apt-cache", "depends", package, cwd=cwd)
    return re.findall(
        r"^  Depends: (linux-(?:image|headers|kbuild|compiler)-\S+)$", shown, re.MULTILINE
    )


def packages(cwd: Path) -> list[str]:
    """Of the version that apt would install."""
    image = depends(f"linux-image-{FLAVOUR}", cwd)
    headers = depends(f"linux-headers-{FLAVOUR}", cwd)
    return image + headers + [name for package in headers for name in depends(package, cwd)]


def find_compiler(names: list[str]) -> None:
    """Modules are to be built by the compiler that the kernel was built by."""
    found = re.search(r"linux-compiler-(gcc-\d+)-", " ".join(names))
    if found and not shutil.which(found[1]):
        raise NoKernelError(f"{found[1]}, which the kernel was built by, is not installed")


def relocate(root: Path) -> None:
    """The headers' makefiles name the place where they would be installed."""
    for makefile in root.glob("usr/src/linux-headers-*/Makefile"):
        text = makefile.read_text()
        makefile.write_text(re.sub(r"^include /usr/", f"include {root}/usr/", text))


def unpack(folder: Path, archives: list[Path]) -> Path:
    """What is unpacked stays, until apt has another version."""
    root = folder / "root"
    stamp = folder / "unpacked"
    wanted = "\n".join(archive.name for archive in archives)
    if not stamp.is_file() or stamp.read_text() != wanted:
        stamp.unlink(missing_ok=True)
        shutil.rmtree(root, ignore_errors=True)
        for archive in archives:
            ask("dpkg-deb", "--extract", archive, root, cwd=folder)
        relocate(root)
        stamp.write_text(wanted)
    return root


def fetch(folder: Path) -> DebianKernel:
    """Fetches what `folder` does not hold yet, some 40 MB."""
    store = folder / "archives"
    store.mkdir(parents=True, exist_ok=True)
    names = packages(folder)
    if not names:
        raise NoKernelError(f"apt knows no linux-headers-{FLAVOUR}")
    find_compiler(names)
    listed = ask("apt-get", "download", "--print-uris", *names, cwd=folder)
    sizes = {store / name: int(size) for name, size in ARCHIVE.findall(listed)}
    if any(not path.is_file() or path.stat().st_size != size for path, size in sizes.items()):
        ask("apt-get", "download", *names, cwd=store)
    root = unpack(folder, list(sizes))
    return DebianKernel(
        image=next(root.glob("boot/vmlinuz-*")),
        headers=next(root.glob(f"usr/src/linux-headers-*-{FLAVOUR}")),
    )
