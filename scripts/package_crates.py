#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packs the crates for Rust as `cargo package` does, with the sources in C that they compile, which
are links in the repository. The archives depend only on the packed files, not on time, folder or
user.

usage: package_crates.py FOLDER      FOLDER gets NAME-VERSION.crate for each
"""

import gzip
import io
import re
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

CRATES = Path(__file__).resolve().parent.parent / "bindings/rust"
NAMES = ("libcarry-sys", "libcarry")
MANIFEST = "Cargo.toml"
MADE_BY_CARGO = ("Cargo.lock", ".cargo_vcs_info.json")
# The time that Cargo gives all files: long ago, but recent enough that tar does not warn.
TIME = 1_153_704_088


def version(folder: Path) -> str:
    manifest = tomllib.loads((folder / MANIFEST).read_text())
    return str(manifest["package"]["version"])


def packaged_files(folder: Path) -> list[str]:
    """Returns the files that the package of a crate contains, without those that Cargo makes."""
    command = ["cargo", "package", "--offline", "--list", "--allow-dirty"]
    output = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return [
        name
        for name in sorted(output.stdout.splitlines())
        if name not in MADE_BY_CARGO and (folder / name).is_file()
    ]


def published_manifest(manifest: str) -> str:
    """Returns a manifest that depends on crates by version instead of by path."""
    return re.sub(r', path = "\.\./[^"]*"', "", manifest)


def contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    for name in packaged_files(folder):
        data = (folder / name).read_bytes()
        if name == MANIFEST:
            yield name, published_manifest(data.decode()).encode()
            name += ".orig"
        yield name, data


def archive(folder: Path, root: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, data in contents(folder):
            member = tarfile.TarInfo(f"{root}/{name}")
            member.size, member.mtime = len(data), TIME
            tar.addfile(member, io.BytesIO(data))
    return gzip.compress(packed.getvalue(), mtime=0)


def pack_crates(to: Path) -> list[Path]:
    """Writes all crates to a folder; returns their paths."""
    to.mkdir(parents=True, exist_ok=True)
    paths = []
    for name in NAMES:
        root = f"{name}-{version(CRATES / name)}"
        paths.append(to / f"{root}.crate")
        paths[-1].write_bytes(archive(CRATES / name, root))
    return paths


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: package_crates.py FOLDER", file=sys.stderr)
        return 2
    for path in pack_crates(Path(sys.argv[1])):
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
