/* SPDX-License-Identifier: MIT */
/*
 * `carry selftest`: the library by the checks that its tests make, in tests/harness, which judge by
 * an oracle and by forbidden pages.
 */
#ifndef CARRY_TOOLS_SELFTEST_H
#define CARRY_TOOLS_SELFTEST_H

#include "harness/verdict.h"
#include "selftest/library.h"

#define SELFTEST_NOTE_SIZE 96

/* What is tested: a kernel, or a function. */
struct selftest_row {
    const char *function;          /* "sum" */
    const char *variant;           /* the kernel, or what is done with the function */
    const char *missing;           /* a feature that the CPU lacks: the row does not run */
    char note[SELFTEST_NOTE_SIZE]; /* what a user may want to know, right or wrong; or "" */
    struct verdict verdict;        /* of all rounds */
    const struct library *library;
    void (*run)(struct selftest_row *row);
};

#define SELFTEST_ROWS_MAX 64

struct selftest {
    const struct library *library;
    struct selftest_row rows[SELFTEST_ROWS_MAX];
    size_t count;
};

/* Appends a row and returns it; what does not fit is a fault of the tool, and ends it. */
struct selftest_row *selftest_add(struct selftest *test, const char *function, const char *variant,
                                  void (*run)(struct selftest_row *row));

/* Calls `body` with the row, from the first random number on. A fault in it makes the row wrong. */
void selftest_guard(struct selftest_row *row, void (*body)(void *row));

/* Adds to the verdict of a row what one of its checks, which has this name, found. */
void selftest_judge(struct selftest_row *row, const char *check, const struct verdict *verdict);

/* How much the checks do. */
extern const struct effort selftest_effort;

/* Append the rows of every kernel; of packets; of the library in the tool: functions made at run
 * time, and patched calls. */
void selftest_add_kernels(struct selftest *test);
void selftest_add_packets(struct selftest *test);
void selftest_add_jit(struct selftest *test);
void selftest_add_patch(struct selftest *test);

/* A file whose code is tested. */
struct selftest_file {
    char *path;
    char *build_id; /* hexadecimal; NULL if it has none */
};

/* The tool, the library, and others of this project that are loaded; to be freed with their
 * members. */
struct selftest_file *selftest_files(const struct library *library, size_t *count);

#endif
