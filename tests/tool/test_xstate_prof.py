# SPDX-License-Identifier: MIT
"""`carry xstate prof` finds the dirty function of a program, and does not change its behaviour."""

from __future__ import annotations

import functools
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from carry_tool import CLEAN, ERROR, HANGS, Run
from schemas import conforming

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="extended state is of x86-64"
)

Build = Callable[..., Path]

# Each loop takes tens of milliseconds; the instructions inside both loops are the same.
LOOPS = """
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define HERE __attribute__((noinline, used, noclone))

HERE static void clean_loop(long turns) {
    __asm__ volatile("vzeroupper\\n1: dec %0\\njnz 1b" : "+r"(turns));
}

HERE static void dirty_loop(long turns) {
    __asm__ volatile("vcmptrueps %%ymm15, %%ymm15, %%ymm15\\n2: dec %0\\njnz 2b\\nvzeroupper"
                     : "+r"(turns) : : "xmm15");
}

static void both(void) {
    clean_loop(200000000);
    dirty_loop(200000000);
}
"""

PLAIN = LOOPS + "int main(void) { both(); return 7; }"

CLEAN_ONE = LOOPS + "int main(void) { clean_loop(400000000); return 0; }"

ZMM = (
    LOOPS
    + """
HERE static void zmm_loop(long turns) {
    __asm__ volatile("vpternlogd $255, %%zmm15, %%zmm15, %%zmm15\\n3: dec %0\\njnz 3b\\nvzeroupper"
                     : "+r"(turns) : : "xmm15");
}
int main(void) { both(); zmm_loop(200000000); return 0; }
"""
)

THREADS = (
    LOOPS
    + """
static void *run(void *which) {
    if (which)
        dirty_loop(200000000);
    else
        clean_loop(200000000);
    return NULL;
}
static void *asleep(void *none) { return pause() ? none : none; }

int main(int argc, char **argv) {
    pthread_t threads[4], sleeper;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (int i = argc > 1 ? atoi(argv[1]) : 0; i; i--)
        if (pthread_create(&sleeper, &small, asleep, NULL))
            return 1;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, run, i % 2 ? &sleeper : NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
"""
)

# Runs the loops after an exec or in a child, as its argument says.
CHILDREN = (
    LOOPS
    + """
extern char **environ;

static int wait_for(pid_t child) {
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}
static void *execute(void *name) {
    execl(name, name, "loops", NULL);
    return NULL;
}

int main(int argc, char **argv) {
    const char *how = argc > 1 ? argv[1] : "";
    char *arguments[] = {argv[0], "loops", NULL};
    pthread_t thread;
    pid_t child = 0;
    if (strcmp(how, "loops") == 0)
        return both(), 7;
    if (strcmp(how, "exec") == 0)
        execute(argv[0]);
    if (strcmp(how, "exec of a thread") == 0)
        return pthread_create(&thread, NULL, execute, argv[0]), pause();
    if (strcmp(how, "fork") == 0 && (child = fork()) == 0)
        return both(), 7;
    if (strcmp(how, "vfork") == 0 && (child = vfork()) == 0)
        execve(argv[0], arguments, environ), _exit(98);
    if (strcmp(how, "spawn") == 0 &&
        posix_spawn(&child, argv[0], NULL, NULL, arguments, environ) != 0)
        return 97;
    return wait_for(child);
}
"""
)

# Counts the signals that it sends itself: all arrive, queued ones with their values.
SIGNALS = (
    LOOPS
    + """
static volatile sig_atomic_t plain, sum;
static void on_plain(int signal) { plain++; (void)signal; }
static void on_queued(int signal, siginfo_t *info, void *context) {
    sum += info->si_value.sival_int;
    (void)signal, (void)context;
}

int main(void) {
    struct sigaction one = {.sa_handler = on_plain};
    struct sigaction queued = {.sa_sigaction = on_queued, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &one, NULL);
    sigaction(SIGRTMIN, &queued, NULL);
    for (int i = 0; i < 100; i++) {
        kill(getpid(), SIGUSR1);
        sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = i});
        dirty_loop(2000000);
    }
    printf("%d %d\\n", (int)plain, (int)sum);
    return 0;
}
"""
)

