/* SPDX-License-Identifier: MIT */
/*
 * Functions that the freestanding core calls, and that its host provides: src/hosted/ in a process
 * with a C library, an operating-system kernel its own functions of these names.
 */
#ifndef CARRY_BASE_HOST_H
#define CARRY_BASE_HOST_H

/*
 * Returns the mask of CPU features to start with, in the syntax of carry_cpu_set_mask(), or NULL
 * for none. Called at most a few times, on first use of the library. The string must stay valid.
 */
const char *carry_host_cpu_mask(void);

#endif
