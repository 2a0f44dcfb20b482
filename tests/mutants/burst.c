/* SPDX-License-Identifier: MIT */
/* sum.c with an extra loop in carry_sum_burst(), which only a count of instructions reveals. */
#define carry_sum_burst carry_sum_burst_right
#include "sum/sum.c"
#undef carry_sum_burst

CARRY_API void carry_sum_burst(const struct carry_slice *slices, size_t count, uint32_t *sums);

void carry_sum_burst(const struct carry_slice *slices, size_t count, uint32_t *sums) {
    for (size_t i = 0; i < 8 * count; i++)
        __asm__ volatile("");
    carry_sum_burst_right(slices, count, sums);
}
