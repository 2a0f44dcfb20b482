/* SPDX-License-Identifier: MIT */
/* Leaves the process the system calls that it needs to watch interfaces that are open. */
#ifndef CARRY_TOOLS_LIVE_CONFINE_H
#define CARRY_TOOLS_LIVE_CONFINE_H

/*
 * For this thread and those that it starts: no program can be executed, no process started or
 * traced, no connection made. Calls that are not allowed fail with EPERM. Does nothing where the
 * system has no such filter. After privileges_drop(), without which the system refuses the filter.
 */
void confine(void);

#endif
