/* SPDX-License-Identifier: MIT */
/* Checks only what C can see without assembly: the rounding mode. */
#include "harness/call.h"

#include <fenv.h>

static void judge_rounding(int before, struct verdict *verdict) {
    if (fegetround() != before)
        verdict_fail(verdict, "changes the rounding mode; ");
    fesetround(before);
}

uint32_t call_checked(carry_sum_fn *fn, const void *data, size_t size, uint32_t sum, bool dirty,
                      struct verdict *verdict) {
    (void)dirty;
    const int rounding = fegetround();
    uint32_t result = fn(data, size, sum);
    judge_rounding(rounding, verdict);
    return result;
}

uint32_t call_checked_sum_copy(carry_sum_copy_fn *fn, void *dst, const void *src, size_t size,
                               uint32_t sum, struct verdict *verdict) {
    const int rounding = fegetround();
    uint32_t result = fn(dst, src, size, sum);
    judge_rounding(rounding, verdict);
    return result;
}

uint64_t call_checked_copy(carry_copy_fn *fn, void *dst, const void *src, size_t size,
                           struct verdict *verdict) {
    const int rounding = fegetround();
    fn(dst, src, size);
    judge_rounding(rounding, verdict);
    return 0;
}

const char *call_limits(void) {
    return "no register check for this architecture";
}
