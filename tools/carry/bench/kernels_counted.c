/* SPDX-License-Identifier: MIT */
/* Makes the calls of --count in a process that callgrind counts. */
#include <valgrind/callgrind.h>

#include "bench/kernels_count.h"

bool kernels_may_be_counted(void) {
    return true;
}

bool kernels_is_counted(void) {
    return RUNNING_ON_VALGRIND;
}

void kernels_run_counted(const struct cell *cell, carry_sum_fn *sum, const char *name) {
    CALLGRIND_ZERO_STATS;
    CALLGRIND_TOGGLE_COLLECT;
    kernels_run_cell(cell, sum, 0, KERNELS_COUNTED_CALLS);
    CALLGRIND_TOGGLE_COLLECT;
    CALLGRIND_DUMP_STATS_AT(name);
}
