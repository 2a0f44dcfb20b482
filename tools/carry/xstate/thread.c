/* SPDX-License-Identifier: MIT */
/* Reads threads of other processes by ptrace(2). */
#define _GNU_SOURCE
#include "xstate/thread.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <carry/image.h>

#include "common/clock.h"
#include "common/signals.h"

/* The longest wait for a thread to stop: a thread in an uninterruptible sleep does not stop. */
#define STOP_NS 500000000

/* The regset NT_X86_XSTATE: the standard form of XSAVE (Linux, Documentation/arch/x86/xstate). */
#define REGSET_BYTES 65536

/* --- Threads in /proc --- */

static FILE *open_proc(pid_t tid, const char *name) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", tid, name);
    return fopen(path, "re");
}

char *xstate_thread_name(char *name, size_t size, pid_t tid) {
    FILE *file = open_proc(tid, "comm");
    if (!file || !fgets(name, (int)size, file))
        name[0] = '\0';
    name[strcspn(name, "\n")] = '\0';
    if (file)
        fclose(file);
    return name;
}

struct status {
    char state;
    int process;
    int tracer; /* the number of a thread */
    long user;
    bool is_kernel;
};

/* Reads the status of a thread; returns false if it has ended. */
static bool read_status(struct status *status, pid_t tid) {
    char line[256];
    FILE *file = open_proc(tid, "status");
    *status = (struct status){.state = 'X', .is_kernel = true};
    while (file && fgets(line, sizeof line, file)) {
        sscanf(line, "State: %c", &status->state);
        sscanf(line, "Tgid: %d", &status->process);
        sscanf(line, "TracerPid: %d", &status->tracer);
        sscanf(line, "Uid: %ld", &status->user);
        if (strncmp(line, "VmSize:", 7) == 0)
            status->is_kernel = false;
    }
    if (file)
        fclose(file);
    return status->state != 'X' && status->state != 'Z';
}

/* --- Refusals --- */

static int ptrace_scope(void) {
    int scope = 0;
    FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
    if (file && fscanf(file, "%d", &scope) != 1)
        scope = 0;
    if (file)
        fclose(file);
    return scope;
}

static void explain_refusal(char *problem, const struct status *status) {
    static const char *const scopes[] = {
        NULL,
        "only its parent may trace it (kernel.yama.ptrace_scope is 1): run as root, or set it to 0",
        "only root may trace (kernel.yama.ptrace_scope is 2)",
        "no user may trace (kernel.yama.ptrace_scope is 3)",
    };
    const int scope = ptrace_scope();
    const char *reason = "the system refuses to trace it: it made itself undumpable, or a "
                         "container or security module refuses";
    struct status tracer;
    char name[32];
    if (status->tracer && read_status(&tracer, status->tracer)) {
        snprintf(problem, XSTATE_PROBLEM_SIZE, "process %d (%s) already traces it, as debuggers do",
                 tracer.process, xstate_thread_name(name, sizeof name, tracer.process));
        return;
    }
    if (status->is_kernel)
        reason = "it is a kernel thread";
    else if (geteuid() != 0 && status->user != (long)geteuid())
        reason = "it belongs to another user: run as that user, or as root";
    else if (scope > 0 && scope < (int)(sizeof scopes / sizeof *scopes))
        reason = scopes[scope];
    snprintf(problem, XSTATE_PROBLEM_SIZE, "%s", reason);
}

char *xstate_thread_refusal(char *reason, pid_t tid) {
    struct status status;
    if (read_status(&status, tid))
        explain_refusal(reason, &status);
    else
        snprintf(reason, XSTATE_PROBLEM_SIZE, "it has ended");
    return reason;
}

static void record_problem(struct xstate_thread *thread, int error) {
    struct status status;
    const bool is_there = read_status(&status, thread->tid);
    if (error == ESRCH || !is_there) {
        thread->reading = XSTATE_GONE;
        return;
    }
    thread->reading = XSTATE_REFUSED;
    if (error == EPERM)
        explain_refusal(thread->problem, &status);
    else if (error == ETIMEDOUT)
        snprintf(thread->problem, sizeof thread->problem,
                 "it does not stop: it is in an uninterruptible sleep");
    else if (error == ENODEV || error == EINVAL)
        snprintf(thread->problem, sizeof thread->problem, "this CPU or kernel has no XSAVE");
    else
        snprintf(thread->problem, sizeof thread->problem, "%s", strerror(error));
}

/* --- Registers --- */

static int get_registers(struct xstate_thread *thread) {
    static uint8_t image[REGSET_BYTES];
    struct iovec area = {image, sizeof image};
    struct carry_xstate_layout layout;
    if (ptrace(PTRACE_GETREGSET, thread->tid, NT_X86_XSTATE, &area) != 0)
        return errno;
    if (carry_xstate_from_regset(image, area.iov_len, &layout) != CARRY_XSTATE_REFUSED_NONE)
        return ENODEV;
    thread->in_use = carry_xstate_image_in_use(&layout, image);
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++)
        if (thread->in_use >> i & 1 && carry_xstate_image_is_initial(&layout, image, i))
            thread->initial |= UINT64_C(1) << i;
    return 0;
}

/* --- Stops --- */

/* Waits until a thread stops; returns 0 or an errno. Each stop sends SIGCHLD, and the signal is
 * blocked, so that no stop is missed. */
static int wait_for_stop(pid_t tid, int *status) {
    const int64_t deadline = clock_ns() + STOP_NS;
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (;;) {
        pid_t found = waitpid(tid, status, __WALL | WNOHANG);
        if (found < 0)
            return errno;
        if (found == tid)
            return WIFSTOPPED(*status) ? 0 : ESRCH;
        const int64_t left = deadline - clock_ns();
        if (left <= 0)
            return ETIMEDOUT;
        const struct timespec timeout = {.tv_nsec = left};
        sigtimedwait(&set, NULL, &timeout);
    }
}

/* Returns the signal that must be delivered: the one that stopped the thread before this program
 * did. Returns 0 if there is none. */
static int signal_of(int status) {
    return status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
}

static int read_traced(struct xstate_thread *thread) {
    int status;
    if (ptrace(PTRACE_INTERRUPT, thread->tid, 0, 0) != 0)
        return errno;
    int error = wait_for_stop(thread->tid, &status);
    if (error)
        return error;
    error = get_registers(thread);
    ptrace(PTRACE_DETACH, thread->tid, 0, signal_of(status));
    return error;
}

void xstate_thread_prepare(void) {
    sigset_t set;
    signal(SIGCHLD, SIG_DFL); /* because an ignored signal would not arrive */
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

void xstate_thread_read(struct xstate_thread *thread, pid_t tid) {
    sigset_t before;
    *thread = (struct xstate_thread){.tid = tid, .reading = XSTATE_READ};
    xstate_thread_name(thread->name, sizeof thread->name, tid);
    signals_hold(&before);
    int error = ptrace(PTRACE_SEIZE, tid, 0, 0) == 0 ? read_traced(thread) : errno;
    signals_release(&before);
    if (error)
        record_problem(thread, error);
}
