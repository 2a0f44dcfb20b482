/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm_aarch64.h"
#include "patch/aarch64/jump.h"

/*
 * Copy with the chosen kernel: with its plain form, its form for ranges that overlap, and its form
 * that survives faults
 *
 * void carry_copy(void *dst, const void *src, size_t size)
 * void carry_copy_move(void *dst, const void *src, size_t size)
 * size_t carry_copy_try_call(void *dst, const void *src, size_t size)
 */
CARRY_PATCHED_JUMP carry_copy, carry_op_carry_copy
CARRY_PATCHED_JUMP carry_copy_move, carry_op_carry_copy_move
CARRY_PATCHED_JUMP carry_copy_try_call, carry_op_carry_copy_try
    .hidden carry_copy_try_call

CARRY_NOTES
