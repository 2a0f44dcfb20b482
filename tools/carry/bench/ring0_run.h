/* SPDX-License-Identifier: MIT */
/* Boots the kernel of `carry bench ring0` in an emulator, and reads its counts. */
#ifndef CARRY_TOOLS_BENCH_RING0_RUN_H
#define CARRY_TOOLS_BENCH_RING0_RUN_H

#include <stddef.h>
#include <stdint.h>

#define RING0_ROWS 32
#define RING0_NONE INT64_C(-1) /* the operation lacks the form */

/* The forms of operations, with the names that ports/baremetal/x86_64/bench.c prints. */
#define RING0_FORMS 4
extern const char *const ring0_forms[RING0_FORMS];

struct ring0_row {
    char operation[16];
    char table[16];
    int64_t counts[RING0_FORMS];
};

struct ring0_result {
    char emulator[80]; /* name and version */
    struct ring0_row rows[RING0_ROWS];
    size_t count;
};

/* Boots `kernel` in `emulator`. Returns STATUS_CLEAN, or an exit status after a message. */
int ring0_run(const char *emulator, const char *kernel, struct ring0_result *result);

#endif
