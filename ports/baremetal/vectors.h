/* SPDX-License-Identifier: MIT */
/* All vector registers of this CPU, x87 where there is one, and control words, filled with numbers
 * and compared. */
#ifndef BAREMETAL_VECTORS_H
#define BAREMETAL_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VECTORS_AREA_BYTES 16384

/* Fills the registers with numbers that follow from `seed`. */
void vectors_fill(uint64_t seed);

/* Do they hold the numbers of `seed`? Changes none. */
bool vectors_hold(uint64_t seed);

/* Are they all as a new thread begins with them? On AArch64. */
bool vectors_are_zero(void);

/* Are the control words as a section begins with them? */
bool vectors_control_is_initial(void);

#endif
