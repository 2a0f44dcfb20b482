# SPDX-License-Identifier: MIT
"""Steps that test files for users: installed files, packages, archives, the manual's site."""

import itertools
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import check_site
import make_site

from testing.builds import BUILDS, SOURCE, compilers, gcc_build, python_tests, python_with
from testing.runner import ROOT, Log, StepError

# The builds of other steps contain the tests. This build is beside them and has the same options,
# so that ccache finds the objects of the step gcc.
INSTALLED = BUILDS / "installed"
MAKE_INSTALL = ["make", "--no-print-directory", "install", "PREFIX=/usr"]
MAKE_INSTALL += [f"BUILD={INSTALLED.relative_to(ROOT)}", "OPTIONS=-Dtests=false -Dwerror=true"]


def install(log: Log) -> None:
    """Installs into a folder of its own, and checks that another project finds the library by
    pkg-config and by CMake."""
    folder = BUILDS / "install"
    root, spaced = folder / "root", folder / "a root"
    shutil.rmtree(root, ignore_errors=True)
    log.run(*MAKE_INSTALL, f"DESTDIR={spaced}", env=compilers("gcc")[0])
    spaced.rename(root)  # pkg-config's flags require folders without spaces
    log.run("scripts/check_install", root / "usr", folder / "check")


# The compilers that build the library for another C library, and for 32 bits. Clang needs no
# package that conflicts with the cross compilers; GCC's libraries for 32 bits do.
FOREIGN = {
    "musl": ["musl-gcc"],
    "m32": ["clang", "-m32", "-rtlib=compiler-rt", "-unwindlib=none"],
    "m32-gcc": ["gcc", "-m32"],
}


def kernel_headers(folder: Path) -> Path:
    """Returns a folder with only Linux's headers: musl-gcc does not find them, and must not find
    glibc's headers."""
    own = folder / "kernel"
    own.mkdir(exist_ok=True)
    machine = f"/usr/include/{os.uname().machine}-linux-gnu"
    for name, where in (("linux", ""), ("asm-generic", ""), ("asm", machine)):
        if not (own / name).is_symlink():
            (own / name).symlink_to(f"{where or '/usr/include'}/{name}")
    return own


def install_foreign(log: Log, folder: Path, name: str, compiler: list[str]) -> None:
    """Installs the libraries, without the tool, below `folder`. If the compiler cannot make
    programs, writes a file with the reason instead."""
    (folder / "empty.c").write_text("int main(void) { return 0; }\n")
    try:
        log.run(*compiler, folder / "empty.c", "-o", folder / "empty")
    except (OSError, StepError):
        reason = f"{shlex.join(compiler)} makes no programs here"
        (folder / f"no-{name}").write_text(reason)
        return
    own = folder / f"build-{name}"
    if not (own / "build.ninja").is_file():
        args = f"-Dc_args=-idirafter{kernel_headers(folder)}"
        options = ["--prefix=/usr", "-Dlibdir=lib", args]
        options += [f"-D{part}=disabled" for part in ("tool", "jit", "compression")]
        log.run("meson", "setup", *options, own, env={"CC": shlex.join(compiler)})
    kinds = itertools.product(
        ("src/carry", "capture/carry-capture"), ("shared_library", "static_library")
    )
    log.run("meson", "compile", "-C", own, "manual", *map(":".join, kinds))
    log.run("meson", "install", "--no-rebuild", "-C", own, "--destdir", folder / name)


def strangers(log: Log) -> None:
    """Installs for glibc and with each FOREIGN compiler, then tests programs of other projects with
    only the installed files."""
    folder = BUILDS / "strangers"
    for old in [*folder.glob("no-*"), folder / "glibc", *map(folder.joinpath, FOREIGN)]:
        shutil.rmtree(old) if old.is_dir() else old.unlink(missing_ok=True)
    log.run(*MAKE_INSTALL, f"DESTDIR={folder / 'glibc'}", env=compilers("gcc")[0])
    for name, compiler in FOREIGN.items():
        install_foreign(log, folder, name, compiler)
    own = {"CARRY_STRANGERS": str(folder), "CARRY_INSTALL_BUILD": str(INSTALLED)}
    python_tests(log, folder, own, tests="install/strangers")


# Systems that use the wheels: the options of scripts/fetch_foreign. The wheels do not support the
# Python of the oldest system.
WHEEL_SYSTEMS = {
    "this-debian": ["amd64", "python3"],
    "newer-debian": ["--release", "trixie", "amd64", "python3"],
    "older-debian": ["--release", "bullseye", "amd64", "libc6"],
    "aarch64-debian": ["arm64", "python3"],
}


