# SPDX-License-Identifier: MIT
"""Builds below build-test/, and how tests run in them."""

import contextlib
import fcntl
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lock_tools import LOCKS

from testing.runner import ROOT, Built, Log, StepError

BUILDS = ROOT / "build-test"
# What scripts fetch, roots and pip's own cache: kept for the next step and the next run.
DOWNLOADS = BUILDS / "downloads"
# The source archive of the present commit, from which all is made that users get.
SOURCE = BUILDS / "source"
COMPILERS = {"gcc": "g++", "clang": "clang++"}
# The one that measures MC/DC.
COVERAGE_COMPILER = {"clang-19": "clang++-19"}
JOBS = int(os.environ.get("CARRY_JOBS", os.cpu_count() or 1))
PATIENCE = 5
EMULATOR = ["timeout", "-s", "KILL", "900"]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone with what has this name: steps aside use the builds of others."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def build(
    log: Log, name: str, *options: str, compiler: str = "gcc", targets: Sequence[str] = ()
) -> Path:
    """Builds everything, or some targets, in build-test/`name`; anew if the options or the compiler
    differ from those of the last time."""
    folder = BUILDS / name
    record = folder / "options"
    setup = ["meson", "setup", "-Dwerror=true", *options, str(folder)]
    choices = compilers(compiler)
    texts = [shlex.join([*choice.values(), *setup]) for choice in choices]
    with locked(BUILDS / f"{name}.lock"):
        if not record.is_file() or record.read_text() not in texts:
            shutil.rmtree(folder, ignore_errors=True)
            log.run(*setup, env=choices[0])
            record.write_text(texts[0])
        log.run("ninja", "--quiet", "-C", folder, *targets)
    log.builds.append(Built(folder, tuple(targets)))
    return folder


# Of a build, what its C tests run.
C_TESTS = "meson-test-prereq"


def gcc_build(log: Log, *targets: str) -> Path:
    """Returns the build that most steps test, or some targets of it."""
    return build(log, "gcc", "-Dtool=enabled", targets=targets)


def compilers(compiler: str) -> list[dict[str, str]]:
    """Returns the variables that choose the compilers of C and C++, the best choice first: ccache
    keeps objects for other builds if it is installed. A build that was made without it stays."""
    both = {"CC": compiler, "CXX": (COMPILERS | COVERAGE_COMPILER)[compiler]}
    if not shutil.which("ccache"):
        return [both]
    return [{name: f"ccache {program}" for name, program in both.items()}, both]


def meson_tests(
    log: Log,
    folder: Path,
    level: str,
    *options: str,
    slower: int = 1,
    rebuild: bool = False,
    env: Mapping[str, str] | None = None,
) -> None:
    """Runs the C tests of a build, all or those that `options` choose. Time limits are for what
    hangs, however busy a machine is; `slower` multiplies them. `rebuild` builds what the chosen
    tests need."""
    results = folder / "meson-logs"
    level = os.environ.get("CARRY_TEST_LEVEL", level)
    settings = {"CARRY_TEST_LEVEL": level} | dict(env or {})
    command = ["meson", "test", "-C", str(folder.relative_to(ROOT))]

    def repeat(suite: str, name: str) -> str:
        test = suite.rpartition(" / ")[2]
        wrapper = [option for option in options if option.startswith("--wrapper")]
        words = [f"{key}={shlex.quote(value)}" for key, value in settings.items()]
        return " ".join([*words, shlex.join([*command, *wrapper, test])])

    for old in results.glob("testlog*.junit.xml"):
        old.unlink()
    error = None
    try:
        log.run(
            *(*command, "--print-errorlogs"),
            *([] if rebuild else ["--no-rebuild"]),
            *("-t", str(PATIENCE * slower), "--num-processes", str(JOBS), *options),
            env=settings,
        )
    except StepError as caught:  # not at an interrupt, which may leave half of the results
        error = caught
    for path in results.glob("testlog*.junit.xml"):
        log.count_junit(path, repeat)
    if error or not log.counts.total:
        raise error or StepError("no test ran")


def python_tests(
    log: Log,
    folder: Path,
    env: Mapping[str, str] | None = None,
    tests: str = "python",
    at_once: int = JOBS,
    only: Sequence[str] = (),
    marked: str = "",
    python: str | Path = sys.executable,
    options: Sequence[str] = (),
) -> None:
    """Runs the tests of the tool, as built in `folder`, or others in Python: all of them, some
    files (`only`), or those that an expression of pytest's markers chooses (`marked`)."""
    results = folder / f"{tests}.xml"
    results.unlink(missing_ok=True)
    reads = folder / "reads"
    shutil.rmtree(reads, ignore_errors=True)
    reads.mkdir()
    settings = {"CARRY_BUILD": str(folder), "CARRY_TOOL": str(folder / "tools/carry/carry")}
    settings |= dict(env or {})

    def repeat(module: str, name: str) -> str:
        level = os.environ.get("CARRY_TEST_LEVEL")
        own = settings | ({"CARRY_TEST_LEVEL": level} if level else {})
        words = [f"{key}={shlex.quote(value)}" for key, value in own.items()]
        return " ".join([*words, shlex.join([str(python), "-m", "pytest", node(module, name)])])

    error = None
    try:
        log.run(
            *(python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"),
            *("-n", str(at_once), f"--junitxml={results}", *options),
            *(f"tests/{tests}/{name}" for name in only or [""]),
            *(["-m", marked] if marked else []),
            env=settings | {"CARRY_READS": str(reads)},
        )
    except StepError as caught:  # not at an interrupt, which leaves no results
        error = caught
    log.read.update(*(file.read_text().splitlines() for file in reads.iterdir()))
    if results.is_file() or not error:
        log.count_junit(results, repeat)
    if error:
        raise error


def node(module: str, name: str) -> str:
    """Returns pytest's name of a test case that JUnit calls `name` of `module`."""
    words = module.split(".")
    for count in range(len(words), 0, -1):
        path = "/".join(words[:count]) + ".py"
        if (ROOT / path).is_file():
            return "::".join([path, *words[count:], name])
    return f"{module}::{name}"


def pip_install(log: Log, folder: Path, name: str) -> None:
    """Installs what the lock `name` lists, by its digests, in a virtual environment."""
    lock = LOCKS / f"{name}.txt"
    options = ["--quiet", "--retries=1", "--use-pep517", "--no-build-isolation"]
    log.run(folder / "bin/pip", "install", "--require-hashes", *options, "-r", lock)


def python_with(log: Log, name: str, what: str) -> Path:
    """Returns a Python that has what the lock `name` lists beside Debian's packages. Tests skip
    `what` pip cannot bring."""
    folder = BUILDS / f"{name}-python"
    record = folder / "packages"
    text = (LOCKS / f"{name}.txt").read_text()
    if not record.is_file() or record.read_text() != text:
        venv = [sys.executable, "-m", "venv", "--clear", "--system-site-packages", folder]
        log.run(*venv)
        try:
            pip_install(log, folder, "build")
            pip_install(log, folder, name)
        except StepError as error:
            log.skip_without(what, error)
            return folder / "bin/python"
        record.write_text(text)
    return folder / "bin/python"
