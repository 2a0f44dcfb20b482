/* SPDX-License-Identifier: MIT */
/* What libFuzzer and standalone.c call, and what targets say where something does not hold. */
#ifndef CARRY_FUZZ_H
#define CARRY_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the run, as a crash does, unless `what` is true. */
static inline void require(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "fuzz: not so: %s\n", what);
    abort();
}

#define REQUIRE(what) require(what, #what)

#endif
