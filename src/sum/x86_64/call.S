/* SPDX-License-Identifier: MIT */
/* clang-format off */
#include "patch/x86_64/jump.h"

/*
 * eax = the sum or the CRC, from the chosen kernel; or rax and rdx, a struct carry_sum_tried of
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
