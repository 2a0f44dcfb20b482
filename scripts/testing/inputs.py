# SPDX-License-Identifier: MIT
"""The inputs of steps: the files that decide a result, by name, and their digests."""

import fnmatch
import hashlib
import json
import os
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache, cached_property
from pathlib import Path

from testing.runner import NAMED, ROOT, Built, Log, Step, StepError

# In these lists, a name that ends in a slash is a folder with its contents, and "*" stands for any
# characters, also for slashes. Each step depends on the first list: a change there runs everything.
COMMON = (
    *(".ci/", "Makefile", "cross/", "meson_options.txt", "*meson.build", "pyproject.toml"),
    *("scripts/packages", "scripts/packages.txt", "scripts/run_tests.py", "scripts/testing/"),
    *(".gitattributes", "tests/conftest.py"),
)
# Files that decide no result.
NEVER = ("tests/record.txt",)
# Folders that steps make in the checkout.
MADE = ("build/", "build-test/")
# Programs that code generators and builds run.
GENERATORS = ("scripts/version", "scripts/commit", "scripts/make_manual.py", "scripts/manual/")
GENERATORS += ("docs/man/carry.1",)

CORE = ("include/", "src/", *GENERATORS)
CAPTURE = ("capture/",)
JIT = ("jit/",)
TOOL = (*CAPTURE, "tools/", "proof/kernels/proven.def", "tests/harness/")
TOOL += ("tests/mutants/",)
PROGRAMS = ("bench/instructions/", "examples/", "fuzz/", "tests/*.c", "tests/*.cc", "tests/*.h")
PROGRAMS += ("tests/*.S", "tests/*.def", "proof/patch/*.def")
PYTHON = ("bindings/python/",)
# All that a build with the tool and the tests compiles.
BUILD = (*CORE, *JIT, *TOOL, *PROGRAMS, *PYTHON)
MANUAL = ("docs/", "*.md", "LICENSE")


def is_named(path: str, names: Iterable[str]) -> bool:
    """Checks whether one of `names` stands for the file `path`."""
    return any(
        path.startswith(name) if name.endswith("/") else fnmatch.fnmatchcase(path, name)
        for name in names
    )


def own_names(step: Step) -> tuple[str, ...]:
    return (*COMMON, *step.inputs)


def git(*words: str, root: Path = ROOT) -> str:
    """Returns what Git prints for the clone in `root`."""
    if not (root / ".git").exists():
        raise StepError(f"{root} is no clone: only Git knows which files belong to it")
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, check=False)
    except OSError as error:
        raise StepError(f"git does not start: {error.strerror}") from None
    if done.returncode:
        raise StepError(done.stderr.decode(errors="replace").strip())
    return done.stdout.decode()


class Tree:
    """The files of a checkout, each with a digest of its content and whether it is executable."""

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root

    @cached_property
    def files(self) -> Mapping[str, str]:
        found = {}
        for path in self.paths():
            file = self.root / path
            if file.is_symlink():
                found[path] = f"link {os.readlink(file)}"
            elif file.is_file():
                mode = "x" if os.access(file, os.X_OK) else "-"
                found[path] = f"{mode} {hashlib.sha256(file.read_bytes()).hexdigest()}"
        return found

    def paths(self) -> list[str]:
        """Returns the files that Git knows or would add."""
        words = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        return sorted(filter(None, git(*words, root=self.root).split("\0")))

    def inputs(self, step: Step) -> list[str]:
        names = own_names(step)
        return [p for p in self.files if p not in NEVER and is_named(p, names)]

    def digest(self, step: Step) -> str:
        """Returns a digest of the names and contents of all inputs of a step, including the
        captures."""
        lines = [f"{path} {self.files[path]}" for path in self.inputs(step)]
        if step.captures:
            lines += captures(os.environ.get("CARRY_CORPUS", ""))
        return hashlib.sha256("\n".join([step.name, *lines]).encode()).hexdigest()[:16]


@cache
def captures(corpus: str) -> list[str]:
    """Returns names and digests of the captures beside the project. Tests read them if they
    exist."""
    folder = Path(corpus)
    if not corpus or not folder.is_dir():
        return ["no captures"]
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [
        f"{path.relative_to(folder)} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in files
    ]


def ninja(folder: Path, *words: str) -> list[str]:
    """Returns the lines that ninja prints about a build."""
    run = subprocess.run(["ninja", "-C", folder, *words], capture_output=True, text=True)
    if run.returncode:
        raise StepError(f"ninja does not know what {folder} was built from: {run.stderr.strip()}")
    return run.stdout.splitlines()


def compiled(built: Built) -> set[str]:
    """Returns the project's files that a build has compiled: the files that its compilers read, as
    ninja recorded them, and the sources of the targets that were made."""
    made = built.files or ninja_made(built.folder)
    read = set(ninja(built.folder, "-t", "inputs", *made)) if made else set()
    wanted = False
    for line in ninja(built.folder, "-t", "deps"):
        if not line.startswith(" "):
            wanted = line.partition(":")[0] in read
        elif wanted:
            read.add(line.strip())
    paths = (Path(os.path.normpath(built.folder / path)) for path in read)
    return {str(path.relative_to(ROOT)) for path in paths if path.is_relative_to(ROOT)}


def ninja_made(folder: Path) -> list[str]:
    """Returns the targets of a build that were made, as ninja names them."""
    targets = json.loads((folder / "meson-info/intro-targets.json").read_text())
    files = (Path(file) for target in targets for file in target["filename"])
    return [str(file.relative_to(folder)) for file in files if file.exists()]


def undeclared(step: Step, log: Log) -> list[str]:
    """Returns the files of the project that the builds of a step compile or its tests read,
    although its row does not name them."""
    names = own_names(step)
    read = log.read.union(*map(compiled, log.builds))
    return sorted(path for path in read if not is_named(path, (*names, *MADE, *NEVER)))


def check_inputs(step: Step, log: Log) -> None:
    """Fails a step whose builds or tests read files that its row does not name."""
    if log.read:
        log.write(f"read by tests: {' '.join(sorted(log.read))}")
    if lacking := undeclared(step, log):
        more = f" and {len(lacking) - NAMED} more" if len(lacking) > NAMED else ""
        raise StepError(f"not among the inputs of the step: {' '.join(lacking[:NAMED])}{more}")
