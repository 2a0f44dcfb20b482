# SPDX-License-Identifier: MIT
"""Tests the files that other projects use to build a release, and the files for GitHub. Each file
is read by its own tool or by a parser of its language; OSS-Fuzz's file is run."""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import tarfile
from pathlib import Path
from typing import Any

import artefacts
import make_recipes
import pytest
from conftest import SOURCE, say

yaml = pytest.importorskip("yaml")

VERSION = artefacts.version()
URL = "https://example.org/a/libcarry"
CONTACT = "a@example.org"
ARCHIVE = b"what others fetch"
EPOCH = {"SOURCE_DATE_EPOCH": "1790000000"}
WORKFLOWS = sorted((SOURCE / ".github/workflows").iterdir())


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    (folder / f"libcarry-{VERSION}.tar.xz").write_bytes(ARCHIVE)
    made = say(SOURCE / "scripts/make_recipes.py", folder, f"{URL}/", CONTACT, env=EPOCH)
    assert made == (0, "", "")
    return folder


@pytest.fixture(scope="module")
def recipes(dist: Path) -> Path:
    """Returns all recipes, unpacked."""
    with tarfile.open(dist / f"libcarry-{VERSION}-recipes.tar.xz") as archive:
        assert {(one.mtime, one.uid, one.gid) for one in archive} == {(1790000000, 0, 0)}
        archive.extractall(dist)
    return dist / f"libcarry-{VERSION}-recipes"


def test_all_is_filled_in(recipes: Path) -> None:
    known = make_recipes.values(recipes.parent, URL, CONTACT)
    used = set()
    for source in make_recipes.recipe_files():
        text = (recipes / source.parent.name / source.name).read_text()
        assert not make_recipes.MARK.search(text)
        used |= set(make_recipes.MARK.findall(source.read_text()))
    assert used == set(known)
    assert known["SHA512"] == hashlib.sha512(ARCHIVE).hexdigest()


def test_second_archive_is_identical(dist: Path, recipes: Path) -> None:
    """The archive of recipes is the same byte for byte when made again."""
    path = dist / f"{recipes.name}.tar.xz"
    before = path.read_bytes()
    command: list[str | Path] = [SOURCE / "scripts/make_recipes.py", dist, URL, CONTACT]
    assert say(*command, env=EPOCH | {"TZ": "Asia/Kolkata"}) == (0, "", "")
    assert path.read_bytes() == before


def test_no_archive(tmp_path: Path) -> None:
    """Without the source archive, the error names it."""
    status, _, said = say(SOURCE / "scripts/make_recipes.py", tmp_path, URL)
    assert status == 1 and said.count("\n") == 1 and f"libcarry-{VERSION}.tar.xz" in said


PORT = """
function(vcpkg_download_distfile out)
  set(${{out}} archive PARENT_SCOPE)
  message(STATUS "fetches ${{ARGN}}")
endfunction()
function(vcpkg_extract_source_archive out)
  set(${{out}} "{source}" PARENT_SCOPE)
endfunction()
function(vcpkg_check_features)
  set(compression {compression} PARENT_SCOPE)
endfunction()
function(vcpkg_configure_meson)
  message(STATUS "configures ${{ARGN}}")
endfunction()
foreach(name install_meson fixup_pkgconfig cmake_config_fixup)
  cmake_language(EVAL CODE "function(vcpkg_${{name}})\nendfunction()")
endforeach()
function(vcpkg_install_copyright)
  cmake_parse_arguments(given "" "" "FILE_LIST" ${{ARGN}})
  file(SIZE "${{given_FILE_LIST}}" size)
endfunction()
set(CURRENT_PACKAGES_DIR "{packages}")
include("{port}")
"""


@pytest.mark.skipif(
    not shutil.which("cmake"), reason="cmake is not installed (Debian package cmake)"
)
@pytest.mark.parametrize(("compression", "wanted"), [("ON", "enabled"), ("OFF", "disabled")])
def test_vcpkg(recipes: Path, tmp_path: Path, compression: str, wanted: str) -> None:
    """The port passes the archive's digest and known options. Fake functions of vcpkg print their
    arguments."""
    names = {"source": SOURCE, "packages": tmp_path, "port": recipes / "vcpkg/portfile.cmake"}
    script = tmp_path / "port.cmake"
    script.write_text(PORT.format(compression=compression, **names))
    status, said, errors = say("cmake", "-P", script)
    assert (status, errors) == (0, "")
    assert f"SHA512;{hashlib.sha512(ARCHIVE).hexdigest()}" in said
    assert f"-Dcompression={wanted}" in said
    assert options_of(said) <= known_options()
    port = json.loads((recipes / "vcpkg/vcpkg.json").read_text())
    assert port["version"] == VERSION
    assert port["default-features"] == ["compression"] == list(port["features"])


def options_of(text: str) -> set[str]:
    return set(re.findall(r"-D(\w+)=", text))


def known_options() -> set[str]:
    own = re.findall(r"^option\('(\w+)'", (SOURCE / "meson_options.txt").read_text(), re.MULTILINE)
    return {*own, "default_library", "prefer_static"}


