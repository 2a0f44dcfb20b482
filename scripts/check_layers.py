#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the include graph against the layers, which docs/explanation/architecture.md draws.

A module may include its own files, and the internal and public headers of modules in lower layers;
modules of one layer see each other's public headers only. The core includes nothing of a C library.
Tools, capture/ and jit/ include public headers and their own files. The folders of the command are
in layers, and so are the files of capture/. Bindings include public headers, their own files, and
the command's headers for reports on captures.

Also checks that no two files of the libraries and the command share a name, since editors,
debuggers and grep show only names. This excepts files of architectures, and tables (.def).
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# From the bottom up: each row holds the modules of one layer.
LAYERS = [
    ["base"],
    ["cpu"],
    ["patch", "xstate"],
    ["kernel"],
    ["sum", "copy", "hook"],
    ["packet"],
    ["jit", "capture"],
]
RANK = {module: rank for rank, modules in enumerate(LAYERS) for module in modules}

# Names of architectures, and of code that needs none of them.
ARCHITECTURES = {"aarch64", "generic", "none", "x86_64"}

# Folders in which a file's name is unique. A port's file has the name of the file that it replaces.
NAMED_ONCE = ("capture", "include", "jit", "src", "tools")

# Users of the public headers, each in a folder of its own.
OUTSIDE = ["bindings", "capture", "jit", "tools"]

# The folders of the command, from the bottom up. A file in none of them may include them all.
TOOL = ROOT / "tools/carry"
TOOL_LAYERS = [
    ["common"],
    ["audit", "check", "selftest", "sites", "xstate"],
    ["live"],
    ["bench"],
    ["cpu"],
]
TOOL_RANK = {folder: rank for rank, folders in enumerate(TOOL_LAYERS) for folder in folders}

# `carry selftest` runs checks of the tests, and includes their headers.
SELFTEST = [TOOL / "selftest", TOOL / "carry_selftest.c"]
PROVEN = "kernels/proven.def"  # the table of proof/ that `carry selftest` compares the library with

# The command times sections with a host of its own, which the core declares.
HOSTS = {TOOL / "xstate/xstate_section_host.c": "base/section_host.h"}

# Folders of the command whose reports bindings show, too.
FOR_BINDINGS = ["audit", "check", "common"]

# The layers of libcarry-capture's files, from the bottom up.
CAPTURE = ROOT / "capture"
CAPTURE_LAYERS = [["tables"], ["reading", "datagrams", "accounts"], ["work"]]
CAPTURE_RANK = {part: rank for rank, parts in enumerate(CAPTURE_LAYERS) for part in parts}
CAPTURE_PARTS = {
    "tables": "bytes directions ends link_names local_headers pcapng_flags raw_ip reasons "
    "reassembly seen verdict",
    "reading": "boundary erf_file file format input loan magic netmon open pcap pcapng reader "
    "snoop unpack unpack_bzip2 unpack_gzip unpack_lz4 unpack_method unpack_xz unpack_zstd "
    "unpackers",
    "datagrams": "content fragment_table reassemble",
    "accounts": "address_pairs cause direction findings flows header_senders others repairs "
    "senders summary timeline why",
    "work": "capture_fix check copier explain fix_fd kernel_copy piece pipeline repair spans "
    "stream_parts threads threads_none threads_posix writer",
}
CAPTURE_PART = {stem: part for part, stems in CAPTURE_PARTS.items() for stem in stems.split()}

# The folder of the core's host for processes with a C library. Its files include no internal
# headers other than their own and the headers of base.
HOSTED = "hosted"

# Public files that are not named after their module.
PUBLIC = {
    "capture_causes.def": "capture",
    "capture_formats.def": "capture",
    "components.def": "xstate",
    "context.h": "xstate",
    "crc.h": "sum",
    "errors.def": "base",
    "fault.h": "copy",
    "features.def": "cpu",
    "image.h": "xstate",
    "protocols.def": "packet",
    "refusals.def": "xstate",
    "section.h": "xstate",
    "thunk.h": "xstate",
}

