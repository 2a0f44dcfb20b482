/* SPDX-License-Identifier: MIT */
/*
 * Fills all vector registers and control words of this CPU, and on x86-64 its x87 registers, with
 * numbers, and compares them.
 */
#ifndef BAREMETAL_VECTORS_H
#define BAREMETAL_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VECTORS_AREA_BYTES 16384

/* Fills the registers with numbers derived from `seed`. */
void vectors_fill(uint64_t seed);

/* Returns whether the registers hold the numbers of `seed`. Changes no register. */
bool vectors_hold(uint64_t seed);

/* Returns whether all registers have the values of a new thread. AArch64 only. */
bool vectors_are_zero(void);

/* Returns whether the control words have the values at the beginning of a section. */
bool vectors_control_is_initial(void);

#endif
