/* SPDX-License-Identifier: MIT */
/* Reads the components in use of threads of other processes. */
#ifndef CARRY_TOOLS_XSTATE_THREAD_H
#define CARRY_TOOLS_XSTATE_THREAD_H

#include <stdint.h>
#include <sys/types.h>

enum xstate_reading {
    XSTATE_READ,
    XSTATE_GONE,    /* the thread has ended */
    XSTATE_REFUSED, /* the reason is in `problem` */
};

/* The size of a text that describes a problem. */
#define XSTATE_PROBLEM_SIZE 128

struct xstate_thread {
    pid_t tid;
    char name[32];
    enum xstate_reading reading;
    uint64_t in_use;
    uint64_t initial; /* the components in use whose registers have their initial values */
    char problem[XSTATE_PROBLEM_SIZE];
};

/* Prepares this process to read threads. Call it once, before xstate_thread_read(). */
void xstate_thread_prepare(void);

/*
 * Stops a thread for some microseconds, reads its registers, and resumes it, unless it was stopped
 * before. Signals that would end this program wait until then. If this program is killed, the
 * kernel resumes the thread.
 */
void xstate_thread_read(struct xstate_thread *thread, pid_t tid);

/* Writes why ptrace(2) was refused (EPERM); returns `reason`, of XSTATE_PROBLEM_SIZE bytes. */
char *xstate_thread_refusal(char *reason, pid_t tid);

/* Reads the name of a thread or process, "" if there is none; returns `name`. */
char *xstate_thread_name(char *name, size_t size, pid_t tid);

#endif