# Headers of the compiler: the headers of freestanding C11 that the core uses, and intrinsics.
FREESTANDING = {"stdint.h", "stddef.h", "stdbool.h", "arm_neon.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def includes(path: Path) -> Iterator[tuple[int, bool, str]]:
    """Yields the line of each include in `path`, whether the name is quoted, and the name."""
    text = path.read_text()
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        yield line, match[1] == '"', match[2]


def public_module(name: str) -> str:
    """Returns the module of carry/`name`: patch for carry/patch.h and carry/patch/x.h."""
    return PUBLIC.get(name, Path(Path(name).parts[0]).stem)


def why_not_public(module: str, name: str) -> str | None:
    owner = public_module(name)
    if owner not in RANK:
        return f"<carry/{name}> belongs to no layer of {Path(__file__).name}"
    if RANK[owner] > RANK[module]:
        return f"{module} is below {owner}"
    return None


def why_not_own(module: str, name: str) -> str | None:
    if not (ROOT / "src" / name).is_file():
        return f'"{name}" is not a path from src/'
    owner = name.split("/")[0]
    if owner != module and RANK.get(owner, len(LAYERS)) >= RANK[module]:
        return f"{module} is not above {owner}"
    return None


def why_not_core(module: str, quoted: bool, name: str) -> str | None:
    if quoted:
        return why_not_own(module, name)
    if name.startswith("carry/"):
        return why_not_public(module, name.removeprefix("carry/"))
    if name not in FREESTANDING:
        return f"the core includes no <{name}>"
    return None


def why_not_hosted(quoted: bool, name: str) -> str | None:
    if quoted and name.split("/")[0] not in (HOSTED, "base"):
        return f"{HOSTED} includes base and its own files"
    return None


def is_of_checks(path: Path, name: str) -> bool:
    """Checks whether `path` belongs to `carry selftest`, and `name` is a header of checks or the
    table of proven code."""
    own = path in SELFTEST or path.parent in SELFTEST
    return own and (name.startswith("harness/") or name == PROVEN)


def why_not_of_tool(path: Path, name: str) -> str | None:
    """Returns why a file of the command must not include `name`, a path from TOOL, or None."""
    if is_of_checks(path, name) or HOSTS.get(path) == name:
        return None
    made = (TOOL / f"{name}.in").is_file()
    if not (made or (TOOL / name).is_file()) or ".." in Path(name).parts:
        return f'"{name}" is not a path from {TOOL.relative_to(ROOT)}/'
    own, other = path.relative_to(TOOL).parts[0], name.split("/")[0]
    if own == other or path.parent == TOOL or name == "commands.def":
        return None
    if own not in TOOL_RANK:
        return f"{own}/ belongs to no layer of {Path(__file__).name}"
    if TOOL_RANK.get(other, len(TOOL_LAYERS)) >= TOOL_RANK[own]:
        return f"{own}/ is not above {other}/"
    return None


def why_not_of_capture(path: Path, name: str) -> str | None:
    """Returns why a file of libcarry-capture must not include `name`, or None."""
    own, other = CAPTURE_PART.get(path.stem), CAPTURE_PART.get(Path(name).stem)
    if not own or not other:
        return f"{path.stem if not own else name} belongs to no part of {Path(__file__).name}"
    if own != other and CAPTURE_RANK[other] >= CAPTURE_RANK[own]:
        return f"{own} is not above {other}"
    return None


def is_report(name: str) -> bool:
    """Checks whether `name` is a header of the command that bindings may include."""
    return name.split("/")[0] in FOR_BINDINGS and (TOOL / name).is_file()


def why_not_outside(path: Path, quoted: bool, name: str) -> str | None:
    """Returns why a file outside the core must not include `name`, or None."""
    top = path.relative_to(ROOT).parts[0]
    if top == "bindings" and quoted and is_report(name):
        return None
    if path.is_relative_to(TOOL) and (quoted or (TOOL / name).is_file()):
        return why_not_of_tool(path, name)
    file = (path.parent / name).resolve()
    if quoted and not (file.is_file() and file.is_relative_to(ROOT / top)):
        return f"{top}/ includes its own files and public headers"
    if quoted and path.is_relative_to(CAPTURE):
        return why_not_of_capture(path, name)
    if name.startswith("asmjit/") and top != "jit":
        return "only jit/ includes asmjit"
    if name.startswith("carry/") and not (ROOT / "include" / name).is_file():
        return f"<{name}> is no public header"
    return None


def why_not(path: Path, quoted: bool, name: str) -> str | None:
    """Returns why `path` must not include `name`, or None if it may."""
    top, *rest = path.relative_to(ROOT).parts
    if top in OUTSIDE:
        return why_not_outside(path, quoted, name)
    module = public_module("/".join(rest[1:])) if top == "include" else rest[0]
    if module == HOSTED:
        return why_not_hosted(quoted, name)
    if module == "carry":  # carry.h includes every module
        return None
    if module not in RANK:
        return f"{module} belongs to no layer of {Path(__file__).name}"
    return why_not_core(module, quoted, name)


def drawn(layers: list[list[str]]) -> str:
    """Returns layers as a line: base <- cpu <- { patch, xstate }."""
    rows = (row[0] if len(row) == 1 else f"{{ {', '.join(row)} }}" for row in layers)
    return " <- ".join(rows)


def shared_names(paths: list[Path]) -> Iterator[str]:
    """Yields a complaint for each file whose name an earlier file has."""
    found: dict[str, Path] = {}
    for path in (path.relative_to(ROOT) for path in paths):
        if path.parts[0] not in NAMED_ONCE or ARCHITECTURES & {*path.parts, path.stem}:
            continue
        if path.suffix != ".def" and (earlier := found.setdefault(path.name, path)) != path:
            yield f"{path}: {earlier} has the same name"


def main() -> int:
    paths = [
        path
        for top in ("include", "src", *OUTSIDE)
        for path in sorted((ROOT / top).rglob("*"))
        if path.suffix in {".c", ".cc", ".h", ".S", ".def"}
    ]
    count = 0
    errors = 0
    for path in paths:
        for line, quoted, name in includes(path):
            count += 1
            reason = why_not(path, quoted, name)
            if reason:
                errors += 1
                print(f"{path.relative_to(ROOT)}:{line}: {reason}")
    names = list(shared_names(paths))
    print(*names, sep="\n", end="\n" if names else "")
    print(f"the core, from the bottom up: {drawn(LAYERS)}")
    print(f"libcarry-capture: {drawn(CAPTURE_LAYERS)}")
    print(f"the command: {drawn(TOOL_LAYERS)}")
    print(f"{count} includes in {len(paths)} files: {errors} against the layers")
    return 1 if errors or names or not count else 0


if __name__ == "__main__":
    sys.exit(main())
