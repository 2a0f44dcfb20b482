# SPDX-License-Identifier: MIT
"""Objects with sites that come and go in one process: see objects.c, share.c and plugin.c."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import C11, FOLDER, Library, call


class Objects:
    """The test program and its objects, by one compiler."""

    def __init__(self, compiler: str, folder: Path, library: Library) -> None:
        self.folder = folder
        self.compile = [compiler, "-O2", "-g", *C11]
        self.pic = [*self.compile, "-fPIC", "-shared"]
        share = self.object("libshare.so", "share.c", *library.shared)
        self.share = [share, f"-Wl,-rpath,{folder}"]
        for i in range(2):
            self.object(f"plugin{i}.so", "plugin.c", *self.share, *library.shared)
            own = [*self.share, library.static]
            self.object(f"merged{i}.so", "plugin.c", *own)
            self.object(f"copy{i}.so", "plugin.c", *own, "-Wl,--exclude-libs,ALL")
        self.program = folder / "objects"
        call(
            *self.compile,
            FOLDER / "objects.c",
            *self.share,
            *library.shared,
            "-rdynamic",
            "-o",
            self.program,
        )

    def object(self, name: str, source: str, *words: str | Path) -> Path:
        call(*self.pic, FOLDER / source, *words, "-o", self.folder / name)
        return self.folder / name


@pytest.fixture(scope="module", params=["gcc", "clang"])
def objects(
    request: pytest.FixtureRequest, library: Library, tmp_path_factory: pytest.TempPathFactory
) -> Objects:
    return Objects(request.param, tmp_path_factory.mktemp("objects"), library)


@pytest.mark.parametrize(
    ("scenario", "plugin"),
    [
        ("load", "plugin"),
        ("imports", "plugin"),
        ("names", "plugin"),
        ("churn", "plugin"),
        ("exit", "plugin"),
        ("inside", "plugin"),
        ("alias", "plugin"),
        # A library in an object that shows its symbols gives way to the one loaded first.
        ("load", "merged"),
        ("churn", "merged"),
        ("copies", "copy"),
    ],
)
def test_scenario(objects: Objects, scenario: str, plugin: str) -> None:
    plugins = [objects.folder / f"{plugin}{i}.so" for i in range(2)]
    assert call(objects.program, scenario, *plugins, seconds=20) == "ok\n"
