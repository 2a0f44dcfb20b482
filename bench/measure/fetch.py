# SPDX-License-Identifier: MIT
"""Debian packages of peers: downloaded and unpacked, never installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path


class FetchError(Exception):
    """Why a package could not be had."""


def output(*command: str, folder: Path | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FetchError(str(error)) from error
    if done.returncode:
        errors = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise FetchError(f"{command[0]}: {errors[-1]}")
    return done.stdout


def meant_by(package: str) -> list[str]:
    """The package, and what it stands for: linux-source is linux-source-6.1."""
    stem = package.removesuffix("-dev")
    depends = re.findall(r"Depends: (\S+)", output("apt-cache", "depends", package))
    return [package, *(name for name in depends if name.startswith(stem))]


def fetch_package(package: str, debs: Path) -> None:
    """Leaves it unpacked as `debs`/`package`, and its version beside that."""
    folder = debs / package
    if folder.is_dir():
        return
    names = meant_by(package)
    downloads = debs / "downloads"
    shutil.rmtree(downloads, ignore_errors=True)
    downloads.mkdir(parents=True)
    output("apt-get", "-q", "download", *names, folder=downloads)
    unpacked = downloads / "unpacked"
    versions = set()
    for archive in downloads.glob("*.deb"):
        output("dpkg-deb", "-x", str(archive), str(unpacked))
        versions.add(output("dpkg-deb", "-f", str(archive), "Version").strip())
    # The longest belongs to what the others stand for.
    (debs / f"{package}.version").write_text(max(versions, key=len) + "\n")
    unpacked.rename(folder)
    shutil.rmtree(downloads)


def fetch_packages(packages: Iterable[str], debs: Path) -> dict[str, str]:
    """Which could not be had, and why."""
    failed = {}
    for package in packages:
        try:
            fetch_package(package, debs)
        except FetchError as error:
            failed[package] = str(error)
    return failed
