# SPDX-License-Identifier: MIT
"""System calls: each module makes only those that docs/sandbox.md lists."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.of_compilers

SOURCE = Path(__file__).resolve().parents[2]
LIBRARY = Path(os.environ["CARRY_BUILD"]) / "src/libcarry.a"

# The calls of the C library that the first sentence of the document names, the return from a
# handler, and the restart of an interrupted call.
ANY = {"brk", "mmap", "munmap", "futex", "rt_sigreturn", "restart_syscall"}

HEAD = """
#define _GNU_SOURCE
#include <carry/carry.h>
#include <carry/copy.h>
#include <carry/fault.h>
#include <carry/hook.h>
#include <carry/patch.h>
#include <carry/xstate.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>
CARRY_OP(int, number, int);
static int same(int a) { return a; }
static int next(int a) { return a + 1; }
CARRY_OP_DEFINE(number, same);
static _Atomic int runs;
static void *run(void *unused) { for (runs = 1;;) carry_call(number)(1); return unused; }
static int flip(int on) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    if (on) carry_set(&patch, number, next); else carry_set(&patch, number, same);
    return carry_patch_commit(&patch);
}
static void mark(const char *text) { if (write(-1, text, 5)) return; }
static int measured(void) { %s }
static void prepare(void) { %s }
int main(void) {
    prepare();
    mark("begin");
    int result = measured();
    mark("ended");
    _exit(result);
}
"""

THREAD = "pthread_t thread; pthread_create(&thread, NULL, run, NULL); while (!runs) sched_yield();"
FLIPS = "int e = 0; for (int i = 0; i < 20; i++) e |= flip(i % 2); return e != 0;"
COPY = """
    char buffer[64];
    char *gone = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(gone + 4096, 4096);
    if (carry_fault_acquire()) return 1;
    size_t missing = carry_copy_try(buffer, gone + 4096 - 32, 64);
    carry_fault_release();
    return missing != 32;
"""

# By name: the rows of the document that apply, the operation, and the code that runs before it.
MODULES = {
    "patch": (("patch",), FLIPS, ""),
    "patch beside a thread": (("patch",), FLIPS, THREAD),
    "patch by traps": (("patch",), FLIPS, THREAD + 'carry_patch_select(NULL, "trap");'),
    "patch by a memfd": (("patch",), FLIPS, THREAD + 'carry_patch_select("alias", NULL);'),
    "copies": (("copies",), COPY, ""),
    "xstate": (("xstate",), "return carry_xstate_in_use() == 7777;", ""),
}


def documented(modules: tuple[str, ...]) -> set[str]:
    """Returns the calls that the document lists for modules, by the first words of their rows."""
    names: set[str] = set()
    current = ""
    for line in (SOURCE / "docs/sandbox.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < 5:
            continue
        current = cells[1] or current
        if current.replace("`", "").startswith(modules):
            names |= set(re.findall(r"`([a-z_0-9]+)`", cells[2]))
    return names


def calls_made(program: Path, log: Path) -> set[str]:
    """Returns the calls between the two marks of the program, by any of its threads."""
    done = subprocess.run(
        ["strace", "-f", "-o", log, program], capture_output=True, text=True, timeout=120
    )
    if not log.is_file() or "begin" not in log.read_text():
        pytest.skip(f"strace may not trace here: {done.stderr.strip()[:80]}")
    assert done.returncode == 0, log.read_text()[-2000:]
    between = log.read_text().split('"begin"')[1].split('"ended"')[0].splitlines()[1:-1]
    return {found[1] for line in between if (found := re.match(r"\d+ +([a-z_0-9]+)\(", line))}


@pytest.mark.parametrize("name", MODULES)
def test_no_other_system_calls(name: str, tmp_path: Path) -> None:
    if os.environ.get("CARRY_SANITIZED"):
        pytest.skip("sanitizers make calls of their own")
    if not shutil.which("strace"):
        pytest.skip("no strace")
    rows, body, before = MODULES[name]
    source = tmp_path / "program.c"
    source.write_text(HEAD % (body, before))
    program = tmp_path / "program"
    include = [f"-I{SOURCE / 'include'}", f"-I{LIBRARY.parents[1] / 'include'}"]
    subprocess.run(
        ["cc", "-O2", *include, source, LIBRARY, "-pthread", "-ldl", "-o", program], check=True
    )
    calls = calls_made(program, tmp_path / "log")
    others = sorted(calls - ANY - documented(rows))
    assert others == []


def test_the_document_is_read() -> None:
    assert {"membarrier", "mremap", "pwrite64"} <= documented(("patch",))
    assert "membarrier" not in documented(("copies",))
