/* SPDX-License-Identifier: MIT */
/* Checks of the choice of a kernel, through the public functions of each table of kernels. */
#ifndef CARRY_TESTS_CHECK_CHOICE_H
#define CARRY_TESTS_CHECK_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include <carry/kernel.h>

/* The common members of the modules' own structs. */
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

/* Returns the last row whose needs are met and whose vectors are preferred. */
const char *choice_best(const struct choice *choice);

/* Returns whether that kernel, and no other, is chosen. */
bool choice_is_best(const struct choice *choice);

/*
 * Adds test points for all promises of the functions. Afterwards the best kernel is chosen, and no
 * feature is masked.
 */
void choice_check_all(const struct choice *choice);

#endif
