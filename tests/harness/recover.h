/* SPDX-License-Identifier: MIT */
/* A handler of faults that does exactly what src/base/fault_asm.h demands, and counts. */
#ifndef CARRY_TESTS_RECOVER_H
#define CARRY_TESTS_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Make faults of marked instructions recover between these two calls; others go to the previous
 * handler.
 */
void recover_begin(void);
void recover_end(void);

/* The number of recoveries so far. */
extern volatile unsigned recover_count;

/* Whether the handler reports the faulting page. */
extern volatile bool recover_tells_page;

/* Whether the handler makes the page accessible. */
extern volatile bool recover_opens_page;

/*
 * The number of faults of stores that a CPU may have done in part, after the faulting page.
 * Emulators do not do this.
 */
extern volatile unsigned recover_parts;

/*
 * Return where a context contains the address of the instruction, and the register for the
 * reported value. Each architecture defines them.
 */
uintptr_t *recover_pc(void *context);
uintptr_t *recover_value(void *context);

/* Returns whether the instruction may have stored to the next page although this one faulted. */
bool recover_stores_in_part(void *context, uintptr_t page);

/* A tag in the bits of addresses that the CPU ignores and that signal handlers do not receive. */
extern const uintptr_t recover_tag;

#endif
