/* SPDX-License-Identifier: MIT */
/* The checks of harness/placed.h that need threads of a process. */
#ifndef CARRY_TESTS_CHECK_PATCH_H
#define CARRY_TESTS_CHECK_PATCH_H

#include "harness/placed.h"

/*
 * Checks that threads can return from a function that a site has called, in range or out of range,
 * after the site has changed to any state.
 */
struct verdict check_parked(size_t rounds);

/* Returns whether QEMU runs this program. Each architecture defines it. */
bool placed_in_qemu(void);

/* Writes a jump that can reach any function. Each architecture defines it. */
#define PLACED_JUMP_BYTES 16
void placed_write_jump(uint8_t *code, placed_fn *function);

#endif