def fetch_system(log: Log, folder: Path, name: str) -> None:
    if (folder / name).is_dir():
        return
    part = folder / "part"
    shutil.rmtree(part, ignore_errors=True)
    *options, architecture, package = WHEEL_SYSTEMS[name]
    try:
        log.run("scripts/fetch_foreign", "--whole", *options, architecture, part, package)
        part.rename(folder / name)
    except (OSError, StepError) as error:
        log.write(f"{name}: {error}")  # its tests report that they are skipped


def wheel(log: Log) -> None:
    """Makes wheels for Python, as `make wheel` does, and uses them on minimal systems."""
    folder = BUILDS / "wheel"
    make = [sys.executable, "scripts/make_wheel.py", "--source", SOURCE, folder]
    if not log.brings("wheels", *make, "--fetch"):
        return
    for name in WHEEL_SYSTEMS:
        fetch_system(log, folder, name)
    shutil.rmtree(folder / "dist", ignore_errors=True)  # may be of an earlier version
    log.run("sh", "-c", 'umask 027; exec "$@"', "sh", *make)
    python_tests(log, folder, {"CARRY_WHEELS": str(folder)}, tests="install/wheel", at_once=0)


def release(log: Log) -> None:
    """Tests the source archive, two builds from it, and other files of a release."""
    folder = BUILDS / "release"
    if not (ROOT / ".git").exists():
        log.skip(1, "what is released: this is no clone")
        return
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "dist").mkdir(parents=True)
    log.run("scripts/present_source.py", SOURCE)
    shutil.copy(SOURCE / "commit", folder)
    log.run("cp", *SOURCE.glob("*.tar.xz"), folder / "dist")
    log.run("tar", "-C", folder, "-xf", *(folder / "dist").iterdir())
    (source,) = folder.glob("libcarry-*")
    if shutil.which("reprotest"):
        log.run("scripts/check_reproducible.py", source, folder / "builds")
        log.counts.passed += 1
    else:
        log.skip(1, "building library and tool twice: reprotest is not installed")
    python = python_with(log, "release", "a second opinion on SPDX")
    python_tests(
        log, folder, {"CARRY_RELEASE": str(folder)}, tests="install/release", python=python
    )


def deb(log: Log) -> None:
    """Makes Debian packages, as `make deb` does but without running the tests, and uses them."""
    command = [ROOT / "scripts/in_root", "--check"]
    check = subprocess.run(command, capture_output=True, text=True)
    if check.returncode:
        log.skip(1, f"Debian packages: {check.stderr.strip()}")
        return
    folder = BUILDS / "deb"
    dist = folder / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    options = {"DEB_BUILD_OPTIONS": "nocheck noautodbgsym"}
    log.run("scripts/make_deb", folder / "work", dist, SOURCE, env=options)
    log.counts.passed += 1
    log.run("scripts/check_deb", folder / "work", dist)
    log.counts.passed += log.path.read_text().count("\n--- ")


def static(log: Log) -> None:
    """Makes the command as one file, as `make static` does, and uses it in an empty root."""
    folder = BUILDS / "static"
    make = [sys.executable, "scripts/make_static.py", "--source", SOURCE, folder]
    emulator = folder / "qemu"
    what = "static programs"
    if not log.brings(what, *make, "--fetch"):
        return
    if not emulator.is_dir():
        part = folder / "part"
        shutil.rmtree(part, ignore_errors=True)
        if not log.brings(what, "scripts/fetch_foreign", "amd64", part, "qemu-user-static"):
            return
        part.rename(emulator)
    shutil.rmtree(folder / "dist", ignore_errors=True)  # may be of an earlier version
    log.run(*make)
    folder_of_gcc = gcc_build(log, "tools/carry/carry")
    python_tests(log, folder_of_gcc, {"CARRY_STATIC": str(folder)}, tests="install/static")


def docs(log: Log) -> None:
    """Makes the manual's site, and opens its pages and checks their links in a browser."""
    folder = BUILDS / "docs"
    if reason := make_site.obstacle() or check_site.obstacle():
        log.skip(1, f"the manual's site: {reason}")
        return
    log.run(sys.executable, "scripts/make_site.py", folder)
    log.run(sys.executable, "scripts/check_site.py", folder / "site")
    python_tests(log, folder, tests="install/site", at_once=0)
