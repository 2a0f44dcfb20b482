# SPDX-License-Identifier: MIT
"""`carry xstate leavers` finds functions that leave uppers dirty, and counts their calls."""

from __future__ import annotations

import functools
import os
import platform
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from carry_tool import BAD, ERROR, HANGS, Run
from schemas import conforming

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="extended state is of x86-64"
)

HAS_AVX512 = bool(
    re.search(r"^flags\b.* avx512f\b", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
)

HEADER = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <immintrin.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct big { long words[24]; };
struct pair { long integer; double real; };
struct reals { double first, second; };
typedef long wide __attribute__((vector_size(32)));

#ifdef __cplusplus
extern "C" {
#endif
void leave_ymm(void);
void leave_zmm(void);
void leave_low(void);
void leave_nothing(void);
void leave_by_turns(int turn);
void call_leaver(void);
void call_and_leave(void);
void call_leaver_and_helper(void);
void call_back(void (*function)(void));
double leave_real(double x);
long double leave_long_double(long double x);
struct pair leave_pair(long integer, double real);
struct reals leave_reals(double x);
struct big take_big(struct big big, long add);
long take_many(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j);
long take_any(int count, ...);
void jump(jmp_buf place);
wide _ZGVdN4v_negate(wide x);
wide give_wide(long x);
int is_own_address(void (*function)(void));
void throw_it(int value);
#ifdef __cplusplus
}
#endif
"""

LIBRARY = (
    HEADER
    + """
void leave_ymm(void) {
    __asm__ volatile("vcmptrueps %%ymm15, %%ymm15, %%ymm15" ::: "xmm15");
}
void leave_zmm(void) {
    __asm__ volatile("vpternlogd $255, %%zmm15, %%zmm15, %%zmm15" ::: "xmm15");
}
void leave_low(void) {
    __asm__ volatile("vcmptrueps %%ymm0, %%ymm0, %%ymm0" ::: "xmm0");
}
void leave_nothing(void) {
    __asm__ volatile("vcmptrueps %%ymm15, %%ymm15, %%ymm15\\nvzeroupper" ::: "xmm15");
}
static void dirty(void) {
    __asm__ volatile("vcmptrueps %%ymm15, %%ymm15, %%ymm15" ::: "xmm15");
}
void leave_by_turns(int turn) {
    if (turn % 3 == 0)
        dirty();
}
/* Its own calls go by the PLT, too. */
void call_leaver(void) { leave_ymm(); }
static volatile int none;
void helper(void) { none++; }
void call_and_leave(void) { dirty(); helper(); }
void call_leaver_and_helper(void) { leave_ymm(); helper(); }
void call_back(void (*function)(void)) { function(); none++; }
double leave_real(double x) { dirty(); return 2 * x; }
long double leave_long_double(long double x) { dirty(); return 2 * x; }
struct pair leave_pair(long integer, double real) {
    dirty();
    return (struct pair){2 * integer, 2 * real};
}
struct reals leave_reals(double x) {
    dirty();
    return (struct reals){x, 2 * x};
}
struct big take_big(struct big big, long add) {
    for (int i = 0; i < 24; i++)
        big.words[i] += add;
    return big;
}
long take_many(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j) {
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}
long take_any(int count, ...) {
    long sum = 0;
    va_list list;
    va_start(list, count);
    for (int i = 0; i < count; i++)
        sum += i % 2 ? (long)va_arg(list, double) : va_arg(list, long);
    va_end(list);
    return sum;
}
void jump(jmp_buf place) { longjmp(place, 5); }
__attribute__((target("avx"))) wide _ZGVdN4v_negate(wide x) { return -x; }
__attribute__((target("avx"))) wide give_wide(long x) { return (wide){x, x + 1, x + 2, x + 3}; }
static void (*const address)(void) = leave_nothing;
int is_own_address(void (*function)(void)) { return function == address; }
"""
)

COUNTS = (
    HEADER
    + """
int main(void) {
    for (int i = 0; i < 60; i++) {
        leave_ymm();
        leave_nothing();
        leave_by_turns(i);
        leave_low();
    }
    return 7;
}
"""
)

ZMM = HEADER + "int main(void) { for (int i = 0; i < 9; i++) leave_zmm(); return 0; }"

NOTHING = (
    HEADER
    + """
int main(void) {
    for (int i = 0; i < 60; i++)
        leave_nothing();
    return take_many(1, 1, 1, 1, 1, 1, 1, 1, 1, 1) == 55 ? 0 : 1;
}
"""
)

NESTED = (
    HEADER
    + """
int main(void) {
    for (int i = 0; i < 10; i++) {
        call_leaver();
        leave_nothing();
        call_leaver_and_helper();
        call_and_leave();
        call_back(leave_nothing);
    }
    return 0;
}
"""
)

VALUES = (
    HEADER
    + """
#define CHECK(what) do { if (!(what)) { puts(#what); return 1; } } while (0)

__attribute__((target("avx"))) static int vectors(void) {
    wide x = _ZGVdN4v_negate((wide){1, -2, 3, -4});
    CHECK(x[0] == -1 && x[1] == 2 && x[2] == -3 && x[3] == 4);
    return 0;
}

int main(void) {
    char text[400];
    struct big big = {{0}};
    volatile int turns = 0;
    jmp_buf place;
    for (int i = 0; i < 24; i++)
        big.words[i] = i;
    big = take_big(big, 100);
    for (int i = 0; i < 24; i++)
        CHECK(big.words[i] == 100 + i);
    CHECK(leave_real(1.5) == 3);
    CHECK(leave_long_double(1.25L) == 2.5L);
    CHECK(leave_pair(3, 0.5).integer == 6 && leave_pair(3, 0.5).real == 1);
    CHECK(leave_reals(1.5).first == 1.5 && leave_reals(1.5).second == 3);
    CHECK(take_many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) == 385);
    CHECK(take_any(14, 1L, 2.0, 3L, 4.0, 5L, 6.0, 7L, 8.0, 9L, 10.0, 11L, 12.0, 13L, 14.0) == 105);
    snprintf(text, sizeof text, "%d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d %d",
             1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22);
    CHECK(strcmp(text + strlen(text) - 8, "20 21 22") == 0);
    if (setjmp(place) != 5 && turns++ == 0)
        jump(place);
    CHECK(turns == 1);
    return vectors();
}
"""
)

WIDE = (
    HEADER
    + """
