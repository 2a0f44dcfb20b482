#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packs and unpacks the source of the present commit once, for all builds of it.

usage: present_source.py FOLDER

The source includes changes to files that Git knows. FOLDER gets the archive of make_source,
`commit`, and `libcarry` with the content of the archive. A later call does not touch files that are
still the same, so that builds compile only changed files.
"""

import fcntl
import io
import lzma
import sys
import tarfile
from pathlib import Path

from artefacts import ROOT, ReleaseError, output_of, version

UNPACKED = "libcarry"


def tree_and_parent(commit: str) -> list[str]:
    """Returns tree and parent of a commit. Results of `git stash create` for the same files agree
    in both, although they are different commits."""
    return output_of("git", "rev-parse", f"{commit}^{{tree}}", f"{commit}~").split()


def is_same(old: str, new: str) -> bool:
    """Checks whether two commits have the same files; Git may have lost the old one."""
    try:
        return old == new or tree_and_parent(old) == tree_and_parent(new)
    except ReleaseError:
        return False


def has_bytes(path: Path, data: bytes) -> bool:
    return path.is_file() and not path.is_symlink() and path.read_bytes() == data


def unpack_member(archive: tarfile.TarFile, member: tarfile.TarInfo, to: Path) -> None:
    """Writes a member, unless a file has its bytes already. A written file gets the present
    time."""
    path = to / member.name
    file = archive.extractfile(member) if member.isfile() else None
    if not (file and has_bytes(path, file.read())):
        if not member.isdir():
            path.unlink(missing_ok=True)
        archive.extract(member, to, set_attrs=False)
    if not member.issym():
        path.chmod(member.mode)


def unpack_archive(packed: Path, to: Path) -> None:
    """Makes a folder contain exactly the files of an archive."""
    to.mkdir(exist_ok=True)
    names = {to}
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress(packed.read_bytes()))) as archive:
        for member in archive:
            member.name = member.name.partition("/")[2]
            if member.name:
                unpack_member(archive, member, to)
                names.add(to / member.name)
    for path in sorted(to.rglob("*"), reverse=True):
        if path not in names:
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()


def update(folder: Path) -> None:
    record = folder / "commit"
    commit = output_of("git", "stash", "create") or output_of("git", "rev-parse", "HEAD")
    if record.is_file() and is_same(record.read_text(), commit):
        return
    record.unlink(missing_ok=True)
    for old in folder.glob("libcarry-*.tar.xz"):
        old.unlink()
    output_of(ROOT / "scripts/make_source", folder, commit)
    unpack_archive(folder / f"libcarry-{version()}.tar.xz", folder / UNPACKED)
    record.write_text(commit)


def present_source(folder: Path) -> Path:
    """Returns where the source is unpacked."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        update(folder)
    return folder / UNPACKED


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: present_source.py FOLDER", file=sys.stderr)
        return 2
    try:
        present_source(Path(sys.argv[1]).resolve())
    except (OSError, ReleaseError) as error:
        print(f"present_source.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
