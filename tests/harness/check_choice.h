/* SPDX-License-Identifier: MIT */
/* Checks of the choice of a kernel, through the public functions of each table of kernels. */
#ifndef CARRY_TESTS_CHECK_CHOICE_H
#define CARRY_TESTS_CHECK_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include <carry/kernel.h>

/* The members that the modules' own structs have in common. */
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
    bool (*works)(void); /* returns whether the chosen kernel works */
};

/* Returns the name of the last row that lacks no feature and is `preferred`. */
const char *choice_best(const struct choice *choice);

/* Returns whether the kernel of choice_best(), and no other, is chosen. */
bool choice_is_best(const struct choice *choice);

/*
 * Adds test points on the functions of `choice`. Afterwards the best kernel is chosen, and no
 * feature is masked.
 */
void choice_check_all(const struct choice *choice);

#endif
