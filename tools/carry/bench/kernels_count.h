/* SPDX-License-Identifier: MIT */
/* Counts instructions and branches of kernels, for `carry bench sum --count`. */
#ifndef CARRY_TOOLS_BENCH_KERNELS_COUNT_H
#define CARRY_TOOLS_BENCH_KERNELS_COUNT_H

#include "bench/kernels.h"

/* Returns whether this program was built so that callgrind can count it. */
bool kernels_may_be_counted(void);

/* Returns whether callgrind counts this process: it then runs the calls, and reports nothing. */
bool kernels_is_counted(void);

/* Runs the calls of a subject in a cell, and makes callgrind write their counts with `name`. */
void kernels_run_counted(const struct cell *cell, carry_sum_fn *sum, const char *name);

/* Runs the calls of all subjects in all cells. */
void kernels_run_all_counted(const struct kernels_bench *bench);

/* Counted calls of a cell; twice as many for pairs. */
#define KERNELS_COUNTED_CALLS 64

/*
 * Fills bench->counts in by the counters of the CPU, or by running `arguments`, which begin with
 * `carry`, under callgrind. Counts that are unavailable are NAN. Returns false without memory.
 */
bool kernels_count(struct kernels_bench *bench, char **arguments);

#endif
