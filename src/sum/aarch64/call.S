/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "base/asm_aarch64.h"
#include "patch/aarch64/jump.h"

/*
 * w0 = the sum or the CRC, from the chosen kernel; or x0 and x1, a struct carry_sum_tried of
 * sum_internal.h
 *
 * uint32_t carry_sum_call(const void *data, size_t size, uint32_t sum)
 * uint32_t carry_sum_copy(void *dst, const void *src, size_t size, uint32_t sum)
 * struct carry_sum_tried carry_sum_copy_try_call(void *dst, const void *src, size_t size,
 *                                                uint32_t sum)
 * uint32_t carry_crc32c(const void *data, size_t size, uint32_t crc)
 */
CARRY_PATCHED_JUMP carry_sum_call, carry_op_carry_sum
CARRY_PATCHED_JUMP carry_sum_copy, carry_op_carry_sum_copy
CARRY_PATCHED_JUMP carry_sum_copy_try_call, carry_op_carry_sum_copy_try
    .hidden carry_sum_copy_try_call
CARRY_PATCHED_JUMP carry_crc32c, carry_op_carry_crc32c

CARRY_NOTES