__attribute__((target("avx"))) int main(void) {
    wide x = give_wide(7);
    return x[0] == 7 && x[1] == 8 && x[2] == 9 && x[3] == 10 ? 0 : 1;
}
"""
)

# Compares addresses of a function like OpenSSL's CRYPTO_malloc(): the address that static data of a
# library holds, and the address that the slot of the program holds.
ADDRESSES = HEADER + "int main(void) { return is_own_address(leave_nothing) ? 0 : 1; }"

LOADED = (
    HEADER
    + """
int main(int argc, char **argv) {
    void *library = dlopen(argv[argc - 1], RTLD_LAZY);
    void (*function)(void) = (void (*)(void))dlsym(library, "call_leaver");
    for (int i = 0; i < 10; i++)
        function();
    return 0;
}
"""
)

THREADS = (
    HEADER
    + """
static void *run(void *none) {
    for (int i = 0; i < 3000; i++)
        leave_by_turns(i);
    return none;
}
int main(void) {
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        pthread_create(&threads[i], NULL, run, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
"""
)

CHILDREN = (
    HEADER
    + """
extern char **environ;
int main(int argc, char **argv) {
    int status = 0;
    char *arguments[] = {argv[0], (char *)"child", NULL};
    pid_t child;
    leave_ymm();
    if (argc > 1)
        _exit(0);
    if ((child = fork()) == 0) {
        leave_ymm();
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (posix_spawn(&child, argv[0], NULL, NULL, arguments, environ))
        return 1;
    waitpid(child, &status, 0);
    if ((child = vfork()) == 0) {
        execv(argv[0], arguments);
        _exit(1);
    }
    waitpid(child, &status, 0);
    execv(argv[0], arguments);
    return 1;
}
"""
)

# Sleeps in hooked calls, while its child runs on the same CPU with other registers.
SWITCHES = (
    HEADER
    + """
#include <sched.h>
static void dirty_and_sleep(void) {
    __asm__ volatile("vcmptrueps %%ymm15, %%ymm15, %%ymm15" ::: "xmm15");
    usleep(1000);
}
int main(void) {
    cpu_set_t one;
    volatile double work = 1;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
    pid_t child = fork();
    while (!child)
        work *= 1.5;
    for (int i = 0; i < 30; i++)
        call_back(dirty_and_sleep);
    kill(child, SIGKILL);
    return 0;
}
"""
)

SIGNALS = (
    HEADER
    + """
static volatile sig_atomic_t count;
static void on_signal(int number) {
    leave_ymm();
    count += number > 0;
}
static int by_value(const void *a, const void *b) {
    leave_ymm();
    return *(const int *)a - *(const int *)b;
}
int main(void) {
    int values[] = {3, 1, 2};
    signal(SIGUSR1, on_signal);
    for (int i = 0; i < 50; i++)
        raise(SIGUSR1);
    qsort(values, 3, sizeof *values, by_value);
    return count == 50 && values[0] == 1 && values[2] == 3 ? 0 : 1;
}
"""
)

JUMPS = (
    HEADER
    + """
static jmp_buf place;
static void leave_by_jump(void) { longjmp(place, 1); }
static void jumps(void) {
    for (volatile int i = 0; i < 200; i++) {
        if (!setjmp(place))
            call_back(leave_by_jump);
        leave_ymm();
        leave_nothing();
    }
}
int main(void) { call_back(jumps); return 0; }
"""
)

DEEP = (
    HEADER
    + """
static int depth;
static void deeper(void) {
    if (depth++ < 200)
        call_back(deeper);
    leave_ymm();
}
int main(void) { deeper(); return 0; }
"""
)

THROWING = (
    HEADER
    + """
void throw_it(int value) {
    leave_ymm();
    throw value;
}
"""
)

CATCHING = (
    HEADER
    + """
static void throw_back(void) { throw_it(3); }
int main() {
    int caught = 0;
    for (int i = 0; i < 20; i++) {
        try {
            call_back(throw_back);
        } catch (int value) {
            caught += value;
        }
        leave_nothing();
    }
    return caught == 60 ? 0 : 1;
}
"""
)

# Executes a program that can neither create memory files nor make memory executable.
SANDBOX = (
    HEADER
    + """
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
int main(int argc, char **argv) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all))
        return 77;
    execv(argv[1], argv + 1);
    return argc;
}
"""
)

CRASHES = HEADER + "int main(void) { leave_ymm(); abort(); }"
ENDS = HEADER + "int main(void) { leave_ymm(); _exit(3); }"
ENDLESS = (
    HEADER
    + """
