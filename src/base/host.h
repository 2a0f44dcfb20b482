/* SPDX-License-Identifier: MIT */
/*
 * Functions that the freestanding core calls, and that its host provides: src/hosted/ in a process
 * with a C library, an operating-system kernel its own functions of these names.
 */
#ifndef CARRY_BASE_HOST_H
#define CARRY_BASE_HOST_H

#include <stdint.h>

/*
 * Returns the mask of CPU features to start with, in the syntax of carry_cpu_set_mask(), or NULL
 * for none. Called at most a few times, on first use of the library. The string must stay valid.
 */
const char *carry_host_cpu_mask(void);

/*
 * AArch64: the extensions of the CPU that the system lets its threads use, and that thunks must
 * know of. Called by carry_thunk_prepare().
 */
enum carry_host_extension {
    CARRY_HOST_SVE = 1, /* scalable vectors */
    CARRY_HOST_SME = 2, /* streaming mode, ZA */
    CARRY_HOST_BTI = 4, /* branches by registers land on pads */
};
uint32_t carry_host_extensions(void);

#endif
