#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that the code that saves and loads vector registers does not use any for itself.

usage: check_registers.py COMPILER

Compiles src/xstate for AVX-512, as -march=native may, and looks for vector registers in the code.
Without base/general_begin.h the search must find some, which shows that it works.
"""

import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FLAGS = ["-std=gnu11", "-O2", "-fPIC", "-ffreestanding", "-mavx512f", "-mavx512bw", "-mavx512vl"]
VECTORS = re.compile(r"%[xyz]mm|vzero")
MEANT = [("carry_xstate_clean", "vzeroupper")]  # deliberate uses


def register_sources() -> list[Path]:
    return [
        path for folder in ("", "x86_64") for path in (ROOT / "src/xstate" / folder).glob("*.c")
    ]


def is_closed(text: str) -> bool:
    """Checks whether all code of a file is between base/general_begin.h and base/general_end.h."""
    lines = [line for line in text.splitlines() if line.startswith("#include")]
    ends = ['#include "base/general_begin.h"', '#include "base/general_end.h"']
    return [lines[0], lines[-1]] == ends and text.rstrip().endswith(ends[1])


def uses(
    compiler: str, source: Path, folder: Path, *flags: str | Path
) -> Iterator[tuple[str, str]]:
    """Yields the functions that use vector registers, each with one such instruction."""
    include = [*flags, f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}"]
    program = folder / "object.o"
    command = [compiler, *FLAGS, *include, "-c", source, "-o", program]
    subprocess.run([str(word) for word in command], check=True)
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", program], capture_output=True, text=True, check=True
    )
    function = "?"
    for line in listing.stdout.splitlines():
        if label := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            function = label[1]
        elif VECTORS.search(line):
            yield function, line.split(":", 1)[1].strip()


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__.strip().splitlines()[2], file=sys.stderr)
        return 2
    compiler, paths = sys.argv[1], register_sources()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "base").mkdir()
        for header in ("general_begin.h", "general_end.h"):
            (folder / "base" / header).touch()
        found = [use for path in paths for use in uses(compiler, path, folder)]
        bare = [use for path in paths for use in uses(compiler, path, folder, f"-I{folder}")]
    wrong = [use for use in found if use not in MEANT]
    wrong += [(path.name, "is open") for path in paths if not is_closed(path.read_text())]
    for function, instruction in wrong:
        print(f"{function}: {instruction}")
    print(f"{len(paths)} files: {len(wrong)} uses of vector registers, {len(bare)} if allowed")
    return 1 if wrong or found != MEANT or len(bare) <= len(MEANT) else 0


if __name__ == "__main__":
    sys.exit(main())