int main(void) {
    puts("ready");
    for (fflush(stdout);;)
        leave_ymm();
}
"""
)

# Reads with XGETBV what is dirty after each call; prints "name count" for each function.
OPENSSL = """
#include <openssl/evp.h>
#include <stdint.h>
#include <stdio.h>

static unsigned count_update, count_final;

static int is_dirty(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return (low & 0x44) != 0;
}
static void clean(void) { __asm__ volatile("vzeroupper"); }

int main(void) {
    static unsigned char in[4096], out[sizeof in + 64];
    static const unsigned char key[64] = {1}, iv[16] = {2};
    EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, "ChaCha20-Poly1305", NULL);
    for (int size = 1; cipher && size <= (int)sizeof in; size *= 2) {
        int length;
        EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
        EVP_EncryptInit_ex2(context, cipher, key, iv, NULL);
        clean();
        EVP_EncryptUpdate(context, out, &length, in, size);
        count_update += is_dirty();
        clean();
        EVP_EncryptFinal_ex(context, out, &length);
        count_final += is_dirty();
        EVP_CIPHER_CTX_free(context);
    }
    printf("EVP_EncryptUpdate %u\\nEVP_EncryptFinal_ex %u\\n", count_update, count_final);
    return 0;
}
"""

Build = Callable[..., Path]
Leavers = dict[str, dict[str, Any]]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds the libraries; returns their folder."""
    place = tmp_path_factory.mktemp("leavers")
    for name, compiler, source in (
        ("leaving", ["gcc", "-x", "c"], LIBRARY),
        ("throwing", ["g++", "-x", "c++"], THROWING),
    ):
        command = [*compiler, "-O1", "-fPIC", "-shared", "-Wno-psabi", "-", f"-olib{name}.so"]
        subprocess.run(command, input=source.encode(), check=True, timeout=600, cwd=place)
    return place


