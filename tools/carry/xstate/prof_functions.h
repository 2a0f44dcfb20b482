/* SPDX-License-Identifier: MIT */
/* Samples of the same function, together. */
#ifndef CARRY_TOOLS_PROF_FUNCTIONS_H
#define CARRY_TOOLS_PROF_FUNCTIONS_H

#include "xstate/prof_samples.h"

struct function {
    const struct samples_object *object;
    char *name; /* NULL if no symbol tells */
    uint64_t address;
    struct samples_counts counts;
};

/* Those of most dirty samples first, then those of most samples. */
struct functions {
    struct function *rows;
    size_t count;
};

/* False without memory. */
bool functions_collect(struct functions *functions, const struct samples *samples);
void functions_free(struct functions *functions);

#endif
