# SPDX-License-Identifier: MIT
"""The SBOM of a release is complete, and valid SPDX."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import artefacts
import make_sbom
import pytest
from conftest import SOURCE, say

EPOCH = {"SOURCE_DATE_EPOCH": "1790000000"}
VERSION = artefacts.version()
NAME = f"libcarry-{VERSION}.spdx.json"
FILES = [
    f"libcarry-{VERSION}.tar.xz",
    f"deb/libcarry0_{VERSION}-1_amd64.deb",
    f"deb/libcarry-jit0_{VERSION}~20260926-1_amd64.deb",
    f"deb/carry_{VERSION}-1_amd64.deb",
    f"deb/carry-dbgsym_{VERSION}-1_amd64.deb",
    f"deb/libcarry_{VERSION}-1.dsc",
    f"deb/libcarry_{VERSION}.orig.tar.xz",
    f"carry-{VERSION}-linux-x86_64",
    f"carry-{VERSION}-linux-aarch64",
    f"carry-{VERSION}-linux-licences.txt",
    f"libcarry-sys-{VERSION}.crate",
    f"libcarry-{VERSION}.crate",
    f"libcarry-{VERSION}-cp311-abi3-manylinux_2_28_x86_64.whl",
]
needs_spdx = pytest.mark.skipif(
    not importlib.util.find_spec("spdx_tools"),
    reason="pip brought no spdx-tools to the step release",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a release of files that contain their names, and other files that are not part of
    it."""
    folder = tmp_path_factory.mktemp("made")
    for name in [*FILES, "other.txt", "libcarry-0.0.9.tar.xz", f"deb/carry_{VERSION}.changes"]:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    assert say(SOURCE / "scripts/make_sbom.py", folder, env=EPOCH) == (0, "", "")
    return folder


@pytest.fixture
def dist(made: Path, tmp_path: Path) -> Path:
    """Returns a copy that a test may change."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def document(dist: Path) -> dict[str, Any]:
    return json.loads((dist / NAME).read_text())  # type: ignore[no-any-return]


def test_names_each_file(document: dict[str, Any]) -> None:
    sums = {
        package["packageFileName"]: package["checksums"]
        for package in document["packages"]
        if "packageFileName" in package
    }
    assert sums == {
        name: [
            {
                "algorithm": "SHA256",
                "checksumValue": hashlib.sha256(name.encode()).hexdigest(),
            }
        ]
        for name in FILES
    }


def test_each_library_of_the_build_is_named() -> None:
    named = [name for component in artefacts.COMPONENTS for name in component.meson]
    assert artefacts.asked_for() == set(named)
    assert len(named) == len(set(named))


def test_a_library_that_was_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Libraries that a meson.build or unpackers.def names are found."""
    before = artefacts.asked_for()
    for top in ("src", "jit", "capture", "bindings", "tools"):
        for path in (SOURCE / top).rglob("meson.build"):
            copy = tmp_path / path.relative_to(SOURCE)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(path.read_text())
    table = "capture/unpackers.def"
    (tmp_path / table).write_text((SOURCE / table).read_text())
    monkeypatch.setattr(artefacts, "ROOT", tmp_path)
    assert artefacts.asked_for() == before
    for file, line, names in (
        ("src/meson.build", "x = dependency('libx', required: false)\n", {"libx"}),
        ("tools/carry/meson.build", "y = cc.find_library('y')\n", {"y"}),
        (table, "CARRY_UNPACKER(z, libz2, z2, z_version())\n", {"libz2", "z2"}),
    ):
        with (tmp_path / file).open("a") as build:
            build.write(line)
        before |= names
        assert artefacts.asked_for() == before


def test_each_file_is_of_one_row(dist: Path) -> None:
    assert sorted(path for _, path in artefacts.found_artefacts(dist)) == sorted(
        dist / f for f in FILES
    )


def test_relations_are_of_what_is_there(document: dict[str, Any]) -> None:
    ids = [package["SPDXID"] for package in document["packages"]]
    assert len(ids) == len(set(ids))
    related = {
        relation[end]
        for relation in document["relationships"]
        for end in ("spdxElementId", "relatedSpdxElement")
    }
    assert related == {*ids, "SPDXRef-DOCUMENT"}
    for artefact in artefacts.ARTEFACTS:
        known = {component.name for component in artefacts.COMPONENTS}
        assert {*artefact.holds, *artefact.needs} <= known


def test_versions_are_those_of_this_system(document: dict[str, Any]) -> None:
    of_debian = {p["name"]: p for p in document["packages"] if "externalRefs" in p}
    assert set(of_debian) == {component.name for component in artefacts.COMPONENTS}
    version = say("dpkg-query", "-W", "-f", "${Version}", "zlib1g-dev")[1]
    assert of_debian["zlib"]["versionInfo"] == version
    address = of_debian["zlib"]["externalRefs"][0]["referenceLocator"]
    assert address.startswith(f"pkg:deb/debian/zlib1g-dev@{version.replace(':', '%3A')}?")


def test_second_document_is_identical(dist: Path, document: dict[str, Any]) -> None:
    """The document is the same byte for byte when made again."""
    first = (dist / NAME).read_bytes()
    assert document["creationInfo"]["created"] == "2026-09-21T14:13:20Z"
    say(SOURCE / "scripts/make_sbom.py", dist, env=EPOCH | {"TZ": "Asia/Kolkata", "LC_ALL": "C"})
    assert (dist / NAME).read_bytes() == first


def test_a_package_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = artefacts.Component("absent", "libabsent-dev", "MIT", ())
    monkeypatch.setattr(make_sbom, "COMPONENTS", [absent])
    monkeypatch.setattr(sys, "argv", ["make_sbom.py", str(tmp_path)])
    assert make_sbom.main() == 1
    said = capsys.readouterr().err
    assert said == "make_sbom.py: dpkg-query: no packages found matching libabsent-dev\n"
    assert not list(tmp_path.iterdir())


def change_licence(document: dict[str, Any]) -> None:
    document["packages"][-1]["licenseDeclared"] = "No-Such-Licence"


def change_relation(document: dict[str, Any]) -> None:
    document["relationships"][-1]["relatedSpdxElement"] = "SPDXRef-absent"


@needs_spdx
@pytest.mark.parametrize("mutate", [None, change_licence, change_relation])
def test_valid_by_a_second_opinion(
    dist: Path, document: dict[str, Any], mutate: Callable[[dict[str, Any]], None] | None
) -> None:
    """The tools of SPDX accept the document, and refuse a changed one."""
    if mutate:
        mutate(document)
        (dist / NAME).write_text(json.dumps(document))
    tool = Path(sys.executable).parent / "pyspdxtools"
    status, _, said = say(tool, "--infile", dist / NAME)
    assert (status == 0) == (mutate is None), said
