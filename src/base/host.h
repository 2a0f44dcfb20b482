/* SPDX-License-Identifier: MIT */
/*
 * Functions that the freestanding core calls, and that its host provides. In a process with a C
 * library, src/hosted/ provides them; an operating-system kernel defines its own functions of these
 * names.
 */
#ifndef CARRY_BASE_HOST_H
#define CARRY_BASE_HOST_H

#include <stdint.h>

/*
 * Returns the mask of CPU features to start with, in the syntax of carry_cpu_set_mask(), or NULL
 * for none. Called at most a few times, on first use of the library. The string must stay valid.
 */
const char *carry_host_cpu_mask(void);

/* The word that carry_host_hwcap() returns: AT_HWCAP or AT_HWCAP2 of Linux's auxiliary vector. */
enum carry_host_hwcap { CARRY_HOST_HWCAP, CARRY_HOST_HWCAP2 };

/*
 * Returns the features that the CPU has and that the system lets code use (AArch64 only), as their
 * bits in Linux's `word` (arm64, uapi/asm/hwcap.h). An operating-system kernel that cannot
 * determine the features returns 0: then the library uses only what every CPU has. An
 * operating-system kernel that sums in sections (carry/section.h) omits SVE and SVE2: sections save
 * neither, so a nested section would overwrite the registers of a sum that uses them. Called at
 * most a few times, on first use of the library.
 */
uint64_t carry_host_hwcap(enum carry_host_hwcap word);

#endif
