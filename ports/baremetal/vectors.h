/* SPDX-License-Identifier: MIT */
/* All vector registers of this CPU, x87 and control words, filled with numbers and compared. */
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

/* Does this machine tell what is in use? Emulators that do not say that everything is. */
bool vectors_track_use(void);

#endif
