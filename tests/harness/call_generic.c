/* SPDX-License-Identifier: MIT */
/* Without assembly only what C can see is checked: the rounding mode. */
#include "harness/call.h"

#include <fenv.h>

uint32_t call_checked(carry_sum_fn *fn, const void *data, size_t size, uint32_t sum, bool dirty,
                      struct verdict *verdict) {
    (void)dirty;
    const int rounding = fegetround();
    uint32_t result = fn(data, size, sum);
    if (fegetround() != rounding)
        verdict_fail(verdict, "changes the rounding mode; ");
    fesetround(rounding);
    return result;
}

const char *call_limits(void) {
    return "no register check for this architecture";
}