# Stops its child, checks that it remains stopped, and continues it.
STOPS = (
    LOOPS
    + """
static char state(pid_t process) {
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    if (file && fread(text, 1, sizeof text - 1, file) && fclose(file) == 0)
        return strrchr(text, ')')[2];
    return 0;
}

int main(void) {
    int status;
    pid_t child = fork();
    if (child == 0)
        for (;;)
            dirty_loop(1000000);
    for (int i = 0; i < 3; i++) {
        clean_loop(50000000);
        kill(child, SIGSTOP);
        if (waitpid(child, &status, WUNTRACED) != child || !WIFSTOPPED(status))
            return 1;
        usleep(50000);
        if (!strchr("tT", state(child)) || waitpid(child, &status, WNOHANG | WCONTINUED))
            return 2;
        kill(child, SIGCONT);
        if (waitpid(child, &status, WCONTINUED) != child || !WIFCONTINUED(status))
            return 3;
    }
    kill(child, SIGTERM);
    return waitpid(child, &status, 0) == child && WTERMSIG(status) == SIGTERM ? 0 : 4;
}
"""
)

# A program in which a thread waits in a system call that an interrupt would end. It prints a line
# when the process may be followed.
WAITS = (
    LOOPS
    + """
static int wakes;
static void *wait_for_events(void *none) {
    struct epoll_event event = {.events = EPOLLIN};
    int list = epoll_create1(0);
    epoll_ctl(list, EPOLL_CTL_ADD, wakes, &event);
    int count = epoll_wait(list, &event, 1, -1);
    printf("epoll_wait: %d\\n", count);
    return none;
}

int main(void) {
    pthread_t thread;
    struct pollfd input = {.fd = 0, .events = POLLIN};
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    wakes = eventfd(0, 0);
    pthread_create(&thread, NULL, wait_for_events, NULL);
    usleep(100000);
    puts("ready");
    fflush(stdout);
    while (poll(&input, 1, 0) == 0)
        dirty_loop(1000000);
    eventfd_write(wakes, 1);
    pthread_join(thread, NULL);
    return 7;
}
"""
)

# On an interrupt, exits, dies or continues, as its argument says; exits at the end of its input.
INTERRUPTED = (
    LOOPS
    + """
static void on_interrupt(int signal) { _exit(9); (void)signal; }
int main(int argc, char **argv) {
    struct pollfd input = {.fd = 0, .events = POLLIN};
    if (argc > 1)
        signal(SIGINT, strcmp(argv[1], "ignore") ? on_interrupt : SIG_IGN);
    puts("ready");
    fflush(stdout);
    while (poll(&input, 1, 0) == 0)
        dirty_loop(1000000);
    puts("goes on");
    return 5;
}
"""
)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Returns a function that compiles each program once."""
    folder = tmp_path_factory.mktemp("programs")

    @functools.cache
    def run(source: str, *flags: str) -> Path:
        path = folder / f"program{run.cache_info().currsize}"
        command = ["gcc", "-O1", "-g", "-pthread", "-x", "c", "-", "-o", str(path), *flags]
        subprocess.run(command, input=source.encode(), check=True, timeout=600)
        return path

    return run


@pytest.fixture(autouse=True)
def can_trace(carry: Run) -> None:
    done = carry("xstate", "prof", "--", "true")
    for reason in ("built without", "has no AVX", "cannot trace process"):
        if reason in done.stderr:
            pytest.skip(done.stderr.strip())


Functions = dict[str | None, dict[str, Any]]


def parse(text: str) -> tuple[Functions, dict[str, Any]]:
    """Returns the functions by name (None: no name) and the summary; checks that they agree."""
    *rows, summary = (conforming("xstate_prof", line) for line in text.splitlines())
    assert {row["type"] for row in rows} <= {"function"} and summary["type"] == "summary"
    for count in ("samples", "dirty", "ymm", "zmm"):
        assert sum(row[count] for row in rows) == summary[count]
    assert summary["functions"] == len(rows)
    return {row["function"]: row for row in rows}, summary


def profile(
    carry: Run, tmp_path: Path, *command: str | Path, status: int = 0
) -> tuple[Functions, dict[str, Any], str]:
    """Runs a program; returns functions, summary, and the program's output."""
    report = tmp_path / "report"
    done = carry("xstate", "prof", "--all", "--json", "-o", report, "--", *command)
    assert (done.returncode, done.stderr) == (status, "")
    return *parse(report.read_text()), done.stdout


