/* SPDX-License-Identifier: MIT */
/*
 * `carry selftest` tests the library by the checks in tests/harness. They compare results with an
 * oracle, and detect accesses outside a range by forbidden pages.
 */
#ifndef CARRY_TOOLS_SELFTEST_H
#define CARRY_TOOLS_SELFTEST_H

#include "harness/verdict.h"
#include "selftest/library.h"

#define SELFTEST_NOTE_SIZE 96

/* A test of a kernel or a function. */
struct selftest_row {
    const char *function;          /* such as "sum" */
    const char *variant;           /* the kernel, or the part of the function */
    const char *missing;           /* NULL; or a feature that the CPU lacks: the row does not run */
    char note[SELFTEST_NOTE_SIZE]; /* information for the user, or "" */
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

/* Appends a row and returns it. Ends the tool if there are too many rows. */
struct selftest_row *selftest_add(struct selftest *test, const char *function, const char *variant,
                                  void (*run)(struct selftest_row *row));

/* Restarts the random numbers, and calls `body` with the row. A fault in `body` makes the row
 * wrong. */
void selftest_guard(struct selftest_row *row, void (*body)(void *row));

/* Adds the verdict of the check named `check` to the verdict of the row. */
void selftest_judge(struct selftest_row *row, const char *check, const struct verdict *verdict);

extern const struct effort selftest_effort;

/* Append the rows of all kernels, of packets, of functions made at run time, and of patched calls.
 * The last two are for the tool's own library only. */
void selftest_add_kernels(struct selftest *test);
void selftest_add_packets(struct selftest *test);
void selftest_add_jit(struct selftest *test);
void selftest_add_patch(struct selftest *test);

/* A file whose code is tested. */
struct selftest_file {
    char *path;
    char *build_id; /* hexadecimal; NULL if it has none */
};

/* Returns the tool, the library, and other loaded libraries of this project. The caller frees the
 * list and its members. */
struct selftest_file *selftest_files(const struct library *library, size_t *count);

#endif
