/* SPDX-License-Identifier: MIT */
/* What a thread of another process has in use. */
#ifndef CARRY_TOOLS_XSTATE_THREAD_H
#define CARRY_TOOLS_XSTATE_THREAD_H

#include <stdint.h>
#include <sys/types.h>

enum xstate_reading {
    XSTATE_READ,
    XSTATE_GONE,    /* it has ended */
    XSTATE_REFUSED, /* `problem` says why */
};

/* Room for what may be wrong. */
#define XSTATE_PROBLEM_SIZE 128

struct xstate_thread {
    pid_t tid;
    char name[32];
    enum xstate_reading reading;
    uint64_t in_use;
    uint64_t initial; /* those of them whose registers hold what the CPU starts with */
    char problem[XSTATE_PROBLEM_SIZE];
};

/* Call once, before threads are read. */
void xstate_thread_prepare(void);

/*
 * Stops the thread, which takes some microseconds, reads its registers and lets it go on; one that
 * was stopped before stays so. Signals that would end this program wait until that is done, and if
 * it is killed, the kernel lets the thread go on.
 */
void xstate_thread_read(struct xstate_thread *thread, pid_t tid);

/* Says why ptrace(2) was not permitted (EPERM); returns `reason`, of XSTATE_PROBLEM_SIZE bytes. */
char *xstate_thread_refusal(char *reason, pid_t tid);

/* Reads the name of a thread or process, "" if there is none; returns `name`. */
char *xstate_thread_name(char *name, size_t size, pid_t tid);

#endif
