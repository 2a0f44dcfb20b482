/* SPDX-License-Identifier: MIT */
/* Instructions and branches of kernels, for `carry bench sum --count`. */
#ifndef CARRY_TOOLS_BENCH_KERNELS_COUNT_H
#define CARRY_TOOLS_BENCH_KERNELS_COUNT_H

#include "bench/kernels.h"

/* Can callgrind count a process of this program? */
bool kernels_may_be_counted(void);

/* Is this process one that it counts? Then it runs the calls, and reports nothing. */
bool kernels_is_counted(void);

/* Runs the calls of a subject in a cell, and has callgrind write their counts under this name. */
void kernels_run_counted(const struct cell *cell, carry_sum_fn *sum, const char *name);

/* Runs those of all subjects in all cells. */
void kernels_run_all_counted(const struct kernels_bench *bench);

/* Calls of a cell that are counted; of pairs, twice as many. */
#define KERNELS_COUNTED_CALLS 64

/*
 * Fills bench->counts in: by the counters of the CPU, or by this command with these arguments, from
 * `carry` on, under callgrind. Returns false without memory. What cannot be counted is NAN.
 */
bool kernels_count(struct kernels_bench *bench, char **arguments);

#endif
