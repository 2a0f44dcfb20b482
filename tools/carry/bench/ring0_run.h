/* SPDX-License-Identifier: MIT */
/* The emulator of `carry bench ring0`, and what the kernel in it says. */
#ifndef CARRY_TOOLS_BENCH_RING0_RUN_H
#define CARRY_TOOLS_BENCH_RING0_RUN_H

#include <stddef.h>
#include <stdint.h>

#define RING0_ROWS 32
#define RING0_NONE INT64_C(-1) /* there is no such form */

/* Forms that an operation may have, by the words of ports/baremetal/x86_64/bench.c. */
#define RING0_FORMS 4
extern const char *const ring0_forms[RING0_FORMS];

struct ring0_row {
    char operation[16];
    char table[16];
    int64_t counts[RING0_FORMS];
};

struct ring0_result {
    char emulator[80]; /* its name and version */
    struct ring0_row rows[RING0_ROWS];
    size_t count;
};

/* Returns STATUS_CLEAN, or an exit status after a message. */
int ring0_run(const char *emulator, const char *kernel, struct ring0_result *result);

#endif
