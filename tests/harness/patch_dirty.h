/* SPDX-License-Identifier: MIT */
/* An operation that leaves garbage wherever a function may. */
#ifndef CARRY_TESTS_PATCH_DIRTY_H
#define CARRY_TESTS_PATCH_DIRTY_H

#include <carry/patch.h>

/* Returns rsp % 16 at its entry. If `vectors` is 1, overwrites the registers of AVX-512 too. */
uint64_t patch_dirty(uint64_t vectors);

CARRY_OP(uint64_t, dirty, uint64_t);

/* Calls the operation with values in registers of AVX-512. */
bool patch_keeps_avx512(double s);

#endif