def profile_loops(
    carry: Run,
    tmp_path: Path,
    *command: str | Path,
    status: int = 0,
    loops: tuple[str, ...] = ("clean_loop", "dirty_loop"),
) -> tuple[Functions, dict[str, Any], str]:
    """Profiles a program until each of its loops has samples, ten times at most: a loop takes tens
    of milliseconds, in which a busy machine may not run the profiler."""
    for _ in range(10):
        found = profile(carry, tmp_path, *command, status=status)
        if {*loops} <= found[0].keys():
            break
    return found


def check_loops(functions: Functions) -> None:
    assert functions["clean_loop"]["samples"] and not functions["clean_loop"]["dirty"]
    dirty = functions["dirty_loop"]
    # Samples at the first and last instructions of dirty_loop() may be clean.
    assert dirty["samples"] and dirty["dirty"] >= 0.9 * dirty["samples"]
    assert (dirty["ymm"], dirty["zmm"]) == (dirty["dirty"], 0)


# --- Findings ---


@pytest.mark.parametrize("linked", ["-pie", "-no-pie", "-static", "-static-pie"])
def test_a_dirty_function(carry: Run, compiled: Build, tmp_path: Path, linked: str) -> None:
    """The dirty function is found, and the clean one is not, however the program is linked."""
    program = compiled(PLAIN, linked)
    functions, summary, _ = profile_loops(carry, tmp_path, program, status=7)
    check_loops(functions)
    assert functions["dirty_loop"]["object"] == str(program)
    assert (summary["processes"], summary["threads"]) == (1, 1)


def test_a_clean_program(carry: Run, compiled: Build, tmp_path: Path) -> None:
    """A clean program has no dirty sample."""
    functions, summary, _ = profile_loops(
        carry, tmp_path, compiled(CLEAN_ONE), loops=("clean_loop",)
    )
    assert functions["clean_loop"]["samples"] and summary["dirty"] == 0


def test_zmm(carry: Run, compiled: Build, tmp_path: Path) -> None:
    """Dirty upper halves of ZMM are counted."""
    if not re.search(r"^flags\b.* avx512f\b", Path("/proc/cpuinfo").read_text(), re.MULTILINE):
        pytest.skip("this CPU has no AVX-512")
    loops = ("clean_loop", "dirty_loop", "zmm_loop")
    functions, _, _ = profile_loops(carry, tmp_path, compiled(ZMM), loops=loops)
    check_loops(functions)
    assert functions["zmm_loop"]["zmm"] >= 0.9 * functions["zmm_loop"]["samples"] > 0


@pytest.mark.parametrize("sleepers", [0, 1000])
def test_threads(carry: Run, compiled: Build, tmp_path: Path, sleepers: int) -> None:
    """Samples of all threads are counted."""
    functions, summary, _ = profile_loops(carry, tmp_path, compiled(THREADS), str(sleepers))
    check_loops(functions)
    assert (summary["processes"], summary["threads"]) == (1, 5 + sleepers)


@pytest.mark.parametrize("how", ["exec", "exec of a thread", "fork", "vfork", "spawn"])
def test_children(carry: Run, compiled: Build, tmp_path: Path, how: str) -> None:
    """Samples of children are counted, however they are started."""
    functions, summary, _ = profile_loops(carry, tmp_path, compiled(CHILDREN), how, status=7)
    check_loops(functions)
    assert summary["processes"] == (1 if how.startswith("exec") else 2)


def test_another_program_at_the_same_place(carry: Run, compiled: Build, tmp_path: Path) -> None:
    """Functions of different programs at the same address are separate."""
    first = compiled(
        LOOPS + "int main(int c, char **v) { both(); return execv(v[c - 1], v); }", "-no-pie"
    )
    second = shutil.copy(compiled(PLAIN, "-no-pie"), tmp_path / "second")
    report = tmp_path / "report"
    done = carry("xstate", "prof", "--all", "--json", "-o", report, "--", first, second)
    assert done.returncode == 7
    rows = [json.loads(line) for line in report.read_text().splitlines()]
    dirty = {row["object"]: row for row in rows if row.get("function") == "dirty_loop"}
    assert dirty.keys() == {str(first), str(second)}
    assert all(row["dirty"] >= 0.9 * row["samples"] for row in dirty.values())


