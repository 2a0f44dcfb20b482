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

from testing.runner import ROOT, Built, Log, StepError, shown

BUILDS = ROOT / "build-test"
# Packages and roots that scripts download, and the caches of pip and ccache: kept for later runs.
DOWNLOADS = BUILDS / "downloads"
# The source archive of the present commit, from which all files for users are made.
SOURCE = BUILDS / "source"
COMPILERS = {"gcc": "g++", "clang": "clang++"}
# The compilers that measure MC/DC.
COVERAGE_COMPILER = {"clang-19": "clang++-19"}
JOBS = int(os.environ.get("CARRY_JOBS", os.cpu_count() or 1))
PATIENCE = 5
EMULATOR = ["timeout", "-s", "KILL", "900"]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Locks the file at `path` for a `with` block. Waits while another process has locked it:
    concurrent steps share builds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def build(
    log: Log, name: str, *options: str, compiler: str = "gcc", targets: Sequence[str] = ()
) -> Path:
    """Builds everything, or some targets, in build-test/`name`; from scratch if the options or the
    compiler differ from the last time. Returns the folder."""
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
    log.builds.append(Built(folder, tuple(target for target in targets if target != CONFIGURED)))
    return folder


# Names of targets: only the files for ninja, and the programs of the C tests.
CONFIGURED = "build.ninja"
C_TESTS = "meson-test-prereq"


def gcc_build(log: Log, *targets: str) -> Path:
    """Returns the build that most steps test, or some targets of it."""
    return build(log, "gcc", "-Dtool=enabled", targets=targets)


def compilers(compiler: str) -> list[dict[str, str]]:
    """Returns the variables that choose the compilers of C and C++, the best choice first. If
    ccache is installed, it is the best, as it keeps objects for other builds. A build that was made
    without ccache continues without it."""
    both = {"CC": compiler, "CXX": (COMPILERS | COVERAGE_COMPILER)[compiler]}
    if not shutil.which("ccache"):
        return [both]
    return [{name: f"ccache {program}" for name, program in both.items()}, both]


def counted(
    log: Log,
    results: Path,
    command: Sequence[str | Path],
    repeat: Sequence[str | Path],
    env: Mapping[str, str],
) -> None:
    """Runs a command that writes files with names like `results`, a pattern, and counts the tests
    in them, even if the command fails. `repeat`, followed by the name of a test, runs that test."""
    for old in results.parent.glob(results.name):
        old.unlink()
    before = log.counts.total
    error = None
    try:
        log.run(*command, env=env)
    except StepError as caught:  # not an interrupt, after which the results may be incomplete
        error = caught
    for path in results.parent.glob(results.name):
        log.count_junit(path, shown(repeat, env))
    if error or log.counts.total == before:
        raise error or StepError("no test ran")


def meson_tests(
    log: Log,
    folder: Path,
    level: str,
    *options: str,
    slower: int = 1,
    rebuild: bool = False,
    env: Mapping[str, str] | None = None,
) -> None:
    """Runs the C tests of a build, all or those that `options` choose. Time limits are long enough
    for a busy machine; `slower` multiplies them. `rebuild` builds what the chosen tests need."""
    level = os.environ.get("CARRY_TEST_LEVEL", level)
    command = ["meson", "test", "-C", str(folder.relative_to(ROOT))]
    wrapper = [option for option in options if option.startswith("--wrapper")]
    chosen = [*(() if rebuild else ("--no-rebuild",)), "-t", str(PATIENCE * slower)]
    chosen += ["--print-errorlogs", "--num-processes", str(JOBS), *options]
    settings = {"CARRY_TEST_LEVEL": level, **(env or {})}
    results = folder / "meson-logs/testlog*.junit.xml"
    counted(log, results, [*command, *chosen], [*command, *wrapper], settings)


def python_tests(
    log: Log,
    folder: Path,
    env: Mapping[str, str] | None = None,
    tests: str = "tool",
    at_once: int = JOBS,
    only: Sequence[str] = (),
    marked: str = "",
    python: str | Path = sys.executable,
    options: Sequence[str] = (),
) -> None:
    """Runs the tests in the folder tests/`tests` on the build in `folder`: all of them, some files
    (`only`), or the tests that match an expression of pytest's markers (`marked`)."""
    settings = {"CARRY_BUILD": str(folder), "CARRY_TOOL": str(folder / "tools/carry/carry")}
    settings |= env or {}
    settings |= {name: os.environ[name] for name in ("CARRY_TEST_LEVEL",) if name in os.environ}
    command = [python, "-m", "pytest"]
    # Steps that share a build may run at the same time, so these files belong to the log.
    results = log.path.with_suffix(".xml")
    reads = log.path.with_suffix(".reads")
    # Only the first of the two families of JUnit files names the file of a test.
    chosen = ["-q", "-rs", "-p", "no:cacheprovider", "-o", "junit_family=xunit1", *options]
    chosen += [f"--junitxml={results}", "-n", str(at_once)]
    chosen += [f"tests/{tests}/{name}" for name in only or [""]] + (
        ["-m", marked] if marked else []
    )
    shutil.rmtree(reads, ignore_errors=True)
    reads.mkdir()
    noted = ["env", f"CARRY_READS={reads}", *command, *chosen]
    try:
        counted(log, results, noted, command, settings)
    finally:
        log.read.update(*(file.read_text().splitlines() for file in reads.iterdir()))


def python_with(log: Log, name: str, what: str) -> Path:
    """Returns a Python with the packages of the lock `name`, in addition to Debian's. If pip cannot
    install them, tests of `what` are skipped."""
    folder = BUILDS / f"{name}-python"
    record = folder / "packages"
    text = (LOCKS / f"{name}.txt").read_text()
    if not record.is_file() or record.read_text() != text:
        log.run(sys.executable, "-m", "venv", "--clear", "--system-site-packages", folder)
        pip = [folder / "bin/pip", "install", "--require-hashes", "--quiet", "--retries=1"]
        pip += ["--use-pep517", "--no-build-isolation", "-r"]  # isolation downloads unpinned files
        if all(log.brings(what, *pip, LOCKS / f"{lock}.txt") for lock in ("build", name)):
            record.write_text(text)
    return folder / "bin/python"
