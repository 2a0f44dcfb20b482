/* SPDX-License-Identifier: MIT */
/*
 * uint32_t carry_sum_adc(const void *data, size_t size, uint32_t sum);
 *
 * Equation, registers and clobbers: scalar.h.
 */
#include "base/asm.h"
#include "sum/x86_64/scalar.h"

CARRY_FUNCTION carry_sum_adc
    SUM_SCALAR
CARRY_END carry_sum_adc

CARRY_NOTES
