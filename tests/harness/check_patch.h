/* SPDX-License-Identifier: MIT */
/* The checks of harness/placed.h by threads of a process. */
#ifndef CARRY_TESTS_CHECK_PATCH_H
#define CARRY_TESTS_CHECK_PATCH_H

#include "harness/placed.h"

/*
 * Threads stand inside a function that a site has called, while the site is changed from each state
 * in which that can be to each state that there is; then they return.
 */
struct verdict check_parked(size_t rounds);

/* By architecture: is this program run by QEMU? */
bool placed_in_qemu(void);

/* By architecture: writes a jump that reaches any function. */
#define PLACED_JUMP_BYTES 16
void placed_write_jump(uint8_t *code, placed_fn *function);

#endif
