/* SPDX-License-Identifier: MIT */
/* Connects the standard input and output of a program to files, or to other processes by pipes. */
#ifndef CARRY_TOOLS_BENCH_CAPTURE_ENDS_H
#define CARRY_TOOLS_BENCH_CAPTURE_ENDS_H

#include <stdbool.h>
#include <sys/types.h>

enum bench_ends_kind {
    BENCH_ENDS_NONE,  /* the program opens its files itself */
    BENCH_ENDS_FILES, /* <INPUT >OUTPUT */
    BENCH_ENDS_PIPES, /* one process writes the input, another reads the output and drops it */
};

struct bench_ends {
    int input, output;    /* descriptors for the program; -1: none */
    pid_t writer, reader; /* the processes at the other ends of the pipes; 0: none */
};

/* Opens the ends that `kind` needs. Returns false if one fails; the caller must call
 * bench_ends_close() anyway. */
bool bench_ends_open(struct bench_ends *ends, enum bench_ends_kind kind, const char *input,
                     const char *output);

/* Makes the ends standard input and output. The child calls this before execv(). */
void bench_ends_take(const struct bench_ends *ends);

/* Closes the descriptors in the calling process. The program keeps its own. */
void bench_ends_close(struct bench_ends *ends);

/* Waits until the other processes have ended. */
void bench_ends_wait(const struct bench_ends *ends);

#endif
