/* SPDX-License-Identifier: MIT */
/*
 * What the freestanding core asks of the program it lives in. src/hosted/ answers for a process
 * with a C library; a kernel answers with its own functions of these names.
 */
#ifndef CARRY_BASE_HOST_H
#define CARRY_BASE_HOST_H

/*
 * The mask of CPU features to start with, in the syntax of carry_cpu_set_mask(), or NULL for none.
 * Called at most a few times, on first use of the library; the string must stay valid.
 */
const char *carry_host_cpu_mask(void);

#endif
