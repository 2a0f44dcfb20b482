# SPDX-License-Identifier: MIT
"""Programs of other projects, using only installed headers and libraries: see cells.py."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from cells import TABLE, WAYS, Cell, Way
from conftest import FOLDER, SECONDS, Library, Strangers, ask, needs

# The source files of programs that do not consist of NAME.c.
SOURCES = {
    "keys": ["keys.c", "keys_use.c"],
    "namespaces": ["namespaces.cc"],
    "contexts": ["contexts.cc"],
    "results": ["results.cc"],
}


class RefusedError(Exception):
    """The compiler or the linker refused with this message."""


def language(way: Way, source: Path) -> list[str | Path]:
    is_cxx = way.compiler.endswith("++") and source.suffix == ".c"
    return ["-x", "c++", source, "-x", "none"] if is_cxx else [source]


def link_flags(way: Way, library: Library) -> list[str]:
    if way.static:
        return ["-static", *library.flags("--static", "--libs")]
    return [*library.flags("--libs"), f"-Wl,-rpath,{library.folder}"]


def make(way: Way, library: Library, sources: list[Path], *extra: str, folder: Path) -> Path:
    """Compiles and links; raises the tools' messages if they refuse."""
    words: list[str | Path] = [way.compiler, *way.flags, "-D_GNU_SOURCE", "-pthread"]
    words += library.flags("--cflags")
    words += [word for source in sources for word in language(way, source)]
    done = ask(*words, *extra, *link_flags(way, library), "-o", folder / "program", cwd=folder)
    if done.returncode:
        raise RefusedError(done.stdout)
    return folder / "program"


# --- Ways to run programs ---


def valgrind(*options: str) -> Callable[[list[str]], str]:
    def run(command: list[str]) -> str:
        needs("valgrind")
        # Valgrind runs one thread at a time: without --fair-sched, a commit waits several times as
        # long.
        quiet = ("--quiet", "--error-exitcode=99", "--fair-sched=try")
        done = ask("valgrind", *quiet, *options, *command)
        assert done.returncode == 0, done.stdout
        return done.stdout

    return run


def gdb(*words: str | Path) -> str:
    needs("gdb")
    return ask("gdb", "-nx", "-batch", "-ex", "set debuginfod enabled off", *words).stdout


def typed(*commands: str) -> list[str]:
    return [word for text in commands for word in ("-ex", text)]


def gdb_run(*commands: str) -> Callable[[list[str]], str]:
    def run(command: list[str]) -> str:
        """Runs the program in gdb. The program's output goes to a file, because gdb may print lines
        between its lines."""
        printed = Path(command[0]).parent / "printed"
        start = f"run {shlex.join(command[1:])} >{printed}"
        own = [start if word == "run" else word for word in commands]
        said = gdb(*typed(*own), command[0])
        assert "exited normally" in said, said
        return printed.read_text().strip()

    return run


def gdb_attach(command: list[str]) -> str:
    """Attaches gdb to the program, which waits for a file before it changes anything."""
    mark = Path(command[0]).parent / "attached"
    commands = typed(f"shell touch {mark}", "continue")
    with subprocess.Popen(
        [*command, "", "2000", str(mark)], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            said = gdb("-p", str(process.pid), *commands)
            if "ptrace: Operation not permitted" in said:
                pytest.skip("this process may not trace others")
            assert "exited normally" in said, said
            return process.communicate(timeout=SECONDS)[0]
        finally:
            process.kill()


def gdb_break_and_attach(command: list[str]) -> str:
    gdb_run("tbreak call_some", "run", "continue")(command)
    return gdb_attach(command)


def plainly(command: list[str]) -> str:
    done = ask(*command)
    assert done.returncode == 0, f"{done.returncode}: {done.stdout}"
    return done.stdout


RUNNERS = {
    "": plainly,
    "valgrind": valgrind("--leak-check=full"),
    "valgrind smc": valgrind("--smc-check=all"),
    "gdb run": gdb_run("run"),
    "gdb break and attach": gdb_break_and_attach,
}


# --- The cells ---


def plug(way: Way, library: Library, folder: Path) -> Path:
    """Builds a plugin that contains the library."""
    path = folder / "plug.so"
    archive = library.folder / "libcarry.a"
    flags = ["-fPIC", "-shared", *library.flags("--cflags")]
    done = ask(way.compiler, *way.flags, *flags, FOLDER / "plug.c", archive, "-o", path)
    assert done.returncode == 0, done.stdout
    return path


def program(cell: Cell, way: Way, library: Library, folder: Path) -> Path:
    extra = ["-ldl"] if cell.program == "plugs" else []
    if not cell.source:
        names = SOURCES.get(cell.program, [f"{cell.program}.c"])
        return make(way, library, [FOLDER / name for name in names], *extra, folder=folder)
    (folder / "source.c").write_text(cell.source)
    return make(way, library, [folder / "source.c"], "-c", folder=folder)


def what_comes_out(cell: Cell, way: Way, library: Library, folder: Path) -> str:
    """Returns the last line that the program prints, or the compiler's messages."""
    try:
        path = program(cell, way, library, folder)
    except RefusedError as refused:
        return str(refused)
    if cell.source:
        return "compiled"
    argv = [str(plug(way, library, folder)) if word == "PLUG" else word for word in cell.argv]
    return RUNNERS[cell.under]([str(path), *argv]).rstrip().rpartition("\n")[2]


def marked(cell: Cell) -> object:
    failing = pytest.mark.xfail(reason=f"library {cell.lacks}", strict=True)
    return pytest.param(cell, id=cell.name, marks=[failing] if cell.lacks else [])


@pytest.mark.parametrize("cell", [marked(cell) for cell in TABLE.cells])
def test_cell(strangers: Strangers, cell: Cell, tmp_path: Path) -> None:
    """The program of each cell prints what the table states, or is refused with its reason."""
    way = WAYS[cell.way]
    for each in (way.compiler, *way.needs):
        needs(each)
    came = what_comes_out(cell, way, strangers.library(way.library), tmp_path)
    if cell.refused:
        assert cell.refused in came
    else:
        assert came == cell.says