def test_stripped(carry: Run, compiled: Build, tmp_path: Path) -> None:
    """Without symbols, functions are separated by their unwind tables."""
    program = compiled(PLAIN)
    names = subprocess.run(["nm", program], check=True, capture_output=True, text=True).stdout
    places = {name: int(address, 16) for address, _, name in re.findall(r"(\w+) (\w) (\w+)", names)}
    stripped = shutil.copy(program, tmp_path / "stripped")
    subprocess.run(["strip", stripped], check=True)
    report = tmp_path / "report"
    carry("xstate", "prof", "--json", "-o", report, "--", stripped)
    first = json.loads(report.read_text().splitlines()[0])
    assert (first["function"], first["address"]) == (None, places["dirty_loop"])


def test_separate_symbols(carry: Run, compiled: Build, tmp_path: Path) -> None:
    program = Path(shutil.copy(compiled(PLAIN), tmp_path / "program"))
    debug = program.with_suffix(".debug")
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["strip", program], check=True)
    subprocess.run(["objcopy", f"--add-gnu-debuglink={debug}", program], check=True)
    check_loops(profile_loops(carry, tmp_path, program, status=7)[0])


# --- Behaviour that must not change ---


def test_signals_arrive(carry: Run, compiled: Build, tmp_path: Path) -> None:
    program = compiled(SIGNALS)
    alone = subprocess.run(
        [program], check=True, capture_output=True, text=True, timeout=600
    ).stdout
    assert alone == "100 4950\n"
    functions, _, output = profile_loops(carry, tmp_path, program, loops=("dirty_loop",))
    assert output == alone and functions["dirty_loop"]["dirty"]


def test_stopped_children_remain_stopped(carry: Run, compiled: Build, tmp_path: Path) -> None:
    functions, _, _ = profile_loops(carry, tmp_path, compiled(STOPS))
    assert functions["dirty_loop"]["dirty"] and functions["clean_loop"]["samples"]


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGTERM, signal.SIGKILL])
def test_ended_by_a_signal(carry: Run, tmp_path: Path, number: signal.Signals) -> None:
    profile(carry, tmp_path, "sh", "-c", f"ulimit -c 0; kill -{number} $$", status=128 + number)


@pytest.mark.parametrize(("name", "status"), [("/nonexistent", 127), ("/", 126), ("nosuch", 127)])
def test_not_executed(carry: Run, name: str, status: int) -> None:
    """A program that cannot be executed is named, with the status of a shell."""
    done = carry("xstate", "prof", "--", name)
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith(f"carry: cannot execute '{name}': ")
    assert done.stderr.count("\n") == 1


def test_signal_mask_is_not_inherited(carry: Run, tmp_path: Path) -> None:
    """The program does not inherit the signals that the tool ignores or blocks."""
    command = ("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")
    alone = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    _, _, output = profile(carry, tmp_path, *command)
    assert output == alone


def test_children_that_outlive_their_parent(carry: Run, tmp_path: Path) -> None:
    """Children are released when their parent has ended."""
    profile(carry, tmp_path, "sh", "-c", f"(sleep 1; echo done >{tmp_path}/late) & :")
    wait_for(lambda: (tmp_path / "late").is_file())


# --- Processes ---


