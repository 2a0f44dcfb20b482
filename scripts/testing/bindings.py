# SPDX-License-Identifier: MIT
"""Steps that test libcarry for Python, alone and with consumers of its tables."""

import subprocess

from testing.builds import build, gcc_build, python_tests, python_with
from testing.runner import Log


def gcc_library(name: str) -> str:
    """Returns the path of one of GCC's own libraries."""
    command = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def package(log: Log) -> None:
    """Runs the tests of libcarry for Python with the packages that this machine has; tests that
    need others are skipped."""
    folder = gcc_build(log)
    env = {"PYTHONPATH": str(folder / "bindings/python")}
    python_tests(log, folder, env, tests="unit/bindings")


def binding(log: Log) -> None:
    """Tests libcarry for Python with each consumer of its tables, then with sanitizers."""
    python = python_with(log, "binding", "Arrow's consumers, types and notebooks")
    folder = gcc_build(log)
    env = {"PYTHONPATH": str(folder / "bindings/python")}
    python_tests(log, folder, env, tests="unit/bindings", python=python)
    targets = ["bindings/python/libcarry/_carry.abi3.so"]
    options = ["-Dtool=enabled", "-Dpython=enabled", "-Djit=disabled", "-Db_lundef=false"]
    sanitized = build(log, "binding", *options, "-Db_sanitize=address,undefined", targets=targets)
    env = {
        "PYTHONPATH": str(sanitized / "bindings/python"),
        "CARRY_SANITIZED": "1",
        "LD_PRELOAD": " ".join(map(gcc_library, ("libasan.so", "libubsan.so"))),
        "PYTHONMALLOC": "malloc",
        "ASAN_OPTIONS": "detect_leaks=0",
    }
    python_tests(log, folder, env, tests="unit/bindings", python=python, marked="sanitized")


def audit(log: Log) -> None:
    """Tests audits. Each file of tests runs in one process, in which an engine starts only once."""
    python = python_with(log, "audit", "audits of archives, and what reads their tables")
    folder = gcc_build(log)
    env = {"PYTHONPATH": str(folder / "bindings/python")}
    python_tests(log, folder, env, tests="unit/audit", python=python, options=["--dist=loadfile"])
