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

/* Which word of carry_host_hwcap(): AT_HWCAP or AT_HWCAP2 of Linux's auxiliary vector. */
enum carry_host_hwcap { CARRY_HOST_HWCAP, CARRY_HOST_HWCAP2 };

/*
 * Returns the features that the CPU has and that the system lets code use (AArch64 only), as the
 * bits that Linux gives them in that word (arm64, uapi/asm/hwcap.h). An operating-system kernel
 * without an answer returns 0: then the library uses what each CPU has. One that sums in sections
 * (carry/section.h) leaves SVE and SVE2 out: sections keep neither, so kernels that use them would
 * lose their registers to a section within. Called like carry_host_cpu_mask().
 */
uint64_t carry_host_hwcap(enum carry_host_hwcap word);

#endif