def wait_for(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@contextmanager
def started(*command: str | Path, new_session: bool = False) -> Iterator[subprocess.Popen[str]]:
    """Starts a program, and waits until it is ready."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=new_session,
    ) as process:  # fmt: skip
        try:
            assert process.stdout and process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()


def test_a_process(carry: Run, compiled: Build) -> None:
    """The process is followed, and continues unchanged."""
    with started(compiled(WAITS)) as process:
        done = carry("xstate", "prof", "--all", "--json", "--seconds=1", f"--pid={process.pid}")
        assert (done.returncode, done.stderr) == (CLEAN, "")
        functions, summary = parse(done.stdout)
        assert process.communicate("\n", timeout=600) == ("epoll_wait: 1\n", "")
        assert process.returncode == 7
    assert functions["dirty_loop"]["dirty"] and (summary["threads"], summary["processes"]) == (2, 1)


@contextmanager
def followed(tool: str, process: subprocess.Popen[str]) -> Iterator[subprocess.Popen[str]]:
    """Follows a process with the tool."""
    command = [tool, "xstate", "prof", f"--pid={process.pid}"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as follower:
        try:
            status = Path(f"/proc/{process.pid}/status")
            wait_for(lambda: "TracerPid:\t0\n" not in status.read_text())
            yield follower
        finally:
            follower.kill()


def test_a_process_that_ends(tool: str, compiled: Build) -> None:
    with started(compiled(WAITS)) as process, followed(tool, process) as follower:
        time.sleep(0.2)
        process.communicate("\n", timeout=600)
        assert "dirty_loop" in follower.communicate(timeout=600)[0]
        assert follower.returncode == CLEAN


def test_no_such_process(carry: Run) -> None:
    """A process that does not exist is refused."""
    pid = subprocess.Popen(["true"])
    pid.wait()
    done = carry("xstate", "prof", f"--pid={pid.pid}")
    assert (done.returncode, done.stderr) == (ERROR, f"carry: there is no process {pid.pid}\n")


def test_traced_by_another(carry: Run, tool: str, compiled: Build) -> None:
    """A process that another tracer follows is refused, with the tracer's name."""
    with started(compiled(WAITS)) as process, followed(tool, process) as follower:
        done = carry("xstate", "prof", f"--pid={process.pid}")
        who = carry("xstate", "who", str(process.pid))
        reason = f"process {follower.pid} (carry) already traces it"
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert f"cannot trace process {process.pid}: {reason}" in done.stderr and reason in who.stderr


# --- Signals to the tool ---


@contextmanager
def run_by(
    tool: str, report: Path, program: Path, *arguments: str
) -> Iterator[subprocess.Popen[str]]:
    command = [tool, "xstate", "prof", "-o", report, "--", program, *arguments]
    with started(*command, new_session=True) as process:
        yield process


def test_interrupted(tool: str, compiled: Build, tmp_path: Path) -> None:
    """Ctrl-C reaches the tool and the program."""
    report = tmp_path / "report"
    with run_by(tool, report, compiled(INTERRUPTED), "handle") as process:
        time.sleep(0.3)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(HANGS) == 9  # although its input is open
        assert process.communicate() == ("", "")
    assert "dirty_loop" in report.read_text()


def test_interrupted_alone(tool: str, compiled: Build, tmp_path: Path) -> None:
    """Sampling ends, but the program does not."""
    report = tmp_path / "report"
    with run_by(tool, report, compiled(INTERRUPTED), "ignore") as process:
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        wait_for(lambda: report.read_text())
        assert process.poll() is None
        assert process.communicate("\n", timeout=600) == ("goes on\n", "")
        assert process.returncode == 5
    assert "dirty_loop" in report.read_text()


def test_terminated(tool: str, compiled: Build, tmp_path: Path) -> None:
    """A signal that ends the tool ends the program, too."""
    report = tmp_path / "report"
    with run_by(tool, report, compiled(INTERRUPTED)) as process:
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(HANGS) == 128 + signal.SIGTERM
        assert process.communicate() == ("", "")
    assert "dirty_loop" in report.read_text()


def states_of(group: int) -> set[str]:
    states = set()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[2]) == group:
                states.add(fields[0])
    return states


def test_job_control(tool: str, compiled: Build, tmp_path: Path) -> None:
    """Ctrl-Z and fg stop and continue the tool and the program."""
    report = tmp_path / "report"
    command = [tool, "xstate", "prof", "-o", report, "--", compiled(INTERRUPTED)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, process_group=0, **pipes) as process:
        try:
            assert process.stdout and process.stdout.readline() == "ready\n"
            time.sleep(0.2)
            os.killpg(process.pid, signal.SIGTSTP)
            wait_for(lambda: states_of(process.pid) <= {"T", "t"})
            os.killpg(process.pid, signal.SIGCONT)
            assert process.communicate("\n", timeout=600)[0] == "goes on\n"
            assert process.returncode == 5
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert "dirty_loop" in report.read_text()


def test_killed(tool: str, compiled: Build, tmp_path: Path) -> None:
    """If the tool is killed, the program continues."""
    with run_by(tool, tmp_path / "report", compiled(INTERRUPTED)) as process:
        time.sleep(0.3)
        process.kill()
        process.wait()
        assert process.communicate("\n", timeout=600)[0] == "goes on\n"


