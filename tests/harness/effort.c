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

static const struct effort medium = {
    .name = "medium",
    .dense_size = 4097,
    .stride = 1,
    .rounds = 20000,
    .few_rounds = 2000,
    .largest_run = 80 * MIB + 5,
};
static const struct effort thorough = {
    .name = "long",
    .dense_size = 4097,
    .stride = 1,
    .rounds = 500000,
    .few_rounds = 500000,
    .all = true,
    .largest_run = 4 * GIB + 5,
};
const struct effort effort_short = {
    .name = "short",
    .dense_size = 300,
    .stride = 7,
    .rounds = 1000,
    .few_rounds = 1000,
    .largest_run = 16 * MIB + 3,
};

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

size_t effort_next(const struct effort *effort, size_t at, size_t step) {
    return at + 1 + (effort->all ? 0 : rng_below(2 * step - 1));
}

bool effort_takes_pair(const struct effort *effort, size_t size, size_t from, size_t to) {
    static uint64_t seed;
    if (effort->all || effort->stride > 1)
        return true;
    seed = seed ? seed : rng_seed() | 1;
    const uint64_t random = (seed + size) * UINT64_C(0x9e3779b97f4a7c15);
    return from == random >> 58 || to == (random >> 52 & 63);
}

size_t effort_next_size(const struct effort *effort, size_t size) {
    return size < effort->dense_size ? size + 1 : size + 1 + rng_below(size / 8 + 1);
}
