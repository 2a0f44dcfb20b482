/* SPDX-License-Identifier: MIT */
/* A handler of faults as src/base/fault.h asks for one, and no more than that: it counts. */
#ifndef CARRY_TESTS_RECOVER_H
#define CARRY_TESTS_RECOVER_H

#include <stdbool.h>
#include <stdint.h>

/* Between both, faults of marked instructions recover; others go to who handled them before. */
void recover_begin(void);
void recover_end(void);

/* How many have recovered so far. */
extern volatile unsigned recover_count;

/* Whether the CPU says which page it was. */
extern volatile bool recover_tells_page;

/* Whether the page can be reached from then on. */
extern volatile bool recover_opens_page;

/* How many faults were of stores that the CPU may have done in part, behind the page that faulted:
 * emulators do not. */
extern volatile unsigned recover_parts;

/* By architecture: where a context keeps the address of the instruction, and what it is to learn.
 */
uintptr_t *recover_pc(void *context);
uintptr_t *recover_value(void *context);

/* May the instruction have stored to the next page, though this one faulted? */
bool recover_stores_in_part(void *context, uintptr_t page);

/* A tag, in the bits of addresses that the CPU ignores and that signal handlers do not receive. */
extern const uintptr_t recover_tag;

#endif