@pytest.fixture(scope="session")
def build(folder: Path) -> Build:
    """Returns a function that compiles each program once."""

    @functools.cache
    def run(source: str, *flags: str, compiler: str = "gcc", libraries: str = "leaving") -> Path:
        path = folder / f"program{run.cache_info().currsize}"
        language = "c++" if compiler == "g++" else "c"
        command = [compiler, "-O1", "-Wno-psabi", "-pthread", *flags, "-x", language, "-"]
        command += ["-o", str(path), f"-L{folder}", f"-Wl,-rpath,{folder}"]
        command += [f"-l{name}" for name in libraries.split()]
        subprocess.run(command, input=source.encode(), check=True, timeout=600)
        return path

    return run


@pytest.fixture(autouse=True)
def can_do_leavers() -> None:
    if os.environ.get("CARRY_SANITIZED"):
        pytest.skip("programs without sanitizers cannot load what has them")
    if not re.search(r"^flags\b.* avx\b", Path("/proc/cpuinfo").read_text(), re.MULTILINE):
        pytest.skip("this CPU has no AVX")


def parse(text: str) -> tuple[Leavers, dict[str, Any]]:
    *rows, summary = (conforming("xstate_leavers", line) for line in text.splitlines())
    assert summary["type"] == "summary"
    leavers = [row for row in rows if row["type"] == "leaver"]
    victims = [row for row in rows if row["type"] == "called_dirty"]
    assert leavers + victims == rows
    assert (summary["leavers"], summary["victims"]) == (len(leavers), len(victims))
    assert summary["called_dirty"] == sum(row["called_dirty"] for row in victims)
    for row in rows:
        assert row["dirty"] == row["ymm"] + row["zmm"] <= row["calls"]
        for count in ("calls", "dirty", "called_dirty"):
            assert row[count] == sum(caller[count] for caller in row["callers"])
    assert summary["dirty"] == sum(row["dirty"] for row in leavers)
    return {row["function"]: row for row in leavers}, summary


def find_leavers(
    carry: Run, program: Path, *arguments: str | Path, option: str = "--json", status: int = 0
) -> tuple[Leavers, dict[str, Any]]:
    report = program.with_suffix(".report")
    command = ["xstate", "leavers", "--json", option, "-o", report, "--", program, *arguments]
    done = carry(*command)
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")
    leavers, summary = parse(report.read_text())
    assert not summary["lost"]
    return leavers, summary


def count_dirty(leavers: Leavers) -> dict[str, int]:
    return {name: row["dirty"] for name, row in leavers.items()}


# --- Findings ---


@pytest.mark.parametrize("binding", ["-Wl,-z,lazy", "-Wl,-z,now", "-no-pie"])
def test_leavers_are_counted(carry: Run, build: Build, folder: Path, binding: str) -> None:
    program = build(COUNTS, binding)
    leavers, summary = find_leavers(carry, program, status=7)
    assert count_dirty(leavers) == {"leave_ymm": 60, "leave_by_turns": 20, "leave_low": 60}
    row = leavers["leave_by_turns"]
    assert (row["calls"], row["ymm"], row["zmm"]) == (60, 20, 0)
    assert row["object"] == f"{folder}/libleaving.so"
    caller = {"object": str(program), "calls": 60, "dirty": 20, "called_dirty": 0}
    assert row["callers"] == [caller]
    assert (summary["called_dirty"], summary["unknown"], summary["processes"]) == (0, 0, 1)


