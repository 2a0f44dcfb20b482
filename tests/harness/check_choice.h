/* SPDX-License-Identifier: MIT */
/* The choice of a kernel, by the public functions that each table of kernels has for it. */
#ifndef CARRY_TESTS_CHECK_CHOICE_H
#define CARRY_TESTS_CHECK_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include <carry/kernel.h>

/* What the modules' own structs have in common. */
struct choice_row {
    const char *name;
    const char *missing;
    bool preferred;
    bool chosen;
};

struct choice {
    bool (*row)(size_t index, struct choice_row *row);
    const char *(*need)(size_t index, size_t need);
    bool (*code)(size_t index, struct carry_kernel_code *code);
    int (*select)(const char *name);
    bool (*works)(void); /* does the chosen kernel? */
};

/* The last row whose needs are met and whose vectors are welcome. */
const char *choice_best(const struct choice *choice);

/* Is it that one, and no other? */
bool choice_is_best(const struct choice *choice);

/* Test points of all that the functions promise. Leaves the best one chosen, and no mask. */
void choice_check_all(const struct choice *choice);

#endif
