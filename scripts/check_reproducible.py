#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds and installs a source twice, and compares all files byte for byte.

usage: check_reproducible.py SOURCE [STORE]      STORE gets both results, and their differences

The second time, reprotest changes the folder, the home, the path of programs, the environment, the
locale, the time zone, umask, and the clock. An option of the compilers omits the folder from their
output, as in Debian's builds. Both builds compile everything: objects of ccache would be the same
in both.
"""

import os
import subprocess
import sys
from pathlib import Path

# All variations except those that need another kernel, other users or a file system of their own.
VARIED = "-user_group,-domain_host,-num_cpus,-kernel,-aslr,-fileordering"
BUILD = """set -e
export CCACHE_DISABLE=1
export CFLAGS="-ffile-prefix-map=$PWD=." CXXFLAGS="-ffile-prefix-map=$PWD=."
meson setup -Dtool=enabled -Dpython=disabled -Dtests=false --prefix=/usr build
ninja --quiet -C build
meson install --quiet --no-rebuild -C build --destdir "$PWD/installed"
"""


def main() -> int:
    if len(sys.argv) not in (2, 3):
        print("usage: check_reproducible.py SOURCE [STORE]", file=sys.stderr)
        return 2
    source, *stores = sys.argv[1:]
    options = [f"--vary={VARIED}", f"--min-cpus={os.cpu_count() or 1}", "--build-command", BUILD]
    options += [f"--store-dir={Path(store).resolve()}" for store in stores]
    done = subprocess.run(["reprotest", *options, source, "installed"])
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