@pytest.mark.skipif(not HAS_AVX512, reason="this CPU has no AVX-512")
def test_zmm(carry: Run, build: Build) -> None:
    """Calls that leave ZMM dirty and calls that leave YMM dirty are counted separately."""
    leavers, _ = find_leavers(carry, build(ZMM))
    assert (leavers["leave_zmm"]["zmm"], leavers["leave_zmm"]["ymm"]) == (9, 0)


def test_nothing_is_found_in_a_clean_program(carry: Run, build: Build) -> None:
    leavers, summary = find_leavers(carry, build(NOTHING))
    assert not leavers and summary["calls"] >= 61


@pytest.mark.parametrize("option", ["--json", "--keep"])
def test_only_the_innermost_is_blamed(carry: Run, build: Build, folder: Path, option: str) -> None:
    """A leaver's caller is not a leaver, unless it dirties uppers itself before it calls others."""
    leavers, summary = find_leavers(carry, build(NESTED), option=option)
    hidden = {} if option == "--keep" else {"call_and_leave": 10}
    assert count_dirty(leavers) == {"leave_ymm": 20, **hidden}
    assert [row["object"] for row in leavers["leave_ymm"]["callers"]] == [f"{folder}/libleaving.so"]
    assert summary["called_dirty"] >= 10  # call_and_leave() calls helper()


def test_kept_dirt_hides_later_leavers(carry: Run, build: Build) -> None:
    leavers, summary = find_leavers(carry, build(COUNTS), option="--keep", status=7)
    assert count_dirty(leavers) == {"leave_ymm": 1, "leave_by_turns": 20, "leave_low": 40}
    assert summary["called_dirty"] >= 59 + 60 + 20


def test_calls_without_a_plt(carry: Run, build: Build) -> None:
    program = build(COUNTS, "-fno-plt")
    assert (
        count_dirty(find_leavers(carry, program, option="--addresses", status=7)[0])["leave_ymm"]
        == 60
    )
    assert "leave_ymm" not in find_leavers(carry, program, status=7)[0]


def test_objects_loaded_later(carry: Run, build: Build, folder: Path) -> None:
    """Calls into objects that are loaded later are hooked."""
    leavers, _ = find_leavers(carry, build(LOADED, libraries="dl"), folder / "libleaving.so")
    assert count_dirty(leavers) == {"leave_ymm": 10}


def test_threads(carry: Run, build: Build) -> None:
    """Calls of all threads are counted."""
    leavers, summary = find_leavers(carry, build(THREADS))
    row = leavers["leave_by_turns"]
    assert (row["calls"], row["dirty"]) == (24000, 8000)
    assert not summary["unknown"]


def test_children(carry: Run, build: Build) -> None:
    """The calls of processes from fork, posix_spawn, vfork and exec are counted; all end by
    _exit()."""
    leavers, summary = find_leavers(carry, build(CHILDREN))
    assert count_dirty(leavers) == {"leave_ymm": 5}
    assert summary["processes"] == 4  # a process that only fork() creates does not count


def test_dirt_outlasts_switches(carry: Run, build: Build) -> None:
    """Dirty uppers are seen even if the CPU runs another process between call and return."""
    leavers, _ = find_leavers(carry, build(SWITCHES))
    assert count_dirty(leavers) == {"call_back": 30}


def test_signals_and_callbacks(carry: Run, build: Build) -> None:
    """Signal handlers and callbacks are not blamed."""
    leavers, summary = find_leavers(carry, build(SIGNALS))
    assert leavers.keys() == {"leave_ymm"}
    assert leavers["leave_ymm"]["dirty"] == leavers["leave_ymm"]["calls"] > 50
    assert not summary["unknown"]


