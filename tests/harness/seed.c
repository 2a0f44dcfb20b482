/* SPDX-License-Identifier: MIT */
/* Reads the seed from the environment. */
#include "harness/rng.h"

#include <stdio.h>
#include <stdlib.h>

uint64_t rng_seed(void) {
    const char *text = getenv("CARRY_TEST_SEED");
    if (!text || !*text)
        return RNG_DEFAULT_SEED;
    char *end;
    uint64_t seed = strtoull(text, &end, 0);
    if (*end) {
        printf("Bail out! CARRY_TEST_SEED is not a number: %s\n", text);
        exit(1);
    }
    return seed;
}
