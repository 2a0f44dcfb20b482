/* SPDX-License-Identifier: MIT */
/* The format of the trials that tests/unit/proof/bochs.py writes and trials.c runs. */
#ifndef BAREMETAL_TRIALS_H
#define BAREMETAL_TRIALS_H

#include <stdint.h>

#define TRIAL_ARENAS 3
#define TRIAL_BLOCK  (256 + 32 * 64) /* registers: general, flags, masks, vectors */

/* The head of a run, followed by its trials. */
struct trials {
    uint32_t count;
    uint32_t room; /* size of an arena in bytes */
    uint64_t code; /* the address at which all code is executed */
    uint64_t arenas[TRIAL_ARENAS];
};

/* A trial. The code follows it, and then the bytes that each arena repeats. */
struct trial {
    uint32_t code_bytes;
    uint32_t pattern_bytes[TRIAL_ARENAS];
    uint8_t block[TRIAL_BLOCK];
};

#endif
