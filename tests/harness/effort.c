/* SPDX-License-Identifier: MIT */
#include "harness/effort.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/rng.h"
#include "harness/tap.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static const struct effort medium = {"medium", 4097, 1, 20000, 80 * MIB + 5};
static const struct effort thorough = {"long", 4097, 1, 500000, 4 * GIB + 5};
const struct effort effort_short = {"short", 300, 7, 1000, 16 * MIB + 3};

static const struct effort *const levels[] = {&effort_short, &medium, &thorough};

const struct effort *effort_chosen(void) {
    const char *name = getenv("CARRY_TEST_LEVEL");
    if (!name || !*name)
        return &medium;
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++)
        if (!strcmp(name, levels[i]->name))
            return levels[i];
    printf("Bail out! CARRY_TEST_LEVEL is none of short, medium, long: %s\n", name);
    exit(1);
}

void effort_note(const struct effort *effort) {
    tap_note("CARRY_TEST_LEVEL=%s CARRY_TEST_SEED=%" PRIu64, effort->name, rng_seed());
}

size_t effort_next_size(const struct effort *effort, size_t size) {
    return size < effort->dense_size ? size + 1 : size + 1 + rng_below(size / 8 + 1);
}
