# SPDX-License-Identifier: MIT
"""`carry sites`: the sites of programs that these tests compile, run, and damage."""

from __future__ import annotations

import functools
import json
import os
import platform
import random
import re
import resource
import shutil
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from carry_tool import BAD, CLEAN, DAMAGED, ERROR, MIB, SOURCE, Run, fewer, in_terminal
from schemas import conforming

pytestmark = [
    pytest.mark.not_sanitized,
    pytest.mark.of_compilers,
    pytest.mark.skipif(
        platform.machine() != "x86_64", reason="sites are of x86-64, and so is this compiler"
    ),
]

Build = Callable[..., Path]

RECORD = struct.Struct("<iiiBBBB")

DECLARATIONS = """
#include <carry/patch.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

CARRY_OP(uint64_t, route, uint64_t);
CARRY_OP(uint64_t, step, uint64_t);
CARRY_OP(uint64_t, idle, uint64_t);
CARRY_KEY(tracing);
"""

# Sites of all kinds except entries.
SITES = (
    DECLARATIONS
    + """
#define HERE __attribute__((noinline, used))

HERE static uint64_t route_plain(uint64_t x) { return 3 * x; }
HERE static uint64_t route_fast(uint64_t x) { return 5 * x; }
HERE static uint64_t before(uint64_t x) { return x - 1; }
HERE static uint64_t after(uint64_t x) {
    CARRY_BODY(after, "lea 1(%%rdi), %%rax");
    return x + 1;
}

CARRY_OP_DEFINE(route, route_plain);
CARRY_OP_DEFINE(step, before);
CARRY_OP_DEFINE(idle, before);
CARRY_KEY_DEFINE(tracing, false);

HERE uint64_t forward(uint64_t x) {
    if (carry_unlikely(tracing))
        x++;
    return carry_call(route)(x) + carry_call(step)(x) + carry_call(idle)(x);
}

HERE uint64_t alternatives(uint64_t x) {
    __asm__(CARRY_ALT("add $1, %0; add $2, %0", avx2, "add $3, %0") : "+r"(x));
    __asm__(CARRY_ALT_KEY_ONE("add $1, %0", tracing, "sub $1, %0")
            : "+r"(x)
            : CARRY_ALT_INPUT(tracing));
    return x;
}

__asm__(".pushsection .text\\n"
        "tail: .byte 0xff, 0x25\\n.long carry_op_route - . - 4\\n"
        ".pushsection carry_sites, \\"ao\\", @progbits, tail\\n"
        ".long tail - ., carry_op_route - ., 0\\n.byte 2, 6, 0, 1\\n"
        ".popsection\\n.popsection\\n");
"""
)

# Executes the commands that it reads, and answers each.
MAIN = """
static int change(const char *what) {
    struct carry_patch patch;
    if (strcmp(what, "apply\\n") == 0)
        return carry_patch_apply(CARRY_PATCH_QUIET);
    if (strcmp(what, "poke\\n") == 0) {
        carry_op_route.value = (uintptr_t)before;
        return 0;
    }
    carry_patch_begin(&patch);
    if (strcmp(what, "on\\n") == 0) {
        carry_set(&patch, route, route_fast);
        carry_set(&patch, step, after);
        carry_set(&patch, idle, CARRY_OP_NOTHING(idle));
        carry_enable(&patch, tracing);
    } else {
        carry_set(&patch, step, before);
        carry_disable(&patch, tracing);
    }
    return carry_patch_commit(&patch);
}

int main(void) {
    char line[64];
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    for (puts("ready"); fflush(stdout), fgets(line, sizeof line, stdin);)
        printf("%d\\n", change(line));
    return (int)(forward(1) + alternatives(1)) & 0;
}
"""

PROGRAM = SITES + MAIN

MODES = {
    "pie": ["-pie", "-fPIE"],
    "no-pie": ["-no-pie", "-fno-pie"],
    "static": ["-static"],
    "static-pie": ["-static-pie", "-fPIE"],
    "shared": ["-shared", "-fPIC"],
    "relr": ["-pie", "-fPIE", "-Wl,-z,pack-relative-relocs"],
    "one segment": ["-pie", "-fPIE", "-Wl,-z,noseparate-code"],
    "gold": ["-pie", "-fPIE", "-fuse-ld=gold"],
    "lld": ["-pie", "-fPIE", "-fuse-ld=lld"],
}


def options_of(mode: str) -> list[str]:
    """Returns linker options; skips the test if the linker of `mode` is missing."""
    if mode in {"gold", "lld"} and not shutil.which(f"ld.{mode}"):
        pytest.skip(f"there is no ld.{mode}")
    return MODES[mode]


# The files of src/hosted that the module `patch` needs.
HOSTED = (
    "exchange.c",
    "host.c",
    "loaded.c",
    "origin.c",
    "hosted_patch.c",
    "hosted_signals.c",
    "hosted_text.c",
    "trap.c",
    "x86_64/context.c",
    "x86_64/levels.S",
    "x86_64/mark.c",
    "x86_64/pages.c",
)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Compiles the module `patch` without sanitizers, even if the tool's build has them."""
    folder = tmp_path_factory.mktemp("library")
    sources = [
        *(SOURCE / "src/patch").glob("*.c"),
        *(SOURCE / "src/patch/x86_64").glob("*.[cS]"),
        *(SOURCE / "src/cpu").glob("*.c"),
        *(SOURCE / "src/cpu/x86_64").glob("*.c"),
        *(SOURCE / "src/hosted" / name for name in HOSTED),
    ]
    include = [f"-I{SOURCE / 'include'}", f"-I{SOURCE / 'src'}"]
    compile_it = ["gcc", "-O1", "-fPIC", "-fvisibility=hidden", "-c", *include]
    subprocess.run([*compile_it, *map(str, sources)], cwd=folder, check=True, timeout=600)
    return sorted(map(str, folder.glob("*.o")))


