/* SPDX-License-Identifier: MIT */
/* Counts instructions and branches of kernels, for --count of `carry bench sum` and `carry bench
   crc`. */
#ifndef CARRY_TOOLS_BENCH_KERNELS_COUNT_H
#define CARRY_TOOLS_BENCH_KERNELS_COUNT_H

#include "bench/kernels.h"

/* Returns whether this program was built so that callgrind can count it. */
bool kernels_may_be_counted(void);

/* Returns whether this process runs under valgrind: it then only makes the calls that callgrind
   counts, and reports nothing. */
bool kernels_is_counted(void);

/* Runs the calls of a subject in a cell, and makes callgrind write their counts with `name`. */
void kernels_run_counted(const struct cell *cell, carry_sum_fn *sum, const char *name);

/* Runs the calls of all subjects in all cells that are counted. */
void kernels_run_all_counted(const struct kernels_bench *bench);

/* Counted calls of a cell; twice as many for pairs. */
#define KERNELS_COUNTED_CALLS 64

/*
 * Fills in bench->counts by the counters of the CPU, or by running `arguments`, which begin with
 * `carry`, under callgrind. Counts that are unavailable are NAN. Returns false if there is no
 * memory.
 */
bool kernels_count(struct kernels_bench *bench, char **arguments);

#endif
