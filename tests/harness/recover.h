/* SPDX-License-Identifier: MIT */
/* A handler of faults as src/base/fault.h asks for one, and no more than that: it counts. */
#ifndef CARRY_TESTS_RECOVER_H
#define CARRY_TESTS_RECOVER_H

#include <stdbool.h>

/* Between both, faults of marked instructions recover; others go to who handled them before. */
void recover_begin(void);
void recover_end(void);

/* How many have recovered so far. */
extern volatile unsigned recover_count;

/* Whether the CPU says which page it was. */
extern volatile bool recover_tells_page;

/* Whether the page can be reached from then on. */
extern volatile bool recover_opens_page;

#endif
