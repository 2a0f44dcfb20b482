# SPDX-License-Identifier: MIT
"""Downloads and unpacks Debian packages of peers, and sources, without installing them.

A name may end with a release, as in libdpdk-dev@trixie. Without one, the package comes from the
releases that this system uses.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path


class FetchError(Exception):
    """Reports why a package is not available."""


def output(*command: str, folder: Path | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FetchError(str(error)) from error
    if done.returncode:
        errors = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise FetchError(f"{command[0]}: {errors[-1]}")
    return done.stdout


def resolve_package(package: str) -> list[str]:
    """Returns a package, and the packages of similar names that it refers to: for linux-source,
    also linux-source-6.1."""
    stem = package.removesuffix("-dev")
    depends = re.findall(r"Depends: (\S+)", output("apt-cache", "depends", package))
    return [package, *(name for name in depends if name.startswith(stem))]


def own_apt(kind: str, release: str, folder: Path) -> list[str]:
    """Returns an apt-get command with its own lists, of packages (deb) or sources (deb-src)."""
    shown = f"{kind} $(REPO_URI) {release or '$(RELEASE)'} $(COMPONENT)"
    asked = ["indextargets", "--format", shown, "Created-By: Packages", "Origin: Debian"]
    asked += ["Label: Debian"] if release else []  # other archives lack such a release
    rows = sorted(set(output("apt-get", *asked).splitlines()))
    (folder / "sources.list").write_text("".join(f"{row}\n" for row in rows))
    for name in ("lists", "cache"):
        (folder / name / "partial").mkdir(parents=True, exist_ok=True)
    places = {
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "APT::Sandbox::User": "root",
    }
    apt = ["apt-get", "-q", *(word for key in places for word in ("-o", f"{key}={places[key]}"))]
    output(*apt, "update")
    return apt


def download(package: str, release: str, folder: Path) -> None:
    if release:
        output(*own_apt("deb", release, folder), "download", package, folder=folder)
    else:
        output("apt-get", "-q", "download", *resolve_package(package), folder=folder)


def fetch_package(name: str, debs: Path) -> None:
    """Unpacks a package into `debs`/`package`, and writes its version beside it."""
    package, _, release = name.partition("@")
    folder = debs / package
    if folder.is_dir():
        return
    downloads = debs / "downloads"
    shutil.rmtree(downloads, ignore_errors=True)
    downloads.mkdir(parents=True)
    download(package, release, downloads)
    unpacked = downloads / "unpacked"
    versions = set()
    for archive in downloads.glob("*.deb"):
        output("dpkg-deb", "-x", str(archive), str(unpacked))
        versions.add(output("dpkg-deb", "-f", str(archive), "Version").strip())
    # The package to which the others refer has the longest version.
    (debs / f"{package}.version").write_text(max(versions, key=len) + "\n")
    unpacked.rename(folder)
    shutil.rmtree(downloads)


def fetch_source(name: str, debs: Path) -> None:
    """Unpacks an upstream source into `debs`/`package`-source; writes its version beside it."""
    package, _, release = name.partition("@")
    folder = debs / f"{package}-source"
    if folder.is_dir():
        return
    downloads = debs / "downloads"
    shutil.rmtree(downloads, ignore_errors=True)
    unpacked = downloads / "unpacked"
    unpacked.mkdir(parents=True)
    apt = own_apt("deb-src", release, downloads)
    output(*apt, "source", "--tar-only", package, folder=downloads)
    archives = sorted(downloads.glob("*.orig.tar.*"))
    if not archives:
        raise FetchError(f"the source of {package} has no archive")
    output("tar", "-C", str(unpacked), "--strip-components=1", "-xf", str(archives[0]))
    version = archives[0].name.partition("_")[2].partition(".orig.tar")[0]
    (debs / f"{package}-source.version").write_text(version + "\n")
    unpacked.rename(folder)
    shutil.rmtree(downloads)


def fetch_all(
    fetch: Callable[[str, Path], None], packages: Iterable[str], debs: Path
) -> dict[str, str]:
    """Fetches packages; returns the unavailable packages, with the reasons."""
    failed = {}
    for package in packages:
        try:
            fetch(package, debs)
        except FetchError as error:
            failed[package] = str(error)
    return failed


def fetch_packages(packages: Iterable[str], debs: Path) -> dict[str, str]:
    return fetch_all(fetch_package, packages, debs)


def fetch_sources(packages: Iterable[str], debs: Path) -> dict[str, str]:
    return fetch_all(fetch_source, packages, debs)