def test_jumps(carry: Run, build: Build) -> None:
    """longjmp() over hooked calls loses no call."""
    leavers, summary = find_leavers(carry, build(JUMPS))
    assert count_dirty(leavers) == {"leave_ymm": 200}
    assert not summary["unknown"] and not summary["called_dirty"]


def test_deep_recursion(carry: Run, build: Build) -> None:
    """In a deep recursion, the outermost calls are dropped, and not judged."""
    leavers, summary = find_leavers(carry, build(DEEP))
    assert count_dirty(leavers) == {"leave_ymm": 201}
    assert 0 < summary["unknown"] < 200


def test_exceptions(carry: Run, build: Build) -> None:
    """Exceptions through hooked calls lose no call."""
    program = build(CATCHING, compiler="g++", libraries="leaving throwing")
    leavers, summary = find_leavers(carry, program)
    assert count_dirty(leavers) == {"leave_ymm": 20}
    assert not summary["unknown"]


def test_refused_memory_files_are_counted(carry: Run, build: Build) -> None:
    program = build(SANDBOX)
    if subprocess.run([program, "/bin/true"], check=False).returncode == 77:
        pytest.skip("the system has no filters")
    _, summary = find_leavers(carry, program, build(ENDS), status=3)
    assert (summary["processes"], summary["refused"], summary["dirty"]) == (1, 1, 0)


@pytest.mark.parametrize(("source", "status"), [(CRASHES, 128 + signal.SIGABRT), (ENDS, 3)])
def test_programs_that_end_without_exit_handlers(
    carry: Run, build: Build, source: str, status: int
) -> None:
    assert count_dirty(find_leavers(carry, build(source), status=status)[0]) == {"leave_ymm": 1}


def test_openssl(carry: Run, build: Build, tmp_path: Path) -> None:
    """The counts for ChaCha20-Poly1305 are equal to the counts that the program itself finds with
    XGETBV."""
    if not Path("/usr/include/openssl/evp.h").is_file():
        pytest.skip("the headers of OpenSSL are not installed")
    try:
        program = build(OPENSSL, libraries="crypto")
    except subprocess.CalledProcessError:
        pytest.skip("this OpenSSL is older than 3.0")
    alone = subprocess.run([program], check=True, capture_output=True, text=True, timeout=600)
    counts = {name: int(count) for name, count in re.findall(r"(\w+) (\d+)", alone.stdout)}
    if not any(counts.values()):
        pytest.skip("this OpenSSL leaves no uppers dirty on this CPU")
    report = tmp_path / "report"
    done = carry("xstate", "leavers", "--json", "-o", report, "--", program)
    assert (done.returncode, done.stderr) == (0, "")
    leavers, _ = parse(report.read_text())
    assert {name: leavers[name]["dirty"] for name in counts if counts[name]} == {
        name: count for name, count in counts.items() if count
    }
    # The tool has cleaned the uppers.
    assert done.stdout == "EVP_EncryptUpdate 0\nEVP_EncryptFinal_ex 0\n"


# --- Behaviour that must not change ---


def test_values(carry: Run, build: Build) -> None:
    """Results in vector registers are not destroyed."""
    leavers, _ = find_leavers(carry, build(VALUES))
    assert count_dirty(leavers) == {
        "leave_real": 1,
        "leave_long_double": 1,
        "leave_pair": 2,
        "leave_reals": 2,
    }


def test_wide_results(carry: Run, build: Build) -> None:
    """Results in wide vectors are kept if --keep asks for it."""
    find_leavers(carry, build(WIDE), option="--keep")


def test_addresses(carry: Run, build: Build) -> None:
    """Programs see the functions' own addresses, unless --addresses hooks these, too."""
    find_leavers(carry, build(ADDRESSES))
    find_leavers(carry, build(ADDRESSES), option="--addresses", status=1)