def test_conan(recipes: Path) -> None:
    """The recipe has the version, the archive's digest and known options. Conan itself is not run:
    it needs a network and its own home folder."""
    text = (recipes / "conan/conanfile.py").read_text()
    (recipe,) = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    fields = {
        node.targets[0].id: node.value.value
        for node in recipe.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
    }
    assert (fields["name"], fields["version"]) == ("libcarry", VERSION)
    assert hashlib.sha256(ARCHIVE).hexdigest() in text
    options = re.findall(r'^            "(\w+)": ', text, re.MULTILINE)
    assert {"jit", "tests", "tool"} < set(options) <= known_options()


def test_homebrew(recipes: Path) -> None:
    """The formula names archive, digest and known options, and Ruby reads it."""
    formula = recipes / "homebrew/carry.rb"
    text = formula.read_text()
    assert f'sha256 "{hashlib.sha256(ARCHIVE).hexdigest()}"' in text
    assert f'url "{URL}/releases/download/v{VERSION}/libcarry-{VERSION}.tar.xz"' in text
    assert options_of(text) <= known_options()
    if not shutil.which("ruby"):
        pytest.skip("ruby is not installed (Debian package ruby)")
    assert say("ruby", "-wc", formula) == (0, "Syntax OK\n", "")
    formula.with_name("broken.rb").write_text(text + "end\n")
    assert say("ruby", "-wc", formula.with_name("broken.rb"))[0] != 0


def test_oss_fuzz_project(recipes: Path) -> None:
    """The project for OSS-Fuzz names its contact, steps and known options."""
    project = yaml.safe_load((recipes / "oss-fuzz/project.yaml").read_text())
    assert project["primary_contact"] == CONTACT
    assert (project["homepage"], project["main_repo"]) == (URL, f"{URL}.git")
    steps = (recipes / "oss-fuzz/Dockerfile").read_text().replace("\\\n", "").splitlines()
    words = {line.split()[0] for line in steps if line and line[0] != "#"}
    assert words == {"COPY", "FROM", "RUN", "WORKDIR"}
    assert os.access(recipes / "oss-fuzz/build.sh", os.X_OK)
    assert options_of((recipes / "oss-fuzz/build.sh").read_text()) <= known_options()


@pytest.mark.skipif(
    not shutil.which("clang++"), reason="clang++ is not installed (Debian package clang)"
)
@pytest.mark.skipif(not shutil.which("zip"), reason="zip is not installed (Debian package zip)")
def test_oss_fuzz_build(recipes: Path, tmp_path: Path) -> None:
    """The build runs as in OSS-Fuzz, for two of the targets, which then find no fault."""
    flags = "-O1 -fno-omit-frame-pointer -gline-tables-only -fsanitize=address"
    flags += " -fsanitize-address-use-after-scope -fsanitize=fuzzer-no-link"
    cached = "ccache " if shutil.which("ccache") else ""
    own = {"CC": f"{cached}clang", "CXX": f"{cached}clang++", "CFLAGS": flags, "CXXFLAGS": flags}
    own |= {"LIB_FUZZING_ENGINE": "-fsanitize=fuzzer", "FUZZERS": "walk capture"}
    for name in ("OUT", "WORK"):
        (tmp_path / name).mkdir()
        own[name] = str(tmp_path / name)
    status, _, said = say(recipes / "oss-fuzz/build.sh", env=own)
    assert status == 0, said
    out = tmp_path / "OUT"
    made = {f"fuzz_{name}{end}" for name in ("walk", "capture") for end in ("", "_seed_corpus.zip")}
    assert {path.name for path in out.iterdir()} == made
    for name in ("fuzz_walk", "fuzz_capture"):
        seeds = tmp_path / name
        shutil.unpack_archive(out / f"{name}_seed_corpus.zip", seeds)
        libraries = say("ldd", out / name)[1]
        assert not re.search(r"lib(?:z|zstd|lzma|lz4|bz2)\.so", libraries)
        status, _, said = say(out / name, "-runs=200", seeds)
        assert status == 0 and re.search(r"Done \d+ runs", said), said


def commands(workflow: dict[str, Any]) -> list[str]:
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    return [step["run"] for step in steps if "run" in step]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: str(path.name))
def test_workflows(path: Path) -> None:
    """The targets of make and the scripts that workflows run exist, and the shell can parse the
    commands."""
    workflow = yaml.safe_load(path.read_text())
    assert {"name", True, "permissions", "jobs"} == set(workflow)  # `on` is true in YAML
    assert workflow["permissions"] == {"contents": "read"}
    for command in commands(workflow):
        assert say("bash", "-nc", command) == (0, "", "")
        for target in re.findall(r"^make ([a-z]+)", command, re.MULTILINE):
            assert re.search(rf"^{target}:", (SOURCE / "Makefile").read_text(), re.MULTILINE)
        for script in re.findall(r"\bscripts/\w+", command):
            assert os.access(SOURCE / script, os.X_OK)
    assert any("make " in command for command in commands(workflow))
