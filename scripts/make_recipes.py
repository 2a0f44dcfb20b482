#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fills in the files of packaging/ by which other projects build a release.

usage: make_recipes.py DIST URL [CONTACT]

DIST contains the source archive, and gets libcarry-VERSION-recipes.tar.xz. URL is the repository's,
on GitHub: the recipes fetch the archive from there, from the release with the name of the version.
CONTACT is the address that OSS-Fuzz sends reports to (default: the author of the newest commit).
"""

import hashlib
import io
import re
import sys
import tarfile
from pathlib import Path

import artefacts
from artefacts import ROOT, ReleaseError, output_of

FOLDERS = ("conan", "homebrew", "oss-fuzz", "vcpkg")
MARK = re.compile(r"@([A-Z0-9]+)@")


def values(dist: Path, url: str, contact: str) -> dict[str, str]:
    version = artefacts.version()
    archive = dist / f"libcarry-{version}.tar.xz"
    data = archive.read_bytes()
    return {
        "CONTACT": contact,
        "HOME": url,
        "SHA256": hashlib.sha256(data).hexdigest(),
        "SHA512": hashlib.sha512(data).hexdigest(),
        "URL": f"{url}/releases/download/v{version}/{archive.name}",
        "VERSION": version,
    }


def recipe_files() -> list[Path]:
    """Returns the files that are filled in."""
    paths = (path for folder in FOLDERS for path in (ROOT / "packaging" / folder).iterdir())
    return sorted(path for path in paths if path.is_file())


def filled(source: Path, known: dict[str, str]) -> str:
    return MARK.sub(lambda mark: known[mark[1]], source.read_text())


def write_recipes(dist: Path, url: str, contact: str) -> Path:
    """Packs the files, filled in; returns the path of the archive."""
    known = values(dist, url.removesuffix("/"), contact)
    top = f"libcarry-{known['VERSION']}-recipes"
    path = dist / f"{top}.tar.xz"
    seconds = artefacts.release_time()
    with tarfile.open(path, "w:xz", format=tarfile.GNU_FORMAT) as archive:
        for source in recipe_files():
            data = filled(source, known).encode()
            name = f"{top}/{source.parent.name}/{source.name}"
            member = tarfile.TarInfo(name)
            member.size, member.mtime = len(data), seconds
            member.mode = 0o755 if source.suffix == ".sh" else 0o644
            archive.addfile(member, io.BytesIO(data))
    return path


def main() -> int:
    if len(sys.argv) not in (3, 4):
        print("usage: make_recipes.py DIST URL [CONTACT]", file=sys.stderr)
        return 2
    dist, url, *contact = sys.argv[1:]
    try:
        write_recipes(
            Path(dist), url, *(contact or [output_of("git", "log", "-1", "--format=%ae")])
        )
    except (OSError, ReleaseError) as error:
        print(f"make_recipes.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
