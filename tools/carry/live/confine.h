/* SPDX-License-Identifier: MIT */
/* Restricts the process to the system calls that it needs to watch open interfaces. */
#ifndef CARRY_TOOLS_LIVE_CONFINE_H
#define CARRY_TOOLS_LIVE_CONFINE_H

/*
 * Prevents this thread and the threads that it starts from executing programs, starting or tracing
 * processes, and making connections. Calls that are not allowed fail with EPERM, but clone3() with
 * ENOSYS. Does nothing on systems without such a filter, or in builds with the address sanitizer.
 * Call it after privileges_drop(), without which the system refuses the filter.
 */
void confine(void);

#endif