# --- Rights ---


def as_nobody(tool: str, *command: str | Path) -> subprocess.CompletedProcess[str]:
    if os.geteuid() != 0:
        pytest.skip("only root can run programs as another user")
    try:
        return subprocess.run(
            [tool, "xstate", "prof", *command],
            user="nobody", capture_output=True, text=True, timeout=600, cwd="/",
        )  # fmt: skip
    except PermissionError:
        pytest.skip("another user cannot execute the tool in its folder")


@pytest.mark.parametrize(("kind", "mode", "option"), [("uid", 0o4755, "-u"), ("gid", 0o2755, "-g")])
def test_set_uid(tool: str, kind: str, mode: int, option: str) -> None:
    """A set-user-ID or set-group-ID program runs without these rights, with a warning."""
    program = Path("/tmp") / f"carry-test-{os.getpid()}"
    owner, group = 0, 1  # as_nobody() has another user and the group of this process
    try:
        shutil.copy("/usr/bin/id", program)
        if os.geteuid() == 0:
            os.chown(program, owner, group)
        program.chmod(mode)
        done = as_nobody(tool, "--", program, option)
    finally:
        program.unlink()
    assert done.returncode == 0 and int(done.stdout) != (owner if kind == "uid" else group)
    assert (
        f"carry: '{program}' is set-{kind}: while traced, it runs without these rights"
        in done.stderr
    )


def test_not_permitted(tool: str, compiled: Build) -> None:
    """Without permission to trace a process, the error says so in one line."""
    with started(compiled(WAITS)) as process:
        done = as_nobody(tool, f"--pid={process.pid}")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert "cannot trace process" in done.stderr and done.stderr.count("\n") == 1


# --- Usage ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "a command or --pid is needed"),
        (["--pid=1", "--", "true"], "a command or --pid is needed"),
        (["--rate=0", "--", "true"], "--rate takes a number from 1 to 10000, not '0'"),
        (["--rate=1x", "--", "true"], "--rate takes a number from 1 to 10000, not '1x'"),
        (["--seconds=-1", "--", "true"], "--seconds takes a number"),
        (["--pid=x"], "--pid takes a number"),
    ],
)
def test_wrong_usage_is_refused_with_its_reason(
    carry: Run, arguments: list[str], message: str
) -> None:
    done = carry("xstate", "prof", *arguments)
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert done.stderr.startswith("carry xstate prof: ") and message in done.stderr


def test_options_of_the_program(carry: Run, tmp_path: Path) -> None:
    """Options after the program's name belong to the program."""
    _, _, output = profile(carry, tmp_path, "echo", "--json", "-h")
    assert output == "--json -h\n"
    assert carry("xstate", "prof", "echo", "-h").stdout == "-h\n"


def test_report_that_cannot_be_written(carry: Run, tmp_path: Path) -> None:
    done = carry("xstate", "prof", "-o", tmp_path / "no/where", "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (ERROR, "")
    assert f"{tmp_path}/no/where: No such file" in done.stderr
    done = carry("xstate", "prof", "-o", "/dev/full", "--", "true")
    assert done.returncode == ERROR and "/dev/full: cannot write the report" in done.stderr


def test_text_lists_dirty_functions(carry: Run, compiled: Build) -> None:
    """The text lists dirty functions, or says that there are none."""
    done = carry("xstate", "prof", "--", compiled(PLAIN))
    assert (done.returncode, done.stdout) == (7, "")
    assert re.search(r"^ +[\d,]+ +[\d,]+ +\d+\.\d % +0  dirty_loop, ", done.stderr, re.MULTILINE)
    assert "clean_loop" not in done.stderr and "\nDirty: " in done.stderr
    assert max(map(len, done.stderr.splitlines())) <= 80
    done = carry("xstate", "prof", "--", compiled(CLEAN_ONE))
    assert "\nClean: uppers were in use in none of " in done.stderr


def test_times_have_six_digits(carry: Run) -> None:
    done = carry("xstate", "prof", "--json", "--", "sleep", "0.2")
    seconds = json.loads(done.stderr.splitlines()[-1])["seconds"]
    assert 0 < seconds == float(f"{seconds:.6g}")