def test_preloaded_libraries_are_kept(
    carry: Run, build: Build, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_PRELOAD", str(folder / "libleaving.so"))
    done = carry("xstate", "leavers", "--", "grep", "-o", "-m1", "libleaving.so", "/proc/self/maps")
    assert done.stdout == "libleaving.so\n"


@pytest.mark.parametrize(
    "command", [["bash", "-c", "exit 5"], ["python3", "-c", "import ssl, sys; sys.exit(5)"]]
)
def test_real_programs(carry: Run, command: list[str]) -> None:
    """Programs keep their exit status and output."""
    done = carry("xstate", "leavers", "--", *command)
    assert (done.returncode, done.stdout) == (5, "")
    assert re.search(r"in [\d,]+ calls", done.stderr)


# --- Exit status and usage ---


@pytest.mark.parametrize(("name", "status"), [("/nonexistent", 127), ("/", 126)])
def test_not_executed(carry: Run, name: str, status: int) -> None:
    """A program that cannot be executed is named, with the status of a shell."""
    done = carry("xstate", "leavers", "--", name)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith(f"carry: cannot execute '{name}': ")
    assert done.stderr.count("\n") == 1


def test_static_programs(carry: Run, build: Build) -> None:
    """A static program is refused, with the reason."""
    program = build("int main(void) { return 0; }", "-static", libraries="c")
    done = carry("xstate", "leavers", "--", program)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert f"cannot hook calls in '{program}': it is statically linked" in done.stderr


@pytest.mark.parametrize(("source", "status"), [(NOTHING, 0), (SIGNALS, BAD), (COUNTS, 7)])
def test_check(carry: Run, build: Build, source: str, status: int) -> None:
    """Findings decide the exit status if the program succeeds."""
    find_leavers(carry, build(source), option="--check", status=status)


@pytest.mark.parametrize("group", [True, False])
def test_interrupted(tool: str, build: Build, tmp_path: Path, group: bool) -> None:
    """A signal to tool and program, or to the tool alone, ends both with a report."""
    report = tmp_path / "report"
    command = [tool, "xstate", "leavers", "--json", "-o", report, "--", build(ENDLESS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            assert process.stdout and process.stdout.readline() == b"ready\n"
            time.sleep(0.1)
            if group:
                os.killpg(process.pid, signal.SIGINT)
            else:
                process.terminate()
            number = signal.SIGINT if group else signal.SIGTERM
            assert process.wait(HANGS) == 128 + number
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    assert parse(report.read_text())[0].keys() == {"leave_ymm"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [([], "a command is needed"), (["--show=0", "--", "true"], "--show takes a number from 1")],
)
def test_wrong_usage_is_refused_with_its_reason(
    carry: Run, arguments: list[str], message: str
) -> None:
    done = carry("xstate", "leavers", *arguments)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr.startswith("carry xstate leavers: ") and message in done.stderr


def test_text_lists_leavers_and_callers(carry: Run, build: Build) -> None:
    """The text lists leavers and their callers, or says that there are none."""
    done = carry("xstate", "leavers", "--show=1", "--", build(COUNTS))
    assert (done.returncode, done.stdout) == (7, "")
    lines = done.stderr.splitlines()
    assert max(map(len, lines)) <= 80
    assert re.fullmatch(r" +60 +60 +100\.0 % +0  leave_(ymm|low), libleaving\.so", lines[2])
    assert lines[3].strip() == f"called by {build(COUNTS).name}"
    assert lines[4].strip() == "and 2 more; --show lists them"
    assert re.match(r"Leavers: 3 of \d+ functions returned with dirty uppers, in ", lines[6])
    done = carry("xstate", "leavers", "--", build(NESTED))
    assert re.search(r"\ncalled dirty .*\n +10 +20 +50\.0 % +helper, libleaving\.so\n", done.stderr)
    done = carry("xstate", "leavers", "--", build(NOTHING))
    assert re.search(r"\nNo leaver seen in \d+ calls of \d+ functions\.\n", done.stderr)
