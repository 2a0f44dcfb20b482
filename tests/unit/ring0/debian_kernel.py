# SPDX-License-Identifier: MIT
"""Debian's kernel of this release and the packages that build modules for it: unpacked, not
installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

FLAVOUR = "cloud-amd64"  # the smallest to fetch and to boot
FLAVOUR_AARCH64 = "cloud-arm64"
FETCH_SECONDS = 300
ARCHIVE = re.compile(r"^'\S+' (\S+\.deb) (\d+) ", re.MULTILINE)  # the format of --print-uris


class NoKernelError(Exception):
    """The kernel is not available; the message states the reason."""


@dataclass
class DebianKernel:
    image: Path
    headers: Path


def ask(*words: str | Path, cwd: Path) -> str:
    """Returns the output of a command of apt or dpkg; uses an apt.conf in `cwd` or the folder
    above."""
    found = [path for path in (cwd / "apt.conf", cwd.parent / "apt.conf") if path.exists()]
    settings = {"APT_CONFIG": str(found[0])} if found else {}
    if not shutil.which(str(words[0])):
        raise NoKernelError(f"no {words[0]}: this is not Debian")
    try:
        done = subprocess.run(
            words,
            cwd=cwd,
            env=os.environ | settings,
            capture_output=True,
            text=True,
            timeout=FETCH_SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise NoKernelError(f"{words[0]} takes longer than {FETCH_SECONDS} s") from None
    if done.returncode:
        error = re.search(r"^E: (.*)$", done.stderr, re.MULTILINE)
        reason = error[1] if error else f"status {done.returncode}"
        raise NoKernelError(f"{words[0]} {words[1]}: {reason}")
    return done.stdout


def depends(package: str, cwd: Path) -> list[str]:
    """Returns the packages that a package depends on and that the kernel's source builds."""
    shown = ask("apt-cache", "depends", package, cwd=cwd)
    return re.findall(
        r"^  Depends: (linux-(?:image|headers|kbuild|compiler)-\S+)$", shown, re.MULTILINE
    )


def packages(cwd: Path) -> list[str]:
    """Returns the kernel's packages, in the version that apt would install."""
    image = depends(f"linux-image-{FLAVOUR}", cwd)
    headers = depends(f"linux-headers-{FLAVOUR}", cwd)
    return image + headers + [name for package in headers for name in depends(package, cwd)]


def find_compiler(names: list[str]) -> None:
    """Raises NoKernelError unless the compiler that built the kernel is installed."""
    found = re.search(r"linux-compiler-(gcc-\d+)-", " ".join(names))
    if found and not shutil.which(found[1]):
        raise NoKernelError(f"{found[1]}, which the kernel was built by, is not installed")


def relocate(root: Path) -> None:
    """Makes the headers' makefiles include files below `root` instead of the installation's
    folder."""
    for makefile in root.glob("usr/src/linux-headers-*/Makefile"):
        text = makefile.read_text()
        makefile.write_text(re.sub(r"^include /usr/", f"include {root}/usr/", text))


def unpack(folder: Path, archives: list[Path]) -> Path:
    """Unpacks the archives, and keeps the result until apt has another version."""
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


def get(folder: Path, names: list[str], flavour: str) -> DebianKernel:
    """Fetches the packages that `folder` lacks, some 40 MB."""
    store = folder / "archives"  # apt does not list archives in its working folder
    store.mkdir(exist_ok=True)
    listed = ask("apt-get", "download", "--print-uris", *names, cwd=folder)
    sizes = {store / name: int(size) for name, size in ARCHIVE.findall(listed)}
    if any(not path.is_file() or path.stat().st_size != size for path, size in sizes.items()):
        ask("apt-get", "download", *names, cwd=store)
    root = unpack(folder, list(sizes))
    return DebianKernel(
        image=next(root.glob("boot/vmlinuz-*")),
        headers=next(root.glob(f"usr/src/linux-headers-*-{flavour}")),
    )


def fetch(folder: Path) -> DebianKernel:
    folder.mkdir(parents=True, exist_ok=True)
    names = packages(folder)
    if not names:
        raise NoKernelError(f"apt knows no linux-headers-{FLAVOUR}")
    find_compiler(names)
    return get(folder, names, FLAVOUR)


# --- AArch64: package lists in the folder, because the system's lists lack this architecture ---

APT_SETTINGS = """
APT::Architecture "amd64";
APT::Architectures {{ "amd64"; "arm64"; }};
Dir::State "{folder}/state";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
Dir::Etc::sourcelist "{sources}";
Dir::Etc::sourceparts "/nonexistent";
Acquire::Languages "none";
"""
SOURCES = ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list")


def list_packages(folder: Path) -> None:
    for name in ("state/lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    sources = next((path for path in SOURCES if Path(path).is_file()), None)
    if not sources:
        raise NoKernelError("no list of Debian's archives")
    (folder / "apt.conf").write_text(APT_SETTINGS.format(folder=folder, sources=sources))
    ask("apt-get", "update", cwd=folder)


def fetch_aarch64(folder: Path) -> DebianKernel:
    """Fetches the packages. The compiler and the scripts for modules run on this machine."""
    folder.mkdir(parents=True, exist_ok=True)
    list_packages(folder)
    found = re.search(
        rf"Depends: (linux-headers-(\S+)-{FLAVOUR_AARCH64}):arm64",
        ask("apt-cache", "depends", f"linux-headers-{FLAVOUR_AARCH64}:arm64", cwd=folder),
    )
    if not found:
        raise NoKernelError(f"apt knows no linux-headers-{FLAVOUR_AARCH64}")
    headers, release = found.groups()
    shown = ask("apt-cache", "depends", f"{headers}:arm64", cwd=folder)
    scripts = re.search(r"Depends: (linux-kbuild-[^:\s]+)", shown)
    compiler = re.search(r"Depends: (gcc-\d+)", shown)
    if not scripts or not compiler:
        raise NoKernelError(f"{headers} depends on no scripts, or on no compiler")
    if not shutil.which(f"aarch64-linux-gnu-{compiler[1]}"):
        raise NoKernelError(f"aarch64-linux-gnu-{compiler[1]} is not installed")
    image = f"linux-image-{release}-{FLAVOUR_AARCH64}:arm64"
    common = f"linux-headers-{release}-common"
    return get(folder, [image, f"{headers}:arm64", common, scripts[1]], FLAVOUR_AARCH64)
