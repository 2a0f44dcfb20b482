# SPDX-License-Identifier: MIT
"""carry --version: the source and the compiler of the build, and the kernels that it runs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from carry_tool import CLEAN, SOURCE, Run

COMMIT = r"[0-9a-f]{40}(?:-modified)?|unknown"
OWN = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]


def facts(carry: Run, **environment: str) -> dict[str, str]:
    done = carry("--version", env=environment or None)
    assert (done.returncode, done.stderr) == (CLEAN, "")
    first, *lines = done.stdout.splitlines()
    assert re.fullmatch(r"carry \d+\.\d+\.\d+", first)
    return {label: text for label, text in (re.split(r" {2,}", line) for line in lines)}


def test_version_names_the_parts(carry: Run) -> None:
    said = facts(carry)
    assert list(said) == ["Commit", "Libraries", "Kernels"]
    assert re.fullmatch(COMMIT, said["Commit"])
    libraries = [item.split(" ") for item in said["Libraries"].split(", ")]
    assert libraries[0][0] == "jansson"
    assert len({name for name, _ in libraries}) == len(libraries)
    for name, version in libraries:
        assert re.fullmatch(r"\d+(\.\d+)+", version), name


@pytest.mark.parametrize("mask", ["", "all"])
def test_kernels_are_those_of_the_cpu(carry: Run, mask: str) -> None:
    cpu = json.loads(carry("cpu", "--json", env={"CARRY_CPU_MASK": mask}).stdout)
    chosen = [f"{name} {cpu[name]['chosen']}" for name in ("sum", "crc32c", "copy")]
    assert facts(carry, CARRY_CPU_MASK=mask)["Kernels"] == ", ".join(chosen)


def git(folder: Path, *words: str) -> bytes:
    return subprocess.run(["git", *OWN, *words], cwd=folder, check=True, capture_output=True).stdout


def commit_of(folder: Path) -> str | None:
    """Returns the commit as the build determines it."""
    done = subprocess.run([folder / "scripts/commit"], capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout.strip() if done.returncode == CLEAN else None


def test_commit_of_a_source(tmp_path: Path) -> None:
    """The commit is known in a clone, with a mark for changes, and in an archive, but not in a
    copy."""
    clone, archive = tmp_path / "clone", tmp_path / "archive"
    (clone / "scripts").mkdir(parents=True)
    shutil.copy(SOURCE / "scripts/commit", clone / "scripts")
    shutil.copy(SOURCE / ".gitattributes", clone)
    assert commit_of(clone) is None
    git(clone, "init", "--quiet")
    git(clone, "add", ".")
    git(clone, "commit", "--quiet", "--message=first")
    head = git(clone, "rev-parse", "HEAD").decode().strip()
    assert commit_of(clone) == head
    (tmp_path / "archive.tar").write_bytes(git(clone, "archive", "HEAD"))
    with tarfile.open(tmp_path / "archive.tar") as tar:
        tar.extractall(archive)
    assert commit_of(archive) == head
    (clone / ".gitattributes").write_text("")
    assert commit_of(clone) == f"{head}-modified"
