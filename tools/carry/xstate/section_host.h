/* SPDX-License-Identifier: MIT */
/* Sections in one thread on one CPU, as `carry xstate cost` times them. */
#ifndef CARRY_TOOLS_XSTATE_SECTION_HOST_H
#define CARRY_TOOLS_XSTATE_SECTION_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum xstate_section {
    XSTATE_AGAIN,  /* the state of the thread is saved already */
    XSTATE_X87,    /* the same with CARRY_SECTION_X87 */
    XSTATE_WHOLE,  /* saves the state; it is loaded on the way to user mode */
    XSTATE_NESTED, /* interrupts a section, and keeps its registers */
    XSTATE_SECTIONS,
};

/* Makes CPU and thread. False without memory. */
bool xstate_section_open(void);
void xstate_section_close(void);

/*
 * Runs so many sections, one at least, with these components in use: of xstate_reachable(). Returns
 * those that the thread's area holds. All state is initial afterwards.
 */
uint64_t xstate_section_loop(enum xstate_section kind, uint64_t in_use, size_t calls);

#endif
