# SPDX-License-Identifier: MIT
"""`make release`: its refusals, its output, and its comparison of two releases."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import artefacts
import make_release
import pytest
import set_version
from conftest import SOURCE, git, say


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Returns a minimal project with the files that state the version."""
    folder = tmp_path / "clone"
    for path in {path for path, _ in set_version.PLACES} | {
        "scripts/set_version.py",
        "scripts/version",
    }:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / path, folder / path)
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message=first")
    monkeypatch.setattr(artefacts, "ROOT", folder)
    monkeypatch.setattr(make_release, "ROOT", folder)
    monkeypatch.setattr(make_release, "WORK", folder / "build/release")
    return folder


def refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr(sys, "argv", ["make_release.py", "--here", "dist"])
    assert make_release.main() == 1
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said.removeprefix("make_release.py: ").strip()


def test_refuses_changes(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_release.refuse_changes()
    (clone / "new").write_text("")
    assert refused(monkeypatch, capsys) == "not committed: ?? new"


def test_refuses_a_version_that_news_lack(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    news = clone / "NEWS.md"
    news.write_text(news.read_text().replace(f"## {artefacts.version()},", "## 0.0.9,"))
    git(clone, "commit", "--all", "--quiet", "--message=second")
    said = refused(monkeypatch, capsys)
    assert said == f"NEWS.md: “## 0.0.9,”, and the version is {artefacts.version()}"


def test_a_target_that_fails(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(monkeypatch, capsys)  # there is no Makefile
    assert said == f"make packages failed: {clone}/build/release/packages.log"


def test_unknown_targets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unknown target is refused, and the known ones are listed."""
    monkeypatch.setattr(sys, "argv", ["make_release.py", "nothing"])
    with pytest.raises(SystemExit, match="2"):
        make_release.main()
    assert "unknown targets: nothing; there are dist deb" in capsys.readouterr().err


def test_sums(tmp_path: Path) -> None:
    """SHA256SUMS lists all files, and reveals a changed one."""
    names = ["b", "a b", "deb/c"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    make_release.write_sums(tmp_path, [tmp_path / name for name in names])
    check = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    assert say(*check, folder=tmp_path) == (0, "", "")
    (tmp_path / "deb/c").write_text("changed")
    assert say(*check, folder=tmp_path)[0] == 1


def test_no_artefact_may_be_missing(tmp_path: Path) -> None:
    version = artefacts.version()
    crates = [tmp_path / f"libcarry{end}-{version}.crate" for end in ("-sys", "")]
    for path in (*crates, tmp_path / f"libcarry-{version}.tar.xz"):
        path.write_text("")
    assert make_release.made_files(tmp_path, ["crates"]) == crates
    crates[1].unlink()
    with pytest.raises(artefacts.ReleaseError, match=f"crates made no libcarry-{version}.crate"):
        make_release.made_files(tmp_path, ["crates"])


@pytest.fixture
def both(clone: Path) -> tuple[Path, Path]:
    """Returns two folders with the same release."""
    (clone / "build/release").mkdir(parents=True)
    for name in ("first", "second"):
        (clone / name / "deb").mkdir(parents=True)
        (clone / name / "deb/a").write_text("one\n")
        (clone / name / "deb/a.buildinfo").write_text(name)
    return clone / "first", clone / "second"


def test_the_same(both: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """Two equal folders compare equal."""
    make_release.compare_releases(*both)
    assert capsys.readouterr().out == "1 files, the same both times\n"


def test_different_bytes(both: tuple[Path, Path]) -> None:
    """A file that differs is an error, with a report of the difference."""
    (both[1] / "deb/a").write_text("two\n")
    with pytest.raises(artefacts.ReleaseError, match="1 of 1 files differ when made again"):
        make_release.compare_releases(*both)
    if shutil.which("diffoscope"):
        report = (make_release.WORK / "a.diffoscope").read_text()
        assert "-one\n" in report and "+two\n" in report


@pytest.mark.parametrize("place", [0, 1])
def test_a_file_of_one(both: tuple[Path, Path], place: int) -> None:
    """A file that only one folder has is an error."""
    (both[place] / "b").write_text("")
    with pytest.raises(artefacts.ReleaseError, match="1 of 2 files differ"):
        make_release.compare_releases(*both)
