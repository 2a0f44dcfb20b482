/* SPDX-License-Identifier: MIT */
/* What stands at the standard input and output of a program: files, or pipes to other processes. */
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
    int input, output;    /* for the program; -1: none */
    pid_t writer, reader; /* at the other ends of the pipes; 0: none */
};

/* False if they cannot be opened. To be closed all the same. */
bool bench_ends_open(struct bench_ends *ends, enum bench_ends_kind kind, const char *input,
                     const char *output);

/* In the program's process, before it is executed. */
void bench_ends_take(const struct bench_ends *ends);

/* The program alone has them from now on. */
void bench_ends_close(struct bench_ends *ends);

/* Once the program has ended, the others do. */
void bench_ends_wait(const struct bench_ends *ends);

#endif
