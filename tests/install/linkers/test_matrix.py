# SPDX-License-Identifier: MIT
"""One program with every kind of site, through compilers, their options, and linkers.

The program (here.c, there.c, checks.c) checks its own results and records; see checks.c.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from conftest import (
    C11,
    CXX17,
    FOLDER,
    Library,
    call,
    check_sites,
    make_once,
    shared_folder,
)

LANGUAGES = {"gcc": C11, "clang": C11, "g++": CXX17, "clang++": CXX17}
LINKERS = ("bfd", "gold", "lld")
SITES = ("here", "there", "checks")
AT_ONCE = 2


@dataclass(frozen=True)
class Link:
    """A way to link a program, or a shared object for one, from the compiled files."""

    name: str
    flags: tuple[str, ...] = ()
    drops: bool = False  # whether the linker drops sites in functions that are never called
    folds: bool = False  # whether the linker folds equal functions, with their records
    shared: bool = False  # whether the sites are in a shared object
    against: str = "static"


@dataclass(frozen=True)
class Variant:
    """A compiler with options, and the ways to link its output."""

    compiler: str
    name: str
    flags: tuple[str, ...]
    links: tuple[Link, ...]
    needs: str = ""  # a feature of the CPU

    @property
    def folder(self) -> str:
        return f"{self.compiler} {self.name}"


def linkers(*links: Link, only: tuple[str, ...] = LINKERS) -> tuple[Link, ...]:
    """Combines each of `links` with each linker."""
    return tuple(
        Link(
            f"{link.name} {linker}".strip(),
            (f"-fuse-ld={linker}", *link.flags),
            link.drops,
            link.folds,
            link.shared,
            link.against,
        )
        for link in links
        for linker in only
    )


def collected(name: str, shared: bool = False) -> tuple[Link, ...]:
    """Returns ways to link that drop unused sections. GNU linkers count sections with a __start_
    symbol as used."""
    against = "shared" if shared else "static"
    gc = ("-Wl,--gc-sections",)
    kept = Link(name, gc, shared=shared, against=against)
    dropped = Link(name, gc, drops=True, shared=shared, against=against)
    told = Link(f"{name} start-stop", (*gc, "-Wl,-z,start-stop-gc"), True, False, shared, against)
    return (
        *linkers(kept, only=("bfd", "gold")),
        *linkers(dropped, only=("lld",)),
        *linkers(told, only=("bfd",)),
    )


SECTIONS = ("-ffunction-sections", "-fdata-sections")
PLAIN = Link("")
GC = collected("gc")
# When linkers fold functions, lld folds the records with them, and gold keeps all records.
ICF = (
    *linkers(Link("icf", ("-Wl,--icf=all",)), only=("gold",)),
    *linkers(Link("icf", ("-Wl,--icf=all",), folds=True), only=("lld",)),
)
STATIC = Link("static", ("-static",))
STATIC_PIE = linkers(Link("static-pie", ("-static-pie",)), only=("bfd", "lld"))
NO_PIE = Link("no-pie", ("-no-pie",))
SHARED = Link("object", shared=True, against="shared")
SHARED_WHOLE = Link("object with the library", shared=True)
SHARED_GC = collected("object gc", shared=True)
BY_SHARED = Link("by libcarry.so", against="shared")
LTO = Link("", drops=True)
PARTITIONS = [
    Link(how, (f"-flto-partition={how}",), drops=True) for how in ("balanced", "max", "one")
]
LTO_OF_GCC = (
    *linkers(*PARTITIONS, only=("bfd",)),
    *linkers(PARTITIONS[0], only=("gold",)),
)


def variants() -> Iterator[Variant]:
    for compiler in LANGUAGES:

        def variant(
            name: str,
            *flags: str,
            links: tuple[Link, ...] = (PLAIN,),
            needs: str = "",
            compiler: str = compiler,
        ) -> Variant:
            return Variant(compiler, name, flags, links, needs)

        yield variant("O0", "-O0", links=linkers(PLAIN))
        yield variant("O0 gc", "-O0", *SECTIONS, links=GC)
        yield variant("O2", "-O2", *SECTIONS, links=(*linkers(PLAIN, BY_SHARED), *GC, *ICF))
        yield variant("O3", "-O3", "-g", *SECTIONS, links=(*linkers(PLAIN), *GC))
        yield variant("no-pie", "-O2", "-fno-pie", links=linkers(NO_PIE, STATIC))
        yield variant("static-pie", "-O2", "-fPIE", links=STATIC_PIE)
        yield variant("pic O0", "-O0", "-fPIC", links=linkers(SHARED))
        yield variant(
            *("pic O2", "-O2", "-fPIC", *SECTIONS),
            links=(*linkers(SHARED, SHARED_WHOLE), *SHARED_GC),
        )
        yield variant("address", "-O1", "-g", "-fsanitize=address,undefined")
        yield variant("thread", "-O1", "-g", "-fsanitize=thread")
        yield variant("cet", "-O2", "-fcf-protection=full", links=linkers(PLAIN))
        yield variant("no-red-zone", "-O2", "-mno-red-zone")
        yield variant("avx512", "-O3", "-mavx512f", needs="avx512f")
        yield variant("frame", "-O2", "-fno-omit-frame-pointer", "-fstack-protector-all")
        # g++ 12 lists the entries of discarded functions, and only bfd removes them.
        yield variant(
            *("entry", "-O2", "-fpatchable-function-entry=5"),
            links=linkers(PLAIN, only=("bfd",) if compiler == "g++" else LINKERS),
        )
        # There are no sites to check: see WITHOUT_SITES.
        yield variant("no sites", "-O2", "-DCARRY_NO_SITES", links=(PLAIN, STATIC))
        # Functions and data may be anywhere, so there are no sites.
        yield variant("large", "-O2", "-mcmodel=large", links=(PLAIN,))
        if compiler.startswith("clang"):
            yield variant("lto", "-O2", "-flto", links=linkers(LTO, only=("gold", "lld")))
            yield variant("thin lto", "-O2", "-flto=thin", links=linkers(LTO, only=("lld",)))
        else:
            yield variant("lto", "-O2", "-flto", links=LTO_OF_GCC)
            yield variant("lto O0", "-O0", "-flto")


WITHOUT_SITES = ("no sites", "large")

VARIANTS = list(variants())
CASES = [(variant, link) for variant in VARIANTS for link in variant.links]


def compile_sites(variant: Variant, folder: Path) -> None:
    sources = [FOLDER / f"{stem}.c" for stem in (*SITES, "program")]
    call(
        *(variant.compiler, *variant.flags, "-c", *LANGUAGES[variant.compiler], *sources),
        cwd=folder,
    )


def link_program(variant: Variant, link: Link, folder: Path, library: Library) -> Path:
    """Links the compiled files; returns the program."""
    objects = [f"{stem}.o" for stem in SITES]
    program = folder / f"program {link.name}"
    command = [variant.compiler, *variant.flags, *link.flags, "-pthread"]
    carry = [library.static] if link.against == "static" else library.shared
    if link.shared:
        shared = folder / f"libsites {link.name}.so"
        call(*command, "-shared", *objects, *carry, "-o", shared, cwd=folder)
        objects, carry = [str(shared)], []
    call(*command, "program.o", *objects, *carry, "-o", program, cwd=folder)
    return program


@dataclass
class Matrix:
    """The variants, compiled in the background, each by one job of one worker."""

    folder: Path
    libraries: Library
    compiled: dict[str, Future[None]] = field(default_factory=dict)

    def start(self, pool: ThreadPoolExecutor, wanted: list[Variant]) -> None:
        for variant in wanted:
            self.compiled[variant.folder] = pool.submit(
                make_once, self.folder / variant.folder, partial(compile_sites, variant)
            )

    def program(self, variant: Variant, link: Link) -> Path:
        self.compiled[variant.folder].result()
        return link_program(variant, link, self.folder / variant.folder, self.libraries)


@pytest.fixture(scope="session")
def matrix(
    request: pytest.FixtureRequest, library: Library, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Matrix]:
    wanted = {
        item.callspec.params["variant"].folder: item.callspec.params["variant"]
        for item in request.session.items
        if "variant" in getattr(getattr(item, "callspec", None), "params", {})
    }
    with ThreadPoolExecutor(AT_ONCE) as pool:
        made = Matrix(shared_folder(tmp_path_factory, "matrix"), library)
        made.start(pool, list(wanted.values()))
        yield made


def cpu_has(flag: str) -> bool:
    return re.search(rf"\b{flag}\b", Path("/proc/cpuinfo").read_text()) is not None


@pytest.mark.parametrize(
    ("variant", "link"), CASES, ids=[f"{v.folder} {link.name}".strip() for v, link in CASES]
)
def test_sites(matrix: Matrix, variant: Variant, link: Link) -> None:
    """Sites work, and have right records, through each compiler, option and linker."""
    program = matrix.program(variant, link)
    if variant.needs and not cpu_has(variant.needs):
        pytest.skip(f"this CPU has no {variant.needs}; it was compiled and linked")
    assert call(program, str(int(not link.drops)), str(int(link.folds))) == "ok\n"
    if variant.name not in WITHOUT_SITES:
        with_sites = program.parent / f"libsites {link.name}.so" if link.shared else program
        check_sites(matrix.libraries, with_sites)
