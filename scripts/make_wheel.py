#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the wheels of libcarry for Python. `make wheel` runs it.

usage: make_wheel.py [--fetch] [--source SOURCE] [--to DIST] FOLDER [ARCHITECTURE...]

A wheel supports each CPython from the oldest that pyproject.toml names on, and any Linux whose
glibc is not older than GLIBC. Its programs contain Debian's static libraries. Intermediate files
are in FOLDER, the wheels in DIST (FOLDER/dist). --fetch only downloads tools (by pip) and libraries
(by apt); later calls use them. --source builds from the archive of the present commit, which
present_source.py makes in SOURCE, not from this folder.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from artefacts import ROOT, ReleaseError
from lock_tools import LOCKS
from present_source import present_source

SECONDS = 1800  # for a command that hangs
GLIBC = (2, 28)
# Debian packages whose static libraries are linked in, and packages with headers or texts.
LINKED = ["libbz2-dev", "libjansson-dev", "liblz4-dev", "liblzma-dev", "libmd-dev"]
LINKED += ["libzstd-dev", "zlib1g-dev"]
OTHERS = ["libbz2-1.0", "libpcap0.8-dev"]
OTHERS += [f"libpython{sys.version_info.major}.{sys.version_info.minor}-dev"]
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}  # Debian's names
# Parts that need a C++ library, or libraries without a static form in Debian.
LEFT_OUT = ["jit", "prof", "sites"]
OPTIONS = [f"-D{x}=enabled" for x in ("compression", "filter", "proof")]
OPTIONS += [f"-D{x}=disabled" for x in LEFT_OUT]
OPTIONS += ["-Db_pie=true"]  # the default of Debian's compiler

MACHINE = """\
[constants]
root = '{root}'
zig = ['{python}', '-m', 'ziglang']

[binaries]
c = zig + ['cc', '-target', '{target}', '-idirafter', root / 'usr/include']
ar = zig + ['ar']
pkg-config = 'pkg-config'
exe_wrapper = ['timeout', '-s', 'KILL', '900', 'qemu-{cpu}', '-L', '/usr/{cpu}-linux-gnu']

[properties]
sys_root = root
pkg_config_libdir = root / 'usr/lib/{cpu}-linux-gnu/pkgconfig'

[built-in options]
c_link_args = ['-L' + root / 'usr/lib', '-s']

[host_machine]
system = 'linux'
cpu_family = '{cpu}'
cpu = '{cpu}'
endian = 'little'
"""


class WheelError(Exception):
    """Raised if a wheel cannot be made. The message gives the reason."""


