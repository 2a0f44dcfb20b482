# SPDX-License-Identifier: MIT
"""The source archive, and builds from it without Git."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import pytest
from conftest import SOURCE, git, say

VERSION = say(SOURCE / "scripts/version")[1].strip()
NAME = f"libcarry-{VERSION}.tar.xz"
MINIMAL = ".git*", "scripts/make_source", "scripts/version", "include/carry/base.h"
PRESENT = "scripts/artefacts.py", "scripts/present_source.py"


def test_archive_is_identical_elsewhere(release: Path, tmp_path: Path) -> None:
    """The archive is the same from another clone, umask, time zone and locale, and with a user's
    settings of Git and xz."""
    commit = (release / "commit").read_text()
    clone, dist = tmp_path / "a clone", tmp_path / "a dist"
    git(tmp_path, "clone", "--quiet", "--no-checkout", SOURCE, clone)
    git(clone, "fetch", "--quiet", SOURCE, commit)
    git(clone, "checkout", "--quiet", commit)
    git(clone, "config", "tar.umask", "0077")
    git(clone, "config", "core.autocrlf", "true")
    own = {"TZ": "Asia/Kolkata", "LC_ALL": "C", "XZ_OPT": "-9", "XZ_DEFAULTS": "--check=none"}
    command = 'umask 077; exec scripts/make_source "$1" "$2"'
    said = say("sh", "-c", command, "sh", dist, commit, folder=clone, env=own)
    assert said == (0, "", "")
    assert [path.name for path in dist.iterdir()] == [NAME]
    assert (dist / NAME).read_bytes() == (release / "dist" / NAME).read_bytes()


def test_holds_what_the_commit_has(release: Path) -> None:
    commit = (release / "commit").read_text()
    wanted = set(git(SOURCE, "ls-tree", "-r", "--name-only", "-z", commit).split("\0")) - {""}
    seconds = int(git(SOURCE, "show", "-s", "--format=%ct", commit))
    top = f"libcarry-{VERSION}/"
    with tarfile.open(release / "dist" / NAME) as archive:
        members = archive.getmembers()
    names = [member.name for member in members if not member.isdir()]
    assert {name.removeprefix(top) for name in names} == wanted
    assert len(names) == len(set(names))
    for member in members:
        assert member.name.startswith(top.rstrip("/"))
        assert (member.mtime, member.uid, member.gid) == (seconds, 0, 0)
        assert member.issym() or member.mode & 0o7777 in (0o644, 0o755, 0o775), member.name


def test_builds_without_git(release: Path) -> None:
    """The tool of the first of the compared builds, which had no Git, reports its commit and
    works."""
    if not (release / "builds").is_dir():
        pytest.skip(
            "nothing was built twice: reprotest is not installed (Debian package reprotest)"
        )
    root = release / "builds/control/source-root/installed/usr"
    (libraries,) = [path.parent for path in root.glob("lib/**/libcarry.so.0")]
    own = {"LD_LIBRARY_PATH": str(libraries)}
    status, said, _ = say(root / "bin/carry", "--version", env=own)
    lines = [line.split() for line in said.splitlines()]
    assert (status, lines[0]) == (0, ["carry", VERSION])
    assert lines[1] == ["Commit", (release / "commit").read_text()]
    status, said, _ = say(root / "bin/carry", "check", SOURCE / "examples/offload.pcapng", env=own)
    assert (status, said.splitlines()[-1]) == (0, "clean, 4 left to transmit offload")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """Returns a project with the script and the files that the script needs."""
    folder = tmp_path / "clone"
    for path in (found for pattern in (*MINIMAL, *PRESENT) for found in SOURCE.glob(pattern)):
        if path.is_file():
            (folder / path.relative_to(SOURCE)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / path.relative_to(SOURCE))
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message=first")
    return folder


def test_refuses_what_is_not_committed(clone: Path, tmp_path: Path) -> None:
    make = [clone / "scripts/make_source", tmp_path / "dist"]
    assert say(*make) == (0, "", "")
    (clone / "new").write_text("")
    assert say(*make) == (1, "", "make_source: not committed: ?? new\n")
    shutil.rmtree(clone / ".git")
    assert say(*make) == (1, "", "make_source: this is no clone, so no commit is known\n")
    assert [path.name for path in (tmp_path / "dist").iterdir()] == [NAME]


def test_a_commit_that_is_not_there(clone: Path, tmp_path: Path) -> None:
    status, _, said = say(clone / "scripts/make_source", tmp_path / "dist", "no-such-commit")
    assert status != 0 and "no-such-commit" in said
    assert not list((tmp_path / "dist").iterdir())


def contents(folder: Path) -> dict[str, bytes]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def pack_present(clone: Path, folder: Path) -> tuple[str, bytes]:
    """Returns the packed commit and its archive. Checks that the unpacked source is equal to the
    contents of the archive."""
    env = {"PYTHONDONTWRITEBYTECODE": "1"} | {
        f"GIT_{who}_{what}": "a@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    assert say(clone / "scripts/present_source.py", folder, env=env) == (0, "", "")
    unpacked = folder.parent / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    shutil.unpack_archive(folder / NAME, unpacked)
    assert contents(folder / "libcarry") == contents(unpacked / NAME.removesuffix(".tar.xz"))
    return (folder / "commit").read_text(), (folder / NAME).read_bytes()


def test_the_present_source_is_packed_once(clone: Path, tmp_path: Path) -> None:
    folder = tmp_path / "source"
    first = pack_present(clone, folder)
    assert first[0] == git(clone, "rev-parse", "HEAD")
    (folder / NAME).write_bytes(first[1] + b"kept")
    say(clone / "scripts/present_source.py", folder)
    assert (folder / NAME).read_bytes() == first[1] + b"kept"


def test_the_present_source_has_what_changed(clone: Path, tmp_path: Path) -> None:
    """Changed files are updated, and files that the source lacks are removed. Unchanged files keep
    their time, so that a build recognises them."""
    folder = tmp_path / "source"
    (clone / "old").write_text("")
    git(clone, "add", "old")
    git(clone, "commit", "--quiet", "--message=second")
    pack_present(clone, folder)
    version = folder / "libcarry/scripts/version"
    before = version.stat().st_mtime_ns
    (clone / "old").unlink()
    (folder / "libcarry/made").write_text("")
    header = clone / "include/carry/base.h"
    header.write_text(header.read_text() + "/* changed */\n")
    changed = pack_present(clone, folder)
    assert (folder / "libcarry/include/carry/base.h").read_text() == header.read_text()
    assert not {"old", "made"} & set(contents(folder / "libcarry"))
    assert version.stat().st_mtime_ns == before
    assert pack_present(clone, folder) == changed
