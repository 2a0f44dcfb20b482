# SPDX-License-Identifier: MIT
"""Objects with sites that are loaded and unloaded in one process: see objects.c, share.c and
plugin.c."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import C11, CXX17, FOLDER, Library, call


class Objects:
    """The test program and its objects, built by one compiler."""

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
        # An object that exports the library's symbols uses the copy that was loaded first.
        ("load", "merged"),
        ("churn", "merged"),
        ("copies", "copy"),
    ],
)
def test_scenario(objects: Objects, scenario: str, plugin: str) -> None:
    """Objects with sites are loaded and unloaded without harm."""
    plugins = [objects.folder / f"{plugin}{i}.so" for i in range(2)]
    assert call(objects.program, scenario, *plugins) == "ok\n"


ALTERNATIVES = """
#include <carry/patch.h>
CARRY_C_LINKAGE CARRY_API int alternative(void);
int alternative(void) {
    int result;
    __asm__(CARRY_ALT("mov $1, %0", sse42, "mov $2, %0") : "=r"(result));
    return result;
}
"""

ALTERNATIVES_HOST = """
#include "expect.h"
#include <carry/cpu.h>
#include <carry/patch.h>
#include <dlfcn.h>
int main(int count, char **paths) {
    struct carry_patch_counts before, loaded, after;
    EXPECT(count, 2);
    EXPECT(carry_patch_apply(0), CARRY_OK);
    carry_patch_stats(&before);
    void *handle = dlopen(paths[1], RTLD_NOW);
    int (*alternative)(void) = (int (*)(void))dlsym(handle, "alternative");
    EXPECT(alternative(), carry_cpu_has("sse42") ? 2 : 1);
    carry_patch_stats(&loaded);
    EXPECT(loaded.objects, before.objects + 1);
    EXPECT(loaded.alternatives, before.alternatives + 1);
    dlclose(handle);
    carry_patch_stats(&after);
    EXPECT(after.objects, before.objects);
    EXPECT(after.sites, before.sites);
    return result();
}
"""


@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++", "clang++"])
def test_alternatives_alone(compiler: str, library: Library, tmp_path: Path) -> None:
    """The sites of an object without an operation or key are patched if it declares them."""
    (tmp_path / "alone.c").write_text(f"{ALTERNATIVES}CARRY_PATCH_OBJECT;\n")
    (tmp_path / "host.c").write_text(ALTERNATIVES_HOST)
    language = CXX17 if compiler.endswith("++") else C11
    flags = ["-O2", *language, "-fPIC", "-shared", "alone.c", "-x", "none", *library.shared]
    call(compiler, *flags, "-o", "alone.so", cwd=tmp_path)
    call("gcc", "-O2", *C11, "host.c", *library.shared, "-ldl", "-o", "host", cwd=tmp_path)
    assert call(tmp_path / "host", tmp_path / "alone.so") == "ok\n"


DISCARD = "SECTIONS { /DISCARD/ : { *(carry_sites) } } INSERT AFTER .text;\n"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_dropped_records(compiler: str, library: Library, tmp_path: Path) -> None:
    """Without records the program works, but is not patched, and can detect this."""
    source = FOLDER / "dropped.c"
    compile_file = [compiler, "-O2", *C11]
    (tmp_path / "discard.ld").write_text(DISCARD)
    for name, flags in (("all", []), ("none", ["-DCARRY_NO_SITES"])):
        call(*compile_file, *flags, "-c", source, "-o", f"{name}.o", cwd=tmp_path)
    call("objcopy", "--remove-section=carry_sites", "all.o", "stripped.o", cwd=tmp_path)

    def run(name: str, *words: str) -> str:
        call(compiler, *words, *library.shared, "-pthread", "-o", name, cwd=tmp_path)
        return call(tmp_path / name)

    of_library = int(run("unsited", "none.o").split()[0])
    assert run("whole", "all.o") == f"{of_library + 2} 0 0 ok\n"
    for name, *words in (
        ("unsited", "none.o"),
        ("stripped", "stripped.o"),
        ("discarded", "all.o", "-fuse-ld=bfd", "-Wl,-T,discard.ld"),
    ):
        assert run(name, *words) == f"{of_library} 2 0 ok\n"
    # Removes the section from a linked program, in which objcopy overwrites it with zeros.
    call("objcopy", "--remove-section=carry_sites", "whole", "emptied", cwd=tmp_path)
    assert call(tmp_path / "emptied") == f"{of_library + 2} 0 2 ok\n"


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_unwinding(compiler: str, level: str, library: Library, tmp_path: Path) -> None:
    """Exceptions pass through patched sites."""
    program = tmp_path / "unwind"
    source = FOLDER / "unwind.cc"
    call(compiler, level, *CXX17, source, *["-x", "none"], *library.shared, "-o", program)
    assert call(program) == "ok\n"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_patched_before_import(compiler: str, library: Library, tmp_path: Path) -> None:
    """A library that patches in its constructor works in a program that imports it."""
    share, program = tmp_path / "libshare.so", tmp_path / "importer"
    flags = [compiler, "-O2", *C11]
    call(
        *flags,
        "-fPIC",
        "-shared",
        "-DSHARE_APPLIES",
        FOLDER / "share.c",
        *library.shared,
        "-o",
        share,
    )
    call(
        *flags, "-fno-pie", "-no-pie", FOLDER / "importer.c", share, *library.shared, "-o", program
    )
    assert call(program) == "ok\n"
