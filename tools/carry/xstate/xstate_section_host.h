/* SPDX-License-Identifier: MIT */
/* Runs sections in one thread on one CPU, for `carry xstate cost`. */
#ifndef CARRY_TOOLS_XSTATE_SECTION_HOST_H
#define CARRY_TOOLS_XSTATE_SECTION_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum xstate_section {
    XSTATE_AGAIN,  /* the state of the thread is already saved */
    XSTATE_X87,    /* like XSTATE_AGAIN, with CARRY_SECTION_X87 */
    XSTATE_WHOLE,  /* saves the state, and loads it on the return to user mode */
    XSTATE_NESTED, /* interrupts a section, and preserves its registers */
    XSTATE_SECTIONS,
};

/* Makes the CPU and the thread; returns false if there is no memory. */
bool xstate_section_open(void);
void xstate_section_close(void);

/*
 * Runs `calls` sections, at least one, while the components of `in_use` are in use; these must be
 * within xstate_reachable(). Returns the components that the thread's area then contains. All state
 * is initial afterwards.
 */
uint64_t xstate_section_loop(enum xstate_section kind, uint64_t in_use, size_t calls);

#endif
