/* SPDX-License-Identifier: MIT */
/* Declares the function that libFuzzer and standalone.c call, and the checks that targets make. */
#ifndef CARRY_FUZZ_H
#define CARRY_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the run like a crash, unless `holds` is true; `what` describes the condition. */
static inline void require(bool holds, const char *what) {
    if (holds)
        return;
    fprintf(stderr, "fuzz: check failed: %s\n", what);
    abort();
}

#define REQUIRE(what) require(what, #what)

#endif
