/* SPDX-License-Identifier: MIT */
/* What tests/proof/bochs.py puts into the kernel, and tests/proof/meanings_x86_64.S takes. */
#ifndef BAREMETAL_TRIALS_H
#define BAREMETAL_TRIALS_H

#include <stdint.h>

#define TRIAL_ARENAS 3
#define TRIAL_BLOCK  (256 + 32 * 64) /* registers: general, flags, masks, vectors */

/* All of one run; trials follow, one behind the other. */
struct trials {
    uint32_t count;
    uint32_t room; /* bytes of an arena */
    uint64_t code; /* the address that all code is run at */
    uint64_t arenas[TRIAL_ARENAS];
};

/* Behind it: the code, then of each arena the bytes that it repeats. */
struct trial {
    uint32_t code_bytes;
    uint32_t pattern_bytes[TRIAL_ARENAS];
    uint8_t block[TRIAL_BLOCK];
};

#endif
