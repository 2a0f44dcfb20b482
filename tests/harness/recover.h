/* SPDX-License-Identifier: MIT */
/*
 * A handler of faults that does exactly what src/base/fault_asm.h demands, and counts recoveries.
 */
#ifndef CARRY_TESTS_RECOVER_H
#define CARRY_TESTS_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Between these two calls, faults of marked instructions recover; other faults go to the previous
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
 * The number of faulting stores that may have written the bytes after the faulting page. Emulators
 * do not execute a store in part.
 */
extern volatile unsigned recover_parts;

/* Returns where a context contains the address of the instruction. Each architecture defines it. */
uintptr_t *recover_pc(void *context);

/*
 * Returns where a context contains the register for the reported value. Each architecture defines
 * it.
 */
uintptr_t *recover_value(void *context);

/* Returns whether the instruction may have stored to the next page although `page` faulted. */
bool recover_stores_in_part(void *context, uintptr_t page);

/* A tag in the bits of addresses that the CPU ignores and that signal handlers do not receive. */
extern const uintptr_t recover_tag;

#endif