@dataclass(frozen=True)
class Workshop:
    """The folders in which wheels are made."""

    folder: Path
    source: Path = ROOT

    @property
    def tools(self) -> Path:
        return self.folder / "tools"

    def libraries(self, cpu: str) -> Path:
        return self.folder / f"libraries-{cpu}"

    @property
    def cache(self) -> dict[str, str]:
        """Returns environment variables that name the folder in which the compiler caches the C
        library."""
        folder = str(self.folder / "cache")
        return {"ZIG_GLOBAL_CACHE_DIR": folder, "ZIG_LOCAL_CACHE_DIR": folder}

    def run(self, *command: str | Path, env: dict[str, str] | None = None) -> None:
        words = [str(word) for word in command]
        print("$", shlex.join(words), flush=True)
        path = {"PATH": f"{self.tools / 'bin'}:{os.environ['PATH']}"}
        try:
            done = subprocess.run(
                words,
                cwd=ROOT,
                env=os.environ | path | (env or {}),
                stdin=subprocess.DEVNULL,
                timeout=SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise WheelError(str(error)) from None
        if done.returncode:
            raise WheelError(f"exit status {done.returncode}: {shlex.join(words)}")

    def tool(self, module: str, *words: str | Path, env: dict[str, str] | None = None) -> None:
        self.run(self.tools / "bin/python", "-m", module, *words, env=self.cache | (env or {}))

    def zig(self, *words: str | Path) -> None:
        self.tool("ziglang", *words)


def target_name(cpu: str) -> str:
    """Returns the compiler's name of a target."""
    return "{}-linux-gnu.{}.{}".format(cpu, *GLIBC)


def fetch_once(folder: Path, what: str) -> bool:
    """Returns False if `what` was fetched into `folder`. Otherwise removes the folder, and returns
    True."""
    record = folder / "fetched"
    if record.is_file() and record.read_text() == what:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    return True


def fetch_tools(shop: Workshop) -> None:
    what = (LOCKS / "wheel.txt").read_text()
    if fetch_once(shop.tools, what):
        shop.run(sys.executable, "-m", "venv", shop.tools)
        shop.tool("pip", "--quiet", "install", "--require-hashes", "-r", LOCKS / "wheel.txt")
        (shop.tools / "fetched").write_text(what)


def fetch_libraries(shop: Workshop, cpu: str) -> None:
    """Downloads the libraries; keeps the static ones, with links where foreign linkers look."""
    folder, what = shop.libraries(cpu), [*LINKED, *OTHERS]
    if not fetch_once(folder, " ".join(what)):
        return
    shop.run("scripts/fetch_foreign", ARCHITECTURES[cpu], folder, *what)
    libraries = folder / f"usr/lib/{cpu}-linux-gnu"
    for shared in libraries.glob("*.so*"):
        shared.unlink()
    for static in libraries.glob("*.a"):
        (folder / "usr/lib" / static.name).symlink_to(static)
    fit_bzip2(shop, cpu)
    (folder / "fetched").write_text(" ".join(what))


def fit_bzip2(shop: Workshop, cpu: str) -> None:
    """Changes libbz2.a so that modules can contain it: see bzip2_streams.c."""
    library = (shop.libraries(cpu) / "usr/lib/libbz2.a").resolve()
    streams = shop.libraries(cpu) / "bzip2_streams.o"
    renamed = [f"--redefine-sym={name}=bzip2_{name}" for name in ("stdin", "stdout", "stderr")]
    shop.run("llvm-objcopy", *renamed, library)
    source = ROOT / "scripts/bzip2_streams.c"
    shop.zig("cc", "-target", target_name(cpu), "-O2", "-fPIC", "-c", source, "-o", streams)
    shop.zig("ar", "r", library, streams)


def oldest_python(shop: Workshop) -> str:
    """Returns the oldest CPython, in the form of tags of wheels."""
    project = tomllib.loads((shop.source / "pyproject.toml").read_text())["project"]
    return "cp" + project["requires-python"].removeprefix(">=").replace(".", "")


def only_wheel(folder: Path) -> Path:
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise WheelError(f"{len(wheels)} wheels in {folder}, not one")
    return wheels[0]


def build_wheel(shop: Workshop, cpu: str, to: Path) -> Path:
    """Builds a wheel by meson-python, with a compiler that links for the glibc of the target;
    returns its path."""
    machine = shop.folder / f"{cpu}.ini"
    python, root = shop.tools / "bin/python", shop.libraries(cpu)
    machine.write_text(MACHINE.format(root=root, python=python, cpu=cpu, target=target_name(cpu)))
    settings = [f"-Csetup-args={option}" for option in [f"--cross-file={machine}", *OPTIONS]]
    shop.tool(
        *("build", "--wheel", "--no-isolation", "--skip-dependency-check"),
        *(f"--outdir={to}", f"-Cbuild-dir={shop.folder / f'build-{cpu}'}", *settings),
        shop.source,
        env={"_PYTHON_HOST_PLATFORM": f"linux-{cpu}"},
    )
    return only_wheel(to)


def add_licences(shop: Workshop, cpu: str, wheel: Path, to: Path) -> Path:
    """Adds Debian's licences of the libraries that are linked in; returns the new wheel's path."""
    unpacked = to / "unpacked"
    shop.tool("wheel", "unpack", f"--dest={unpacked}", wheel)
    (tree,) = unpacked.iterdir()
    (info,) = tree.glob("*.dist-info")
    names = []
    for package in LINKED:
        text = shop.libraries(cpu) / "usr/share/doc" / package / "copyright"
        names.append(package.removesuffix("-dev"))
        shutil.copyfile(text, info / "licenses" / names[-1])
    metadata = info / "METADATA"
    own = "License-File: LICENSE\n"
    lines = own + "".join(f"License-File: {name}\n" for name in names)
    metadata.write_text(metadata.read_text().replace(own, lines, 1))
    for path in tree.rglob("*"):  # modes must not depend on the umask
        path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)
    shop.tool("wheel", "pack", f"--dest-dir={to}", tree)
    return only_wheel(to)


def make(shop: Workshop, cpu: str, dist: Path) -> None:
    stages = shop.folder / f"stages-{cpu}"
    shutil.rmtree(stages, ignore_errors=True)
    built = build_wheel(shop, cpu, stages / "built")
    whole = add_licences(shop, cpu, built, stages / "whole")
    # Replaces the tag of the CPython that built the wheel.
    shop.tool("wheel", "tags", "--remove", f"--python-tag={oldest_python(shop)}", whole)
    # auditwheel finds the platform: it accepts no name for another architecture.
    shop.tool(
        "auditwheel", "repair", "--only-plat", f"--wheel-dir={dist}", only_wheel(whole.parent)
    )


def arguments(document: str) -> argparse.Namespace:
    """Parses the arguments of a script that makes something for each architecture."""
    parser = argparse.ArgumentParser(usage=document.split("usage: ")[1].split("\n")[0])
    parser.add_argument("--fetch", action="store_true")
    parser.add_argument("--source", type=Path)
    parser.add_argument("--to", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("architecture", nargs="*")
    given = parser.parse_args()
    if unknown := set(given.architecture) - set(ARCHITECTURES):
        parser.error(f"unknown architectures: {' '.join(sorted(unknown))}")
    given.architecture = given.architecture or list(ARCHITECTURES)
    given.folder = given.folder.resolve()
    given.folder.mkdir(parents=True, exist_ok=True)
    given.to = (given.to or given.folder / "dist").resolve()
    return given


def workshop(given: argparse.Namespace) -> Workshop:
    """Returns the folders. An unpacked archive is its own source, as it has no commit."""
    if given.source and not given.fetch and (ROOT / ".git").exists():
        return Workshop(given.folder, present_source(given.source.resolve()))
    return Workshop(given.folder)


def main() -> int:
    given = arguments(__doc__ or "")
    os.umask(0o022)  # wheels have the modes of the files in them
    try:
        shop = workshop(given)
        fetch_tools(shop)
        for cpu in given.architecture:
            fetch_libraries(shop, cpu)
        if not given.fetch:
            for cpu in given.architecture:
                make(shop, cpu, given.to)
    except (OSError, ReleaseError, WheelError) as error:
        print(f"make_wheel.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
