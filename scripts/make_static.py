#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the command as one file that needs no other file. `make static` runs it.

usage: make_static.py [--fetch] [--source SOURCE] [--to DIST] FOLDER [ARCHITECTURE...]

A program runs on each Linux from 4.18 on, whatever the C library. It contains Debian's static
libraries, glibc among them, in their latest versions for this release of Debian. Libraries and
builds are in FOLDER; programs, and the licences of what is in them, in DIST (FOLDER/dist). --fetch
only downloads the libraries, by apt; later calls use them. --source builds from the archive of the
present commit, which present_source.py makes in SOURCE, not from this folder. The same sources,
compiler and libraries give the same bytes, in any folder and at any time.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from artefacts import ReleaseError, gcc, version
from make_wheel import (
    ARCHITECTURES,
    LINKED,
    WheelError,
    Workshop,
    arguments,
    fetch_once,
    workshop,
)

# Debian packages whose static libraries are linked in, and packages that contain licence texts of
# others.
PACKAGES = [*LINKED, "libasmjit-dev", "libc6-dev", "libpcap0.8-dev"]
TEXTS = {"libbz2-dev": "libbz2-1.0"}
COMMON = Path("/usr/share/common-licenses")
# Debian has no static library of Zydis; libdw loads another library when a program starts.
LEFT_OUT = ["prof", "python", "sites"]
OPTIONS = ["-Dstatic=true", "-Ddefault_library=static", "-Dprefer_static=true", "-Db_pie=true"]
OPTIONS += [f"-D{name}=enabled" for name in ("tool", "compression", "filter", "jit", "proof")]
OPTIONS += [f"-D{name}=disabled" for name in LEFT_OUT]
OPTIONS += ["-Ddebug=false"]

# The commands of the compilers contain the flags that name folders, because the tool records the
# arguments that are options of the build. Meson leaves ccache out if it is not installed.
MACHINE = """\
[constants]
root = '{root}'
libraries = root / 'usr/lib/{cpu}-linux-gnu'
flags = ['-B' + libraries, '-idirafter', root / 'usr/include']

[binaries]
c = ['ccache', '{cpu}-linux-gnu-gcc'] + flags
cpp = ['ccache', '{cpu}-linux-gnu-g++'] + flags
ar = '{cpu}-linux-gnu-gcc-ar'
strip = '{cpu}-linux-gnu-strip'
pkgconfig = 'pkg-config'
pkg-config = 'pkg-config'
exe_wrapper = ['timeout', '-s', 'KILL', '900', 'qemu-{cpu}']

[properties]
sys_root = root
pkg_config_libdir = libraries / 'pkgconfig'

[built-in options]
c_link_args = ['-L' + libraries, '-static-pie', '-s']
cpp_link_args = ['-L' + libraries, '-static-pie', '-s']

[host_machine]
system = 'linux'
cpu_family = '{cpu}'
cpu = '{cpu}'
endian = 'little'
"""


def base_of_gcc() -> str:
    """Returns the package that has the licences of the compiler's own libraries."""
    return f"gcc-{gcc()}-base"


def fetch_libraries(shop: Workshop, cpu: str) -> None:
    """Downloads the libraries, and removes the shared ones."""
    folder, what = shop.libraries(cpu), [*PACKAGES, *TEXTS.values(), base_of_gcc()]
    if not fetch_once(folder, " ".join(what)):
        return
    shop.run("scripts/fetch_foreign", ARCHITECTURES[cpu], folder, *what)
    for shared in (folder / f"usr/lib/{cpu}-linux-gnu").glob("*.so*"):
        shared.unlink()
    (folder / "fetched").write_text(" ".join(what))


def build_program(shop: Workshop, cpu: str) -> Path:
    """Builds the program from scratch, as the compiler may have changed; returns its path."""
    machine, folder = shop.folder / f"{cpu}.ini", shop.folder / f"build-{cpu}"
    machine.write_text(MACHINE.format(root=shop.libraries(cpu), cpu=cpu))
    shutil.rmtree(folder, ignore_errors=True)
    options = [f"--cross-file={machine}", *OPTIONS]
    shop.run("meson", "setup", *options, folder, shop.source, env={"LC_ALL": "C"})
    shop.run("ninja", "--quiet", "-C", folder, "tools/carry/carry")
    return folder / "tools/carry/carry"


def licence_texts(shop: Workshop, cpu: str) -> str:
    """Returns the licences of this project and of each Debian package, and the files to which they
    refer."""
    texts = {"libcarry": (shop.source / "LICENSE").read_text()}
    for package in [*PACKAGES, base_of_gcc()]:
        folder = shop.libraries(cpu) / "usr/share/doc" / TEXTS.get(package, package)
        texts[package] = (folder / "copyright").read_text()
    named = re.findall(rf"{COMMON}/[\w.-]*\w", "".join(texts.values()))
    for path in sorted({Path(name).resolve() for name in named}):
        texts[path.name] = path.read_text()
    return "\n".join(f"{'=' * 20} {name}\n\n{text}" for name, text in texts.items())


def make(shop: Workshop, cpu: str, dist: Path) -> None:
    dist.mkdir(parents=True, exist_ok=True)
    stem = dist / f"carry-{version()}-linux"
    shutil.copyfile(build_program(shop, cpu), f"{stem}-{cpu}")
    Path(f"{stem}-{cpu}").chmod(0o755)
    Path(f"{stem}-licences.txt").write_text(licence_texts(shop, cpu))


def main() -> int:
    given = arguments(__doc__ or "")
    try:
        shop = workshop(given)
        for cpu in given.architecture:
            fetch_libraries(shop, cpu)
            if not given.fetch:
                make(shop, cpu, given.to)
    except (OSError, ReleaseError, WheelError, subprocess.CalledProcessError) as error:
        print(f"make_static.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
