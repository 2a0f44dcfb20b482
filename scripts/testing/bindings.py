# SPDX-License-Identifier: MIT
"""Steps that test libcarry for Python, alone and with what reads its tables."""

import subprocess

from testing.builds import build, gcc_build, python_tests, python_with
from testing.runner import Log

# What reads the tables of libcarry for Python, and what looks at its types and its notebook.
BINDING_TOOLS = ["duckdb==2.0.1", "fsspec==2026.9.0", "ipykernel==7.4.0", "mypy==2.4.1"]
BINDING_TOOLS += ["nbclient==0.11.0", "pandas==3.1.1", "polars==2.1.0", "pyarrow==26.0.1"]
BINDING_TOOLS += ["tqdm==4.64.1", "typing_extensions==4.16.0"]
# Engines that audit archives, what reads their tables, and a store for them to read.
AUDIT_TOOLS = ["duckdb==2.0.1", "fsspec==2026.9.0", "moto[server]==5.2.5", "pandas==3.1.1"]
AUDIT_TOOLS += ["polars==2.1.0", "pyarrow==26.0.1", "pyspark==4.3.0", "ray[client,data]==2.60.0"]
AUDIT_TOOLS += ["s3fs==2026.9.0"]


def gcc_library(name: str) -> str:
    """Where GCC has a library of its own."""
    command = ["gcc", f"-print-file-name={name}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def package(log: Log) -> None:
    """Runs the tests of libcarry for Python with what this machine has; those that need more are
    skipped."""
    folder = gcc_build(log)
    env = {"PYTHONPATH": str(folder / "bindings/python")}
    python_tests(log, folder, env, tests="bindings")


def binding(log: Log) -> None:
    """libcarry for Python: with each consumer of its tables, then with sanitizers."""
    consumers = "Arrow's consumers, types and notebooks"
    python = python_with(log, "binding-python", BINDING_TOOLS, consumers)
    folder = gcc_build(log)
    env = {"PYTHONPATH": str(folder / "bindings/python")}
    python_tests(log, folder, env, tests="bindings", python=python)
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
    python_tests(log, folder, env, tests="bindings", python=python, marked="sanitized")


def audit(log: Log) -> None:
    """A file of tests runs in one process, so that each engine starts once."""
    engines = "audits of archives, and what reads their tables"
    python = python_with(log, "audit-python", AUDIT_TOOLS, engines)
    folder = gcc_build(log)
    env = {"PYTHONPATH": str(folder / "bindings/python")}
    python_tests(log, folder, env, tests="audit", python=python, options=["--dist=loadfile"])
