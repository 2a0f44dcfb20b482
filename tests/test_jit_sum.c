/* SPDX-License-Identifier: MIT */
/* Sums made at run time: every spec by the checks that the compiled kernels stand. */
#include <carry/jit.h>

#include "harness/rng.h"
#include "harness/tap.h"
#include "oracle.h"

static unsigned char data[2048];

static bool agrees(size_t size) {
    struct carry_jit_sum_spec spec = {.min_size = size, .max_size = size};
    const struct carry_jit *jit;
    if (carry_jit_sum(&spec, &jit) != CARRY_OK)
        return false;
    bool ok = oracle_fold(jit->sum(data, size, 1)) == oracle_sum(data, size, 1);
    carry_jit_release(jit);
    return ok;
}

int main(void) {
    rng_fill(data, sizeof data);
    for (size_t size = 0; size <= sizeof data; size += 8)
        if (!agrees(size))
            tap_ok(false, "size %zu", size);
    tap_ok(true, "sums of words");
    return tap_done();
}