@pytest.fixture(scope="session")
def compiled(library: list[str], tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Returns a function that compiles each program once."""
    folder = tmp_path_factory.mktemp("programs")

    @functools.cache
    def run(source: str, mode: str, *flags: str) -> Path:
        path = folder / f"{run.cache_info().currsize}"
        text = path.with_suffix(".c")
        text.write_text(source)
        options = [*options_of(mode), *flags, f"-I{SOURCE / 'include'}"]
        command = ["gcc", "-O2", "-g", "-o", path, text, *options, *library, "-lpthread"]
        subprocess.run(command, check=True, timeout=600)
        return path

    return run


@pytest.fixture
def build(compiled: Callable[..., Path], tmp_path: Path) -> Build:
    """Returns a function that copies a compiled program; the test may change the copy."""

    def run(source: str, mode: str = "pie", *flags: str, name: str = "program") -> Path:
        return Path(shutil.copy(compiled(source, mode, *flags), tmp_path / name))

    return run


@pytest.fixture(autouse=True)
def can_do_sites(carry: Run, tool: str) -> None:
    if "built without" in carry("sites", tool).stderr:
        pytest.skip("the tool was built without libelf or Zydis")


def lines(text: str) -> list[dict[str, Any]]:
    return [conforming("sites", line) for line in text.splitlines()]


def show(carry: Run, what: Path | int) -> list[dict[str, Any]]:
    """Returns the sites; checks that the summary agrees."""
    done = carry("sites", "--json", str(what))
    assert (done.returncode, done.stderr) == (CLEAN, "")
    *sites, summary = lines(done.stdout)
    assert {site["type"] for site in sites} <= {"site"}
    states = [site["state"] for site in sites]
    assert {state: count for state, count in summary["states"].items() if count} == {
        state: states.count(state) for state in states
    }
    assert summary["sites"] == len(states) - states.count("body")
    return sites


def check(carry: Run, what: Path | int) -> tuple[int, list[dict[str, Any]]]:
    """Returns the exit status, and findings and notes; checks that the summary agrees."""
    done = carry("sites", "--check", "--json", str(what))
    assert done.stderr == ""
    *found, summary = lines(done.stdout)
    kinds = [each["type"] for each in found]
    assert (summary["findings"], summary["notes"]) == (kinds.count("finding"), kinds.count("note"))
    return done.returncode, found


def named(sites: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(site["kind"], site["name"]): site for site in sites}


def states(sites: list[dict[str, Any]]) -> dict[str, str]:
    return {f"{site['kind']} {site['name']}": site["state"] for site in sites}


# --- Files ---


@pytest.mark.parametrize("mode", MODES)
def test_each_kind_of_site(carry: Run, build: Build, mode: str) -> None:
    """Each kind of site is listed, with its name, bytes and state."""
    sites = show(carry, build(PROGRAM, mode))
    found = named(sites)
    assert set(found) == {
        ("call", "route"),
        ("call", "step"),
        ("call", "idle"),
        ("jump", "route"),
        ("branch", "tracing"),
        ("alternative", "avx2"),
        ("alternative", "tracing"),
        ("body", "after"),
        ("body", "carry_patch_nothing"),
    }
    assert {site["state"] for site in sites} == {"original", "body"}
    call = found["call", "route"]
    assert (call["symbol"], call["target_name"], call["reason"]) == ("forward", "route_plain", None)
    assert call["bytes"].startswith("ff15")
    assert call["instructions"] == ["call *carry_op_route(%rip)"]
    assert found["jump", "route"]["instructions"] == ["jmp *carry_op_route(%rip)"]
    assert found["jump", "route"]["target_name"] == "route_plain"
    assert found["branch", "tracing"]["bytes"].startswith("e9")
    assert [text.split()[0] for text in found["alternative", "avx2"]["instructions"]] == ["add"] * 2
    assert found["body", "after"]["instructions"] == ["lea 0x1(%rdi), %rax"]
    assert [site["address"] for site in sites] == sorted(site["address"] for site in sites)


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_wrong(carry: Run, build: Build, mode: str) -> None:
    assert check(carry, build(PROGRAM, mode)) == (CLEAN, [])


def test_addresses_are_those_of_other_tools(carry: Run, build: Build) -> None:
    path = build(PROGRAM)
    site = named(show(carry, path))["call", "route"]
    listing = subprocess.run(
        ["objdump", "-d", path], check=True, capture_output=True, text=True, timeout=600
    ).stdout
    assert re.search(rf"^ +{site['address']:x}:\tff 15 .*<carry_op_route>", listing, re.MULTILINE)


@pytest.mark.parametrize("mode", MODES)
def test_stripped(carry: Run, build: Build, mode: str) -> None:
    """A stripped program has the same sites, without the names of symbols."""
    path = build(PROGRAM, mode)
    whole = show(carry, path)
    subprocess.run(["strip", path], check=True, timeout=600)
    sites = show(carry, path)
    assert [site["address"] for site in sites] == [site["address"] for site in whole]
    names = {site["name"] for site in sites}
    assert "avx2" in names
    assert not names & {"route", "step", "idle", "tracing", "after"}
    status, found = check(carry, path)
    assert (status, found) == (CLEAN, [])


# --- Debug files: only they contain the symbols ---


def detach(path: Path, debug: Path) -> None:
    """Strips a file, and adds a link to its debug file."""
    debug.parent.mkdir(exist_ok=True)
    for command in (
        ["objcopy", "--only-keep-debug", path, debug],
        ["strip", path],
        ["objcopy", f"--add-gnu-debuglink={debug}", path],
    ):
        subprocess.run(command, check=True, timeout=600)


@pytest.mark.parametrize("where", [".", ".debug"])
@pytest.mark.parametrize("mode", MODES)
def test_debug_file(carry: Run, build: Build, mode: str, where: str) -> None:
    """A debug file gives a stripped program its names."""
    path = build(PROGRAM, mode)
    whole = show(carry, path)
    detach(path, path.parent / where / "symbols")
    assert show(carry, path) == whole
    assert check(carry, path) == (CLEAN, [])


def test_debug_file_of_a_link(carry: Run, build: Build, tmp_path: Path) -> None:
    """A debug file beside the program is found through a link to it."""
    path = build(PROGRAM)
    detach(path, tmp_path / "symbols")
    link = tmp_path / "elsewhere" / "link"
    link.parent.mkdir()
    link.symlink_to(path)
    assert ("call", "route") in named(show(carry, link))


def test_debug_file_by_build_id(tool: str, build: Build, tmp_path: Path) -> None:
    """A debug file is found by the build ID."""
    path = build(PROGRAM, "pie", "-Wl,--build-id=0xabcdef0123456789")
    detach(path, tmp_path / "ab/cdef0123456789.debug")
    subprocess.run(["objcopy", "-R", ".gnu_debuglink", path], check=True, timeout=600)
    own = tmp_path / "debug"
    own.mkdir()
    (tmp_path / "ab").rename(own / "ab")
    inside = (
        'mount -t tmpfs none /usr/lib/debug && cp -r "$1" /usr/lib/debug/.build-id || exit 99\n'
    )
    inside += 'exec "$2" sites --json "$3"\n'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", inside, "sh"]
    done = subprocess.run([*command, own, tool, path], capture_output=True, text=True, timeout=600)
    if done.returncode == 99 or "unshare" in done.stderr:
        pytest.skip(f"no mounts of its own: {done.stderr.strip()}")
    assert ("call", "route") in named(lines(done.stdout)[:-1])


def test_debug_file_of_another_build(carry: Run, build: Build, tmp_path: Path) -> None:
    """A debug file of another build is ignored: its symbols would be wrong."""
    path = build(PROGRAM)
    detach(path, tmp_path / "symbols")
    edit(tmp_path / "symbols", 16 * 1024, b"other")
    assert ("call", "route") not in named(show(carry, path))


def test_debug_file_does_not_hide_a_lost_section(carry: Run, build: Build, tmp_path: Path) -> None:
    """A debug file does not hide that a section was lost."""
    path = build(PROGRAM)
    subprocess.run(["strip", "--strip-debug", "-R", "carry_sites", path], check=True, timeout=600)
    status, whole = check(carry, path)
    assert (status, {each["what"] for each in whole}) == (BAD, {"lost"})
    detach(path, tmp_path / "symbols")
    assert check(carry, path) == (status, whole)


@pytest.mark.parametrize("name", [b"/etc/passwd", b"../symbols", b"", b"x" * 300])
def test_names_of_debug_files(carry: Run, build: Build, tmp_path: Path, name: bytes) -> None:
    path = build(PROGRAM)
    link = tmp_path / "link"
    link.write_bytes(name)
    command = ["objcopy", f"--add-section=.gnu_debuglink={link}", path]
    subprocess.run(["strip", path], check=True, timeout=600)
    subprocess.run(command, check=True, timeout=600)
    assert ("call", "route") not in named(show(carry, path))


def test_damaged_debug_files(carry: Run, build: Build, tmp_path: Path) -> None:
    """If the content of a debug file is damaged, but its CRC is right, the sites of the program
    itself are shown."""
    path = build(PROGRAM)
    detach(path, tmp_path / "symbols")
    sites = len(show(carry, path))
    whole = (tmp_path / "symbols").read_bytes()
    for size in [0, 3, 63, 64, 100, *range(1000, len(whole), len(whole) // 20)]:
        (tmp_path / "symbols").write_bytes(whole[:size])
        subprocess.run(["objcopy", "-R", ".gnu_debuglink", path], check=True, timeout=600)
        command = ["objcopy", f"--add-gnu-debuglink={tmp_path / 'symbols'}", path]
        subprocess.run(command, check=True, timeout=600)
        assert len(show(carry, path)) == sites


def test_this_project(carry: Run, tool: str) -> None:
    """Tool and library have no wrong site."""
    library = Path(tool).parent.parent.parent / "src/libcarry.so"
    for path in [Path(tool), *([library] if library.exists() else [])]:
        status, found = check(carry, path)
        assert [each for each in found if each["type"] == "finding"] == []
        assert status == CLEAN


def test_no_sites(carry: Run) -> None:
    """A program without sites is clean, and the report says so."""
    done = carry("sites", "/bin/true")
    assert (done.returncode, done.stdout) == (CLEAN, "/bin/true: no records of sites\n")


def test_function_of_another_object(carry: Run, build: Build) -> None:
    """A target in another object is shown by its name."""
    source = SITES.replace("route_plain);", "(carry_fn_route *)puts);")
    found = named(show(carry, build(source + MAIN, "pie", "-w")))
    assert found["call", "route"]["target_name"] == "puts"


# --- Processes ---


class Process:
    """A running program that executes commands."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        self.child = child
        self.pid = child.pid
        assert self.hear() == "ready"

    def hear(self) -> str:
        assert self.child.stdout
        return self.child.stdout.readline().strip()

    def tell(self, what: str) -> None:
        assert self.child.stdin
        self.child.stdin.write(what + "\n")
        self.child.stdin.flush()
        assert self.hear() == "0"


@contextmanager
def running(path: Path, **variables: str) -> Iterator[Process]:
    with subprocess.Popen(
        [path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **variables},
    ) as child:
        try:
            yield Process(child)
        finally:
            child.stdin.close()
            assert child.wait(timeout=600) == 0


ORIGINAL = {
    "call route": "original",
    "call step": "original",
    "call idle": "original",
    "jump route": "original",
    "branch tracing": "original",
    "alternative avx2": "original",
    "alternative tracing": "original",
    "body after": "body",
    "body carry_patch_nothing": "body",
}
ON = {
    "call route": "direct",
    "call step": "inline",
    "call idle": "nop",
    "jump route": "direct",
    "branch tracing": "jump",
    "alternative tracing": "replacement",
}
OFF = {"call step": "direct", "branch tracing": "nop", "alternative tracing": "original"}


@pytest.mark.parametrize("mode", ["pie", "no-pie", "static"])
def test_states_of_a_process(carry: Run, build: Build, mode: str) -> None:
    """States in a process follow its patches."""
    with running(build(PROGRAM, mode)) as process:
        first = show(carry, process.pid)
        assert states(first) == ORIGINAL
        assert named(first)["call", "route"]["reason"] == "not asked"
        assert named(first)["alternative", "tracing"]["reason"] is None  # its key is off

        process.tell("on")
        second = show(carry, process.pid)
        assert states(second) == ORIGINAL | ON
        found = named(second)
        assert found["call", "route"]["target_name"] == "route_fast"
        assert found["call", "route"]["instructions"] == ["call route_fast"]
        assert found["jump", "route"]["instructions"] == ["jmp route_fast"]
        assert found["call", "step"]["target_name"] == "after"
        assert found["call", "step"]["bytes"].endswith("488d4701")
        assert found["call", "idle"]["instructions"] == ["nop"]
        assert found["branch", "tracing"]["target_name"].startswith("forward")
        assert found["alternative", "avx2"]["reason"] in {None, "not asked"}
        assert all(site["reason"] is None for site in second if site["state"] != "original")

        process.tell("off")
        assert states(show(carry, process.pid)) == ORIGINAL | ON | OFF
        assert check(carry, process.pid) == (CLEAN, [])


def test_a_feature_decides(carry: Run, build: Build) -> None:
    """The tool tests this CPU, with the mask that the program has."""
    for mask in ["", "all"]:
        with running(build(PROGRAM), CARRY_CPU_MASK=mask) as process:
            process.tell("apply")
            done = carry("cpu", "--json", env={**os.environ, "CARRY_CPU_MASK": mask})
            features = {each["name"]: each["state"] for each in json.loads(done.stdout)["features"]}
            state = "replacement" if features["avx2"] == "present" else "original"
            assert states(show(carry, process.pid))["alternative avx2"] == state


def test_debug_file_of_a_process(carry: Run, build: Build, tmp_path: Path) -> None:
    """A debug file gives a process its names."""
    path = build(PROGRAM)
    detach(path, tmp_path / "symbols")
    with running(path) as process:
        assert named(show(carry, process.pid))["call", "route"]["target_name"] == "route_plain"


def test_stripped_process(carry: Run, build: Build) -> None:
    """The sites of a process have the same states if its program was stripped."""
    path = build(PROGRAM)
    subprocess.run(["strip", path], check=True, timeout=600)
    with running(path) as process:
        process.tell("on")
        found = [site["state"] for site in show(carry, process.pid)]
        assert sorted(found) == sorted((ORIGINAL | ON).values())


@pytest.mark.parametrize("original", ["inc %%eax", "movabs $0x1122334455667788, %%rax"])
def test_replaced_by_nothing(carry: Run, build: Build, original: str) -> None:
    """An empty replacement is one NOP of the full length."""
    alternative = f'CARRY_ALT_KEY_ONE("{original}", tracing, "")'
    by = "CARRY_ALT_INPUT(tracing)"
    source = f'void f(void) {{ __asm__ volatile({alternative} :: {by} : "rax"); }}\n'
    with running(build(add_source(source))) as process:
        assert check(carry, process.pid) == (CLEAN, [])
        process.tell("on")
        found = [site for site in show(carry, process.pid) if site["name"] == "tracing"]
        assert [site["state"] for site in found].count("replacement") == 2
        nops = [site for site in found if "nop" in " ".join(site["instructions"])]
        assert [len(site["instructions"]) for site in nops] == [1]
        assert check(carry, process.pid) == (CLEAN, [])


def test_key_and_site_disagree(carry: Run, build: Build) -> None:
    """A site that does not follow its key is wrong."""
    with running(build(PROGRAM)) as process:
        process.tell("on")
        process.tell("poke")
        status, found = check(carry, process.pid)
        assert (status, {each["what"] for each in found}) == (BAD, {"key"})
        assert {each["kind"] for each in found} == {"call", "jump"}


COMMITTING = """
#include <pthread.h>
#include <stdio.h>
static volatile int sink;
static void *run(void *unused) {
    for (;;)
        sink = carry_call(route)(1) + carry_unlikely(tracing);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    carry_patch_apply(0);
    puts("ready");
    fflush(stdout);
    for (int i = 0;; i++) {
        struct carry_patch patch;
        carry_patch_begin(&patch);
        carry_set(&patch, route, i % 2 ? route_plain : route_other);
        if (i % 2)
            carry_enable(&patch, tracing);
        else
            carry_disable(&patch, tracing);
        if (carry_patch_commit(&patch))
            return 1;
    }
}
"""
FUNCTIONS = """
#include <carry/patch.h>
CARRY_OP(int, route, int);
CARRY_KEY(tracing);
static int route_plain(int number) { return number; }
static int route_other(int number) { return number + 1; }
CARRY_OP_DEFINE(route, route_plain);
CARRY_KEY_DEFINE(tracing, false);
"""


def test_a_process_that_commits(carry: Run, build: Build) -> None:
    """An intermediate state of a commit is not a fault."""
    path = build(FUNCTIONS + COMMITTING, "pie", "-pthread")
    with subprocess.Popen([path], stdout=subprocess.PIPE) as child:
        try:
            assert child.stdout and child.stdout.readline() == b"ready\n"
            for _ in range(40):
                assert check(carry, child.pid) == (CLEAN, [])
            assert child.poll() is None
        finally:
            child.kill()


def test_a_process_that_ends_meanwhile(carry: Run, build: Build) -> None:
    """A process that ends during the check has no fault."""
    path = build(FUNCTIONS + COMMITTING, "pie", "-pthread")
    for i in range(30):
        with subprocess.Popen([path], stdout=subprocess.PIPE) as child:
            assert child.stdout and child.stdout.readline() == b"ready\n"
            timer = threading.Timer(i / 5000, child.kill)
            timer.start()
            done = carry("sites", "--check", str(child.pid))
            timer.join()
            child.kill()
        assert done.returncode in (CLEAN, ERROR), done.stdout


def test_several_objects(carry: Run, build: Build, tmp_path: Path) -> None:
    """Sites of all objects of a process are listed."""
    build(SITES, "shared", name="libother.so")
    linked = [str(tmp_path / "libother.so"), f"-Wl,-rpath,{tmp_path}"]
    with running(build(PROGRAM, "pie", *linked, "-Wl,--no-as-needed")) as process:
        sites = show(carry, process.pid)
        objects = {Path(site["object"]).name for site in sites}
        assert objects == {"program", "libother.so"}
        done = carry("sites", process.pid)
        assert str(tmp_path / "libother.so") in done.stdout.splitlines()
        assert "in 2 objects" in done.stdout


def replace(build: Build, path: Path) -> None:
    path.unlink()
    build(
        PROGRAM.replace("uint64_t forward(", 'void more(void) { puts("more"); } uint64_t forward(')
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="who may read what was removed is root")
def test_replaced_file_is_read_from_the_process(carry: Run, build: Build) -> None:
    path = build(PROGRAM)
    with running(path) as process:
        before = show(carry, process.pid)
        replace(build, path)
        after = [site | {"object": str(path)} for site in show(carry, process.pid)]
        assert after == before


def test_a_file_that_was_replaced(tool: str, build: Build) -> None:
    path = build(PROGRAM)
    command = [tool, "sites"]
    if os.geteuid() == 0:
        command = ["setpriv", "--bounding-set=-sys_admin,-checkpoint_restore", *command]
    with running(path) as process:
        replace(build, path)
        done = subprocess.run(
            [*command, str(process.pid)], capture_output=True, text=True, timeout=600
        )
        assert done.stderr == (
            f"carry: process {process.pid}: {path} (deleted): has changed since it was loaded; "
            "its sites are left out\n"
        )
        assert done.stdout == f"{process.pid}: no records of sites\n"


# --- Findings of --check ---


def edit(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def section(path: Path, name: str) -> tuple[int, int, int]:
    """Returns address, offset and size of a section."""
    listing = subprocess.run(
        ["readelf", "-SW", path], check=True, capture_output=True, text=True, timeout=600
    ).stdout
    match = re.search(rf" {re.escape(name)} +\w+ +(\w+) (\w+) (\w+)", listing)
    assert match
    return int(match[1], 16), int(match[2], 16), int(match[3], 16)


def record_of(path: Path, address: int) -> tuple[int, tuple[int, ...]]:
    """Returns the offset in the file of a site's record, and its fields."""
    start, offset, size = section(path, "carry_sites")
    data = path.read_bytes()[offset : offset + size]
    for at in range(0, size, RECORD.size):
        fields = RECORD.unpack_from(data, at)
        if start + at + fields[0] == address:
            return offset + at, fields
    raise AssertionError("no record")


def site_of(carry: Run, path: Path, kind: str, name: str) -> dict[str, Any]:
    return named(show(carry, path))[kind, name]


def text_offset(path: Path, address: int) -> int:
    start, offset, _ = section(path, ".text")
    return address - start + offset


def add_source(source: str) -> str:
    """Returns the source of the program with `source` in it."""
    return SITES + source + MAIN


PLANTED = {
    "lost call": (
        '__asm__(".pushsection .text; call *carry_op_route(%rip); .popsection");',
        "lost",
    ),
    "lost jump": ('__asm__(".pushsection .text; jmp *carry_op_route(%rip); .popsection");', "lost"),
    "two instructions": (
        "void f(void) { __asm__ volatile(CARRY_ALT_KEY_ONE("
        '"lea 1(%%rax), %%rax", tracing, "inc %%eax; nop") :: CARRY_ALT_INPUT(tracing) : "rax"); }',
        "instructions",
    ),
    "body of two": (
        'uint64_t f(uint64_t x) { CARRY_BODY(route_fast, "mov %%rdi, %%rax; nop"); return x; }',
        "body",
    ),
    "body of several that calls": (
        'uint64_t f(uint64_t x) { CARRY_BODY_SEVERAL(route_fast, "call *%%rdi; nop"); return x; }',
        "body",
    ),
    "body of several that is relative": (
        'uint64_t f(uint64_t x) { CARRY_BODY_SEVERAL(route_fast, "nop; jmp ."); return x; }',
        "relative",
    ),
    "body of several too long": (
        "uint64_t f(uint64_t x) "
        '{ CARRY_BODY_SEVERAL(route_fast, "mov %%rdi, %%rax; inc %%rax; nop"); return x; }',
        "body",
    ),
    "body too long": (
        'uint64_t f(uint64_t x) { CARRY_BODY(route_fast, "lea 0x12345(%%rdi), %%rax"); return x; }',
        "body",
    ),
    "body relative": (
        "int counter; int f(void) "
        '{ CARRY_BODY(route_fast, "mov counter(%%rip), %%eax"); return counter; }',
        "relative",
    ),
    "body not relative": (
        "uint64_t f(uint64_t x) "
        '{ CARRY_BODY_RELATIVE(route_fast, "lea 1(%%rdi), %%rax"); return x; }',
        "relative",
    ),
    "call not at the start": (
        'void f(void) { __asm__ volatile(CARRY_ALT("nop; call forward", avx2, "nop") ::: "rax"); }',
        "relative",
    ),
    "relative memory": (
        "void f(void) { __asm__ volatile(CARRY_ALT_ONE("
        '"mov carry_op_route(%%rip), %%rax", avx2, "nop") ::: "rax"); }',
        "relative",
    ),
    "unknown feature": (
        'void f(void) { __asm__ volatile(CARRY_ALT_TEXT("nop", CARRY_ALT_PAD, "nop", '
        'CARRY_ALT_NAME("popcorn"), "1") :::); }',
        "feature",
    ),
    "odd section": (
        '__asm__(".pushsection carry_sites, \\"ao\\", @progbits, main; .long 0; .popsection");',
        "section",
    ),
}


@pytest.mark.parametrize("defect", PLANTED)
def test_planted_defects(carry: Run, build: Build, defect: str) -> None:
    """Each planted defect is found and reported by its name."""
    source, what = PLANTED[defect]
    path = build(add_source(source), "no-pie", "-w")
    status, found = check(carry, path)
    assert status == BAD
    assert {each["what"] for each in found} >= {what}
    if defect != "odd section":  # this one also damages all later records
        # Position-dependent bytes also differ from those that the record expects.
        assert {each["what"] for each in found} - {"bytes"} == {what}
    done = carry("sites", "--check", path)
    assert (done.returncode, done.stderr) == (BAD, "")
    assert "wrong\n" in done.stdout


def test_allowed_bodies_are_accepted(carry: Run, build: Build) -> None:
    source = (
        "int counter; int f(void) "
        '{ CARRY_BODY_RELATIVE(route_fast, "mov counter(%%rip), %%eax"); return counter; }'
    )
    assert check(carry, build(add_source(source), "pie", "-w")) == (CLEAN, [])
    several = (
        "uint64_t f(uint64_t x) "
        '{ CARRY_BODY_SEVERAL(route_fast, "pushq %%rdi; popq %%rax"); return x; }'
    )
    assert check(carry, build(add_source(several), "pie", "-w")) == (CLEAN, [])


@pytest.mark.parametrize(
    ("text", "flags", "state"),
    [
        (".fill 5, 1, 0x90", 0, "original"),
        (".byte 0x0f, 0x1f, 0x44, 0, 0", 0, "nop"),
        (".byte 0x0f, 0x1f, 0x44, 0, 8", 2, "nop"),
        (".byte 0xe9; .long stub - entry - 5", 0, "jump"),
        (".byte 0xe9; .long stub - entry - 5", 2, "jump"),
        (".byte 0xe9; .long stub - entry - 4", 0, "unknown bytes"),
        (".byte 0x0f, 0x1f, 0x44, 0, 8", 0, "unknown bytes"),
    ],
)
def test_entries(carry: Run, build: Build, text: str, flags: int, state: str) -> None:
    """The record of an entry is shown with the state of the entry's bytes. Programs create such
    records at run time (<carry/hook.h>)."""
    source = (
        f'__asm__(".pushsection .text; entry: {text}; stub: ret; .popsection;"'
        '".pushsection carry_sites, \\"ao\\", @progbits, entry; .balign 4;"'
        '".long entry - ., carry_key_tracing - ., stub - .;"'
        f'".byte 6, 5, {flags}, 1; .popsection");'
    )
    path = build(add_source(source), "pie", "-w")
    assert [site["state"] for site in show(carry, path) if site["kind"] == "entry"] == [state]
    assert check(carry, path)[0] == (BAD if state == "unknown bytes" else CLEAN)


def test_an_alternative_may_jump_within(carry: Run, build: Build) -> None:
    source = (
        'void f(void) { __asm__ volatile(CARRY_ALT("test %%eax, %%eax; jz 1f; nop; 1:", avx2, '
        '"nop") ::: "cc"); }'
    )
    assert check(carry, build(add_source(source), "pie", "-w")) == (CLEAN, [])


def test_records_that_were_dropped(carry: Run, build: Build) -> None:
    path = build(PROGRAM)
    wanted = {
        (site["kind"], site["name"], site["address"])
        for site in show(carry, path)
        if site["kind"] in {"call", "jump", "branch"}
    }
    subprocess.run(["strip", "--strip-debug", "-R", "carry_sites", path], check=True, timeout=600)
    status, found = check(carry, path)
    assert (status, {each["what"] for each in found}) == (BAD, {"lost"})
    assert {(each["kind"], each["name"], each["address"]) for each in found} == wanted


def test_unknown_bytes_are_wrong(carry: Run, build: Build) -> None:
    """Bytes that no patch wrote are unknown, and wrong."""
    for kind, name in [("call", "route"), ("branch", "tracing"), ("alternative", "avx2")]:
        path = build(PROGRAM)
        site = site_of(carry, path, kind, name)
        edit(path, text_offset(path, site["address"]), b"\x0f\x0b")
        assert site_of(carry, path, kind, name)["state"] == "unknown bytes"
        status, found = check(carry, path)
        assert (status, [each["what"] for each in found]) == (BAD, ["bytes"])
        assert found[0]["address"] == site["address"]


def test_a_function_out_of_reach(carry: Run, build: Build) -> None:
    """A function beyond the reach of a jump stays original, with the reason."""
    source = PROGRAM.replace(
        "HERE static uint64_t route_plain",
        '__attribute__((section(".far"))) HERE uint64_t route_plain',
    )
    path = build(
        source, "no-pie", "-Wl,--section-start=.far=0x200000000", "-fno-asynchronous-unwind-tables"
    )
    site = site_of(carry, path, "call", "route")
    assert (site["state"], site["target_name"], site["reason"]) == (
        "original",
        "route_plain",
        "range",
    )
    status, found = check(carry, path)
    assert (status, {each["what"] for each in found}) == (BAD, {"range"})
    with running(path) as process:
        process.tell("apply")
        site = named(show(carry, process.pid))["call", "route"]
        assert (site["state"], site["reason"]) == ("original", "range")


@pytest.mark.parametrize(
    ("index", "value", "text"),
    [(3, 9, "kind 9"), (3, 0, "kind 0"), (6, 2, "version 2"), (4, 5, "cannot have 5 bytes")],
)
def test_records_of_another_library(
    carry: Run, build: Build, index: int, value: int, text: str
) -> None:
    """A record of an unknown kind, version or size is wrong."""
    path = build(PROGRAM)
    at, fields = record_of(path, site_of(carry, path, "call", "route")["address"])
    changed = [*fields[:index], value, *fields[index + 1 :]]
    edit(path, at, RECORD.pack(*changed))
    assert "unknown kind" in {site["state"] for site in show(carry, path)}
    status, found = check(carry, path)
    assert status == BAD
    assert any(each["what"] == "record" and text in each["text"] for each in found)


@pytest.mark.parametrize("field", [0, 1, 2])
@pytest.mark.parametrize("value", [0x7FFFFFF0, -0x80000000])
def test_records_outside_the_program_are_wrong(
    carry: Run, build: Build, field: int, value: int
) -> None:
    """A record that points outside the program is wrong."""
    path = build(PROGRAM)
    for kind, name in [("branch", "tracing"), ("alternative", "avx2")]:
        at, fields = record_of(path, site_of(carry, path, kind, name)["address"])
        edit(path, at, RECORD.pack(*[*fields[:field], value, *fields[field + 1 :]]))
    status, found = check(carry, path)
    assert status == BAD
    said = " ".join(each["text"] for each in found if each["what"] == "record")
    for text in NOWHERE[field]:
        assert text in said


NOWHERE = [
    ["outside of the text"],
    ["its key is outside", "its feature is not at the address"],
    ["is not the stub", "its instructions are not at the address"],
]


# Offsets in the stub: in the instruction that tests the key, in the key's address, in the branch
# with its condition, and in the jump back.
@pytest.mark.parametrize("at_byte", [0, 1, 2, 7, 8, 13, 14])
def test_damaged_stub_is_wrong(carry: Run, build: Build, at_byte: int) -> None:
    path = build(PROGRAM)
    address = site_of(carry, path, "branch", "tracing")["address"]
    at, fields = record_of(path, address)
    stub = section(path, "carry_sites")[0] + at - section(path, "carry_sites")[1] + 8 + fields[2]
    edit(path, text_offset(path, stub + at_byte), b"\x93")
    status, found = check(carry, path)
    assert (status, [each["what"] for each in found]) == (BAD, ["record"])
    assert "stub" in found[0]["text"]


def test_two_records_of_one_site(carry: Run, build: Build) -> None:
    """Equal records of one site are allowed; different ones overlap."""
    path = build(PROGRAM)
    first, fields = record_of(path, site_of(carry, path, "call", "route")["address"])
    second, _ = record_of(path, site_of(carry, path, "call", "step")["address"])
    moved = [offset + first - second for offset in fields[:3]]
    # Linkers that fold functions keep the same record twice.
    edit(path, second, RECORD.pack(*moved, *fields[3:]))
    status, found = check(carry, path)
    assert (status, {each["what"] for each in found}) == (BAD, {"lost"})
    edit(path, second, RECORD.pack(moved[0], moved[1] + 8, moved[2], *fields[3:]))
    status, found = check(carry, path)
    assert status == BAD
    assert {each["what"] for each in found} >= {"overlap", "lost"}


def compile_alone(folder: Path, source: str, *options: str, name: str = "source.c") -> Path:
    """Compiles a source without the library, as if the library were a separate object."""
    (folder / name).write_text(source)
    command = ["gcc", "-O2", "-w", f"-I{SOURCE / 'include'}", *options]
    path = folder / "alone"
    subprocess.run([*command, "-o", path, folder / name], check=True, timeout=600)
    return path


NAMESPACES = """
#include <carry/patch.h>
CARRY_OP(int, route, int);
CARRY_KEY_STATIC(own, false);
namespace app { namespace fast {
CARRY_OP(int, route, int);
CARRY_KEY_STATIC(own, false);
static int same(int a) { return a; }
CARRY_OP_DEFINE(route, same);
int run(int a) { return carry_unlikely(own) ? 0 : carry_call(route)(a); }
} }
static int same(int a) { return a; }
CARRY_OP_DEFINE(route, same);
int run(int a) { return carry_unlikely(own) ? 0 : carry_call(route)(a); }
"""


def test_namespaces(carry: Run, tmp_path: Path) -> None:
    """Keys in C++ namespaces are shown by their qualified names."""
    if not shutil.which("g++"):
        pytest.skip("g++ is not installed")
    path = compile_alone(tmp_path, NAMESPACES, "-shared", "-fPIC", name="source.cc")
    found = [(site["kind"], site["name"]) for site in show(carry, path)]
    assert sorted(found) == [
        ("branch", "app::fast::own"),
        ("branch", "own"),
        ("call", "app::fast::route"),
        ("call", "route"),
    ]
    assert check(carry, path) == (CLEAN, [])
    stripped = ["objcopy", "--remove-section=carry_sites", path]
    subprocess.run(stripped, check=True, timeout=600)
    status, found = check(carry, path)
    assert (status, [each["what"] for each in found]) == (BAD, ["lost"] * 4)


def test_missing_registration_is_wrong(carry: Run, tmp_path: Path) -> None:
    """An object whose sites no code registers is reported. An alternative by a feature has no key
    whose definition would register it."""
    source = (
        "#include <carry/patch.h>\n"
        'void f(void) { __asm__ volatile(CARRY_ALT("nop", avx2, "nop") :::); }\n'
    )
    status, found = check(carry, compile_alone(tmp_path, source, "-shared", "-fPIC"))
    assert (status, [each["what"] for each in found]) == (BAD, ["registration"])
    assert "CARRY_PATCH_OBJECT" in found[0]["text"]
    source += "CARRY_PATCH_OBJECT;\n"
    path = compile_alone(tmp_path, source, "-shared", "-fPIC")
    assert check(carry, path) == (CLEAN, [])


@pytest.mark.parametrize("mode", ["shared", "no-pie", "one segment", "lld"])
def test_a_table_registers(carry: Run, tmp_path: Path, mode: str) -> None:
    """A table with the bounds of the section counts as registration. Operating-system kernels, and
    programs that load objects themselves, have such a table."""
    source = SITES.replace("DEFINE(", "DEFINE_QUIETLY(").replace(
        "#define HERE",
        """
        #define CARRY_OP_DEFINE_QUIETLY(name, function) struct carry_key carry_op_##name
        #define CARRY_KEY_DEFINE_QUIETLY(name, on) struct carry_key carry_key_##name
        const struct carry_site *const table[] = {__start_carry_sites, __stop_carry_sites};
        #define HERE""",
        1,
    )
    main = "void carry_patch_never(void) { __builtin_trap(); } int main(void) { return 0; }"
    for text, status, what in [
        (source, CLEAN, set()),
        (source.replace("__start_carry_sites, ", ""), BAD, {"registration"}),
    ]:
        path = compile_alone(tmp_path, text + main, *options_of(mode))
        result, found = check(carry, path)
        assert (result, {each["what"] for each in found}) == (status, what)


def test_bytes_that_look_like_a_call(carry: Run, build: Build) -> None:
    """The bytes of a call in an immediate operand are not reported if the function has a symbol."""
    number = ".byte 0x48, 0xb8, 0xff, 0x15\\n .long carry_op_route - . - 4\\n .byte 0, 0\\n"
    source = f'HERE void f(void) {{ __asm__ volatile("{number}" ::: "rax"); }}'
    assert check(carry, build(add_source(source), "no-pie")) == (CLEAN, [])


def test_no_site_needs_a_trap(carry: Run, build: Build) -> None:
    """Wherever code lies, the first two bytes of a site lie within eight aligned bytes."""
    source = "".join(
        f'void f{i}(void) {{ __asm__ volatile(".p2align 4; .skip {i}, 0x90"); '
        "(void)carry_unlikely(tracing); carry_call(route)(1); }\n"
        for i in range(16)
    )
    program = build(add_source(source), "pie")
    sites = [each for each in show(carry, program) if each["kind"] in ("call", "branch")]
    places = [each["address"] % 8 for each in sites]
    assert len(places) >= 32 and 7 not in places, places


def test_notes(carry: Run, build: Build) -> None:
    """A site may cross a multiple of eight, or a page boundary, as with the headers of version 0.1:
    that is a note, not an error."""
    places = {4095: ["trap", "pages"], 7: ["trap"], 63: ["trap"], 6: [], 8: []}
    for skipped, notes in places.items():
        source = (
            "\n#undef CARRY_SITE_PLACE\n#define CARRY_SITE_PLACE\n"
            "__attribute__((aligned(4096))) void f(void) { __asm__ volatile("
            f'".skip {skipped}, 0x90\\n" '
            'CARRY_ALT_KEY_ONE("add $1, %%rax", tracing, "sub $1, %%rax") '
            ':: CARRY_ALT_INPUT(tracing) : "rax"); }'
        )
        status, found = check(carry, build(add_source(source), "pie", "-fcf-protection=none"))
        assert (status, [each["what"] for each in found]) == (CLEAN, notes), skipped
        assert {each["type"] for each in found} <= {"note"}


# --- Damaged files, and other files ---


def refused(carry: Run, path: Path | str, status: int = DAMAGED) -> str:
    """Checks that a file is refused; returns the message, which is one line."""
    done = carry("sites", path)
    assert (done.returncode, done.stdout) == (status, "")
    assert re.fullmatch(r"carry: [^\n]+\n", done.stderr)
    return done.stderr


def test_not_an_elf_file(carry: Run, tmp_path: Path) -> None:
    """A file that is not ELF is refused with a reason."""
    path = tmp_path / "file"
    for data in [b"", b"\x7fEL", b"#!/bin/sh\n" * 20]:
        path.write_bytes(data)
        assert "not an ELF file: no ELF header at offset 0" in refused(carry, path)
    assert "not a regular file" in refused(carry, tmp_path)
    os.mkfifo(tmp_path / "pipe")
    assert "not a regular file" in refused(carry, tmp_path / "pipe")
    assert "No such file" in refused(carry, tmp_path / "none", ERROR)


@pytest.mark.parametrize(
    ("offset", "data", "text"),
    [
        (4, b"\1", "class 1 at offset 4"),
        (5, b"\2", "byte order 2 at offset 5"),
        (16, b"\1\0", "relocatable object"),
        (16, b"\4\0", "type 4 at offset 16"),
        (18, b"\xf3\0", "machine 243 at offset 18"),
        (32, b"\xff" * 7, "program headers at offset"),
        (40, b"\xff" * 7, "section headers at offset"),
        (40, bytes(8), "no section headers"),
        (56, b"\xff\xff", "program headers at offset 64 load nothing"),
        (60, b"\xff\xff", "section headers at offset"),
    ],
)
def test_header(carry: Run, build: Build, offset: int, data: bytes, text: str) -> None:
    """The error names the wrong field of the header."""
    path = build(PROGRAM)
    edit(path, offset, data)
    assert text in refused(carry, path)


def test_truncated_everywhere(carry: Run, build: Build, tmp_path: Path) -> None:
    """A program that is cut anywhere is refused."""
    data = build(PROGRAM).read_bytes()
    path = tmp_path / "cut"
    sizes = [*range(0, 72, 5), *range(72, len(data), len(data) // 40), len(data) - 1]
    for size in sizes:
        path.write_bytes(data[:size])
        assert re.search("truncated|not an ELF|damaged", refused(carry, path))


def section_headers(data: bytes) -> dict[str, int]:
    """Returns the offset of each section header, by its name."""
    table, count, names = (
        struct.unpack_from("<Q", data, 40)[0],
        *struct.unpack_from("<2H", data, 60),
    )
    strings = struct.unpack_from("<Q", data, table + 64 * names + 24)[0]
    found = {}
    for at in range(table, table + 64 * count, 64):
        start = strings + struct.unpack_from("<I", data, at)[0]
        found[data[start : data.index(b"\0", start)].decode()] = at
    return found


@pytest.mark.parametrize("name", ["carry_sites", ".symtab", ".strtab", ".rela.dyn", ".shstrtab"])
@pytest.mark.parametrize("field", [24, 32, 40, 56])  # offset, size, link and info, size of entries
@pytest.mark.parametrize("value", [0, 1, 17, (1 << 31) - 1, (1 << 63) + 5, (1 << 64) - 1])
def test_section_headers(tool: str, build: Build, name: str, field: int, value: int) -> None:
    """No value in a section header crashes the tool."""
    path = build(PROGRAM)
    edit(path, section_headers(path.read_bytes())[name] + field, struct.pack("<Q", value))
    survives(tool, path)


def program_headers(data: bytes, kind: int) -> list[int]:
    """Returns the offsets of the program headers of one type."""
    table, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    places = range(table, table + 56 * count, 56)
    return [at for at in places if struct.unpack_from("<I", data, at)[0] == kind]


def test_parts_that_overlap(carry: Run, build: Build) -> None:
    """Sections and segments that overlap are refused: many parts as large as the file would make
    the work unbounded."""
    path = build(PROGRAM)
    data = path.read_bytes()
    edit(path, section_headers(data)[".comment"] + 24, struct.pack("<2Q", 0, len(data)))
    assert "damaged: the section at offset" in refused(carry, path)
    path.write_bytes(data)
    last = program_headers(data, 1)[-1]
    edit(path, last + 8, struct.pack("<Q", 0))
    edit(path, last + 32, struct.pack("<2Q", len(data), len(data)))
    assert "damaged: the segment at offset 0 overlaps others" in refused(carry, path)


@pytest.mark.parametrize("name", [".strtab", ".dynstr", ".shstrtab"])
def test_names_without_an_end(carry: Run, build: Build, name: str) -> None:
    """A table of names that does not end in 0 is refused: a search for the end of the last name
    would go beyond the table."""
    path = build(PROGRAM)
    _, offset, size = section(path, name)
    edit(path, offset + size - 1, b"x")
    assert f"damaged: the names at offset {offset} do not end in 0" in refused(carry, path)


def test_names_that_are_compressed(carry: Run, build: Build) -> None:
    """Compressed names are refused: decompressed, they may be a thousand times as large as the
    file."""
    path = build(PROGRAM)
    _, offset, _ = section(path, ".strtab")
    flags = section_headers(path.read_bytes())[".strtab"] + 8
    edit(path, flags, struct.pack("<Q", 0x800))
    assert f"damaged: the names at offset {offset} are compressed" in refused(carry, path)


def test_loads_out_of_order(carry: Run, build: Build) -> None:
    """Segments that are out of order are refused."""
    path = build(PROGRAM)
    data = path.read_bytes()
    first, second = program_headers(data, 1)[:2]
    edit(path, first, data[second : second + 56])
    edit(path, second, data[first : first + 56])
    assert "is not after the previous one" in refused(carry, path)


def limited() -> None:
    """Limits memory, except with sanitizers, which reserve terabytes of addresses."""
    if not os.environ.get("CARRY_SANITIZED"):
        resource.setrlimit(resource.RLIMIT_AS, (256 * MIB, 256 * MIB))


def survives(tool: str, path: Path) -> None:
    """Checks that the tool needs little memory and exits with a documented status, whatever the
    file contains."""
    for option in fewer([["--check"], [], ["--json"]], 3):
        done = subprocess.run(
            [tool, "sites", *option, path], capture_output=True, timeout=600, preexec_fn=limited
        )
        assert done.returncode in {CLEAN, BAD, DAMAGED}, done.stderr
        assert done.stderr.count(b"\n") == (done.returncode == DAMAGED)


def test_damaged_at_random(tool: str, build: Build, tmp_path: Path) -> None:
    """No random damage crashes the tool."""
    data = build(PROGRAM).read_bytes()
    original = tmp_path / "program"
    headers = section_headers(data)
    _, sites, size = section(original, "carry_sites")
    _, bytes_at, bytes_size = section(original, "carry_bytes")
    dice = random.Random(1)
    areas = [
        (16, 48),
        (64, 13 * 56),
        (min(headers.values()), 64 * len(headers)),
        (sites, size),
        (bytes_at, bytes_size),
    ]
    path = tmp_path / "damaged"
    for _ in fewer(range(150), 5):
        damaged = bytearray(data)
        start, length = dice.choice(areas)
        for _ in range(dice.choice([1, 1, 2, 8])):
            damaged[start + dice.randrange(length)] = dice.choice([0, 1, 127, 128, 255])
        path.write_bytes(damaged)
        survives(tool, path)


# --- The command ---


def test_usage(carry: Run) -> None:
    """Wrong usage is refused with a hint; the help fits into 80 columns."""
    done = carry("sites", "--help")
    assert (done.returncode, done.stderr) == (CLEAN, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    for arguments in [[], ["a", "b"], ["-"], ["--no"]]:
        done = carry("sites", *arguments)
        assert (done.returncode, done.stdout) == (ERROR, "")
        assert "see carry sites --help" in done.stderr


def test_no_such_process(carry: Run) -> None:
    """A process that does not exist is refused."""
    for number in ["4194305", "0", "99999999999999999999"]:
        assert "there is no process" in refused(carry, number, ERROR)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_not_permitted(tool: str, build: Build) -> None:
    """Without permission to trace a process, the error says so in one line."""
    with running(build(PROGRAM)) as process:
        try:
            done = subprocess.run(
                [tool, "sites", str(process.pid)], capture_output=True, timeout=600, user=65534
            )
        except PermissionError:
            pytest.skip("another user cannot run the tool in its folder")
        assert (done.returncode, done.stdout) == (ERROR, b"")
        assert b"no permission to trace it" in done.stderr
        assert done.stderr.count(b"\n") == 1


def test_a_process_without_a_program(carry: Run) -> None:
    """A process that has ended is refused."""
    with subprocess.Popen(["true"]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert "process" in refused(carry, str(child.pid), ERROR)


def test_text(tool: str, carry: Run, build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    """The text has colours on a terminal, and ends with counts of states."""
    path = build(PROGRAM)
    monkeypatch.chdir(path.parent)
    shown = in_terminal([tool, "sites", "program"])
    assert "\033[1mforward\033[0m" in shown
    assert "\033" not in in_terminal([tool, "sites", "program"], NO_COLOR="1")
    done = carry("sites", "program")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stdout.splitlines()[-1] == "program: 7 sites: 7 original; 2 bodies"
    with running(path) as process:
        process.tell("on")
        shown = in_terminal([tool, "sites", str(process.pid)])
        assert "\033[32mdirect\033[0m -> route_fast" in shown
        assert "\033[33moriginal\033[0m" in shown or "replacement" in shown
