# SPDX-License-Identifier: MIT
"""Two tables: the files of a release, and the libraries of other projects that they contain."""

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Component:
    """A library of another project, as Debian packages it."""

    name: str
    package: str  # of Debian: the SPDX document names its version and homepage
    licence: str  # as SPDX writes it
    meson: tuple[str, ...]  # its names in meson.build


OF_GCC = "libstdc++-{gcc}-dev"  # the name of its package contains the compiler's version
PUBLIC_DOMAIN = "LicenseRef-liblzma-public-domain"
COMPONENTS = [
    Component("asmjit", "libasmjit-dev", "Zlib", ("asmjit",)),
    Component("bzip2", "libbz2-dev", "bzip2-1.0.6", ("bzip2", "bz2")),
    Component("CPython", "python3-dev", "Python-2.0.1", ("python",)),
    Component(
        "elfutils", "libdw-dev", "LGPL-3.0-or-later OR GPL-2.0-or-later", ("libdw", "libelf")
    ),
    Component("glibc", "libc6-dev", "LGPL-2.1-or-later", ("dl", "m", "threads")),
    Component("jansson", "libjansson-dev", "MIT", ("jansson",)),
    Component("liblzma", "liblzma-dev", PUBLIC_DOMAIN, ("liblzma", "lzma")),
    Component("libmd", "libmd-dev", "BSD-3-Clause", ("libmd",)),
    Component("libpcap", "libpcap-dev", "BSD-3-Clause", ("pcap",)),
    Component("libstdc++", OF_GCC, "GPL-3.0-or-later WITH GCC-exception-3.1", ("stdc++",)),
    Component("lz4", "liblz4-dev", "BSD-2-Clause", ("liblz4", "lz4")),
    Component("zlib", "zlib1g-dev", "Zlib", ("zlib", "z")),
    Component("zstd", "libzstd-dev", "BSD-3-Clause OR GPL-2.0-only", ("libzstd", "zstd")),
    Component("Zydis", "libzydis-dev", "MIT", ("zydis", "Zydis")),
]
CPUS = ("x86_64", "aarch64")
UNPACKERS = ("bzip2", "liblzma", "lz4", "zlib", "zstd")
TOOL = ("jansson", *UNPACKERS)
ALL_OF_TOOL = ("elfutils", "libmd", "Zydis", *TOOL)


@dataclass(frozen=True)
class Artefact:
    """Files of one kind, with the components that they contain, and the components that they need
    but do not contain."""

    target: str  # of make
    pattern: str  # of the files' names
    what: str
    holds: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()


def debian_package(name: str, holds: tuple[str, ...] = (), needs: tuple[str, ...] = ()) -> Artefact:
    """Returns the row of a Debian package; its version is the release's version and a suffix."""
    return Artefact("deb", f"deb/{name}_{{version}}[-~]*.deb", "Debian package", holds, needs)


ARTEFACTS = [
    Artefact("dist", "libcarry-{version}.tar.xz", "source archive"),
    debian_package("libcarry0", needs=("glibc",)),
    debian_package("libcarry-capture0", needs=("glibc", *UNPACKERS)),
    debian_package("libcarry-jit0", holds=("asmjit",), needs=("glibc", "libstdc++")),
    debian_package("libcarry-dev", needs=("asmjit", "libstdc++", *UNPACKERS)),
    debian_package("libcarry-doc"),
    debian_package(
        "carry", holds=("asmjit", "libstdc++"), needs=("glibc", "libpcap", *ALL_OF_TOOL)
    ),
    debian_package("python3-libcarry", needs=("CPython", "glibc", *TOOL)),
    debian_package("*-dbgsym"),
    Artefact("deb", "deb/*_{version}[-~]*.dsc", "source of the Debian packages"),
    Artefact("deb", "deb/*_{version}[-~.]*.tar.xz", "source of the Debian packages"),
    *(
        Artefact(
            "static",
            f"carry-{{version}}-linux-{cpu}",
            "the command as one program",
            holds=(*TOOL, "asmjit", "glibc", "libmd", "libpcap", "libstdc++"),
        )
        for cpu in CPUS
    ),
    Artefact("static", "carry-{version}-linux-licences.txt", "licences of what is in it"),
    Artefact("crates", "libcarry-sys-{version}.crate", "crate for Rust", needs=UNPACKERS),
    Artefact("crates", "libcarry-{version}.crate", "crate for Rust"),
    *(
        Artefact(
            "wheel",
            f"libcarry-{{version}}-*_{cpu}.whl",
            "wheel for Python",
            holds=(*TOOL, "libmd"),
            needs=("CPython", "glibc", "libpcap"),
        )
        for cpu in CPUS
    ),
]


class ReleaseError(Exception):
    """Raised if a release cannot be made. The message gives the reason."""


def output_of(*command: str | Path) -> str:
    """Returns what a command prints."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise ReleaseError(lines[-1] if lines else f"{command[0]}: status {done.returncode}")
    return done.stdout.strip()


def gcc() -> str:
    """Returns GCC's major version: names of Debian's packages contain it."""
    return output_of("gcc", "-dumpversion").split(".")[0]


def version() -> str:
    return output_of(ROOT / "scripts/version")


def release_time() -> int:
    """Returns the time of a release's files: SOURCE_DATE_EPOCH, or the time of the commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    return int(given or output_of("git", "log", "-1", "--format=%ct"))


def found_artefacts(folder: Path) -> Iterator[tuple[Artefact, Path]]:
    """Yields the artefacts in a folder, in the order of the table, and by name within a row."""
    for artefact in ARTEFACTS:
        for path in sorted(folder.glob(artefact.pattern.format(version=version()))):
            yield artefact, path


def asked_for() -> set[str]:
    """Returns the names of the libraries that meson.build files and capture/unpackers.def name."""
    files = [
        path
        for top in ("src", "jit", "capture", "bindings", "tools")
        for path in (ROOT / top).rglob("meson.build")
    ]
    call = re.compile(r"(?<![a-z_])(?:dependency|find_library)\('([^']+)'")
    names = {name for path in files for name in call.findall(path.read_text())}
    if any("python.dependency(" in path.read_text() for path in files):
        names.add("python")
    rows = (ROOT / "capture/unpackers.def").read_text()
    for row in re.findall(r"^CARRY_UNPACKER\(\w+, (\w+), (\w+)", rows, re.MULTILINE):
        names.update(row)
    return names
