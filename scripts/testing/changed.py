# SPDX-License-Identifier: MIT
"""`make test-changed`: tests of the files that differ from a commit, at level short, in one build.

The build's dependencies and the layers of modules choose the tests in C; a table chooses the tests
in Python.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from check_layers import LAYERS, RANK, public_module

from testing.builds import CONFIGURED, gcc_build, meson_tests, python_tests
from testing.inputs import COMMON, git, is_named
from testing.runner import ROOT, Log, Step, run_steps, total
from testing.sources import style_of

# The suites of modules without tests of their own, and of folders whose suite has another name.
SUITES = {"kernel": "xstate", "hosted": "base", "tools": "tool"}

# Patterns of files, and the marker of pytest, or the files of tests/, that test them.
PYTHON_TESTS: list[tuple[tuple[str, ...], str, str]] = [
    (("src/packet/", "capture/", "include/carry/protocols.def"), "covers_capture", ""),
    (("tools/carry/check/", "tools/carry/common/"), "covers_capture", ""),
    (("tools/carry/live/",), "", "tool/test_live.py tool/test_interrupt.py"),
    (("tools/carry/bench/",), "", "tool/test_bench.py tool/test_bench_chosen.py"),
    (("tools/carry/bench/copy*",), "", "tool/test_bench_copy.py"),
    (("examples/audit.c",), "", "tool/test_auditor.py"),
    (("tools/carry/sites/",), "", "tool/test_sites.py tool/test_sites_aarch64.py"),
    (("tools/carry/xstate/",), "", "tool/test_xstate.py tool/test_xstate_leavers.py"),
    (("tools/carry/selftest*",), "", "tool/test_selftest.py"),
    (("tools/carry/carry-rotated",), "", "tool/test_rotated.py"),
    (("bench/",), "", "house/test_bench_report.py house/test_bench_languages.py"),
    (("bindings/python/",), "", "unit/bindings"),
    (("docs/", "*.md"), "", "house/test_documents.py house/test_manual.py"),
    (("scripts/",), "", "house/test_runner.py house/test_record.py house/test_changed.py"),
    (("scripts/check_*", "scripts/source_text.py"), "", "house/test_words.py"),
    (("scripts/compare_code.py", "scripts/source_text.py"), "", "house/test_compare_code.py"),
    (("scripts/check_commits.py", "scripts/check_words.py"), "", "house/test_commits.py"),
    (("scripts/lock_tools.py", "scripts/pip/", ".github/"), "", "house/test_pins.py"),
]

# Parts of all tests in C: if one of these parts differs, all tests in C run.
HARNESS = ("tests/harness/", "tests/mutants/")
OF_C = ("tests/unit/*.c", "tests/unit/*.cc", *HARNESS, "tests/unit/hook/", "fuzz/", "examples/*.c")
OF_TOOL = ("tests/tool/test_", "tests/house/test_", "tests/unit/bindings/test_")


def differing(base: str) -> list[str]:
    """Returns the files that differ from a commit, including new ones."""
    old = git("diff", "--no-renames", "--name-only", "-z", "--relative", base, "--", root=ROOT)
    new = git("ls-files", "-z", "--others", "--exclude-standard", root=ROOT)
    return sorted({path for path in (old + new).split("\0") if path})


def module_of(path: str) -> str | None:
    """Returns the module to which a file of the libraries or of the tool belongs, or None."""
    top, _, rest = path.partition("/")
    if top == "include":
        module = public_module(rest.removeprefix("carry/"))
        return module if module in RANK else "base"
    if top == "src":
        return rest.partition("/")[0] if "/" in rest else None
    return top if top in ("capture", "jit", "tools") else None


def suites_of(files: Iterable[str]) -> list[str]:
    """Returns the suites of the modules of files, and of all modules in layers above."""
    modules = {module for file in files if (module := module_of(file))}
    above = {
        other
        for module in modules & RANK.keys()
        for layer in LAYERS[RANK[module] + 1 :]
        for other in layer
    }
    return sorted({SUITES.get(module, module) for module in modules | above})


def dependents(folder: Path, files: Iterable[str]) -> list[str]:
    """Returns the names of tests in C whose own objects were compiled from one of `files`; of all
    tests if one of `files` is a part of the harness, which is in a library."""
    wanted = {os.path.relpath(ROOT / file, folder) for file in files}
    run = subprocess.run(["ninja", "-C", folder, "-t", "deps"], capture_output=True, text=True)
    programs, program = set(), ""
    for line in run.stdout.splitlines():
        if not line.startswith(" "):
            program = line.partition(".p/")[0]
        elif line.strip() in wanted:
            programs.add(program)
    tests = json.loads((folder / "meson-info/intro-tests.json").read_text())
    if any(is_named(file, HARNESS) for file in files):
        return sorted({test["name"] for test in tests})
    return [t["name"] for t in tests if os.path.relpath(t["cmd"][0], folder) in programs]


def run_c_tests(files: Sequence[str], log: Log) -> None:
    of_tests = [file for file in files if is_named(file, OF_C)]
    folder = gcc_build(log, *([] if of_tests else [CONFIGURED]))
    if suites := [f"--suite={suite}" for suite in suites_of(files)]:
        meson_tests(log, folder, "short", *suites, rebuild=True)
    if names := dependents(folder, of_tests):
        meson_tests(log, folder, "short", *names)


def python_choices(files: Iterable[str]) -> tuple[list[str], list[str]]:
    """Returns markers, and files of tests/, that test these files."""
    markers: set[str] = set()
    chosen: set[str] = set()
    for file in files:
        rows = [row for row in PYTHON_TESTS if is_named(file, row[0])]
        markers |= {word for _, marker, _ in rows for word in marker.split()}
        chosen |= {word for _, _, tests in rows for word in tests.split()}
        if file.startswith(OF_TOOL) and (ROOT / file).exists():
            chosen.add(file.removeprefix("tests/"))
    return sorted(markers), sorted(chosen)


def run_python_tests(files: Sequence[str], log: Log) -> None:
    markers, chosen = python_choices(files)
    folder = gcc_build(log, "tools/carry/carry", "tests/dump_sums")
    env = {"PYTHONPATH": str(folder / "bindings/python")}
    if any(file.startswith("unit/bindings") for file in chosen):
        gcc_build(log)
    for marker in markers:
        python_tests(log, folder, env, marked=marker)
    if chosen:
        python_tests(log, folder, env, tests=".", only=chosen)


def steps_for(files: Sequence[str]) -> list[Step]:
    steps = [Step("style", "style of the files that differ", partial(style_of, files))]
    suites = suites_of(files)
    if suites or any(is_named(file, OF_C) for file in files):
        what = f"C tests of {', '.join(suites)}" if suites else "C tests that differ"
        steps.append(Step("c", what, partial(run_c_tests, files)))
    markers, chosen = python_choices(files)
    if markers or chosen:
        what = f"Python: {' '.join([*markers, *chosen])}"
        steps.append(Step("python", what, partial(run_python_tests, files)))
    return steps


def is_known(file: str) -> bool:
    """Checks whether one of the tests that run here tests a file."""
    return bool(suites_of([file]) or is_named(file, OF_C) or any(python_choices([file])))


def test_changes(base: str) -> int:
    """Tests the files that differ from a commit; returns the exit status."""
    os.environ.setdefault("CARRY_TEST_LEVEL", "short")
    files = differing(base)
    if not files:
        print(f"Nothing differs from {base}.")
        return 0
    results, seconds = run_steps(steps_for(files))
    print(f"{total(results.values())} in {seconds:.0f} s")
    if rest := [file for file in files if not is_known(file)]:
        print(f"No test here knows {' '.join(rest)}: make test-affected runs those that do.")
    if common := [file for file in files if is_named(file, COMMON)]:
        print(f"{common[0]} can affect everything: make test-all tests that.")
    sys.stdout.flush()
    return 1 if any(result.failures is not None for result in results.values()) else 0
