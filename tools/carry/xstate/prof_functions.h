/* SPDX-License-Identifier: MIT */
/* Collects the samples of each function. */
#ifndef CARRY_TOOLS_PROF_FUNCTIONS_H
#define CARRY_TOOLS_PROF_FUNCTIONS_H

#include "xstate/prof_samples.h"

struct function {
    const struct samples_object *object;
    char *name; /* NULL without a symbol */
    uint64_t address;
    struct samples_counts counts;
};

/* Functions in descending order of dirty samples, then of samples. */
struct functions {
    struct function *rows;
    size_t count;
};

/* Collects the functions of all hits; returns false if there is no memory. */
bool functions_collect(struct functions *functions, const struct samples *samples);
void functions_free(struct functions *functions);

#endif
