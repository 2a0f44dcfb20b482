/* SPDX-License-Identifier: MIT */
/* The internal interface between the files of the module. */
#ifndef CARRY_MODULE_H
#define CARRY_MODULE_H

#include <linux/percpu.h>
#include <linux/types.h>

#include "core.h"
#include "machine.h"

struct seq_file;

/* --- section.c: vector kernels, in sections of Linux --- */

/* The operations. Each has a threshold. */
enum carry_operation { CARRY_SUM, CARRY_SUM_COPY, CARRY_COPY, CARRY_CRC32C, CARRY_OPERATIONS };

/*
 * The least size in bytes for which the vector kernel is called. For smaller sizes, and where no
 * section can begin, the scalar kernel is called, or memcpy() for plain copies.
 */
extern size_t carry_thresholds[CARRY_OPERATIONS];

/*
 * The largest number of bytes that one section processes: preemption is off in a section, and Linux
 * uses the same limit. The number is even, so that the sums of the parts add up.
 */
#define CARRY_SECTION_BYTES ((size_t)4096)

/* The tables of kernels, and the kernel chosen from each. */
enum carry_table { CARRY_SUMS, CARRY_COPIES, CARRY_CRCS, CARRY_TABLES };

struct carry_choice {
    const char *name;
    bool is_vector;
};

extern struct carry_choice carry_choices[CARRY_TABLES];
extern const char *const carry_table_names[CARRY_TABLES];

/* Counts, for each CPU, the calls that ran without vectors because no section could begin. */
DECLARE_PER_CPU(unsigned long, carry_refusals);

/*
 * Chooses the kernels by name, or the best one for "". Returns 0, or -EINVAL after a message in the
 * log. No other thread may use the module during the call: for a moment, the core calls the chosen
 * vector kernels outside sections.
 */
int carry_choose(const char *sum, const char *copy, const char *crc32c);

/*
 * Returns whether a section may begin here: in a thread or a soft interrupt; on x86-64 also in a
 * hard interrupt, unless it arrived in a section.
 */
bool carry_vectors_usable(void);

/* Copy like carry_copy_try_call() and carry_sum_copy_try_call(). If `user`, one of the sides is
 * memory of the process. */
size_t carry_copy_try_any(void *dst, const void *src, size_t size, bool user);
struct carry_sum_tried carry_sum_copy_try_any(void *dst, const void *src, size_t size, uint32_t sum,
                                              bool user);

/* --- threshold.c --- */

extern const char *const carry_operation_names[CARRY_OPERATIONS];

/* Returns the table that holds the kernels of `operation`. */
enum carry_table carry_operation_table(enum carry_operation operation);

/* Runs `operation` once and discards its result. */
void carry_operate(enum carry_operation operation, void *dst, const void *src, size_t size);

/*
 * Set the thresholds of all operations that have vector kernels, to `bytes` or to measured sizes.
 */
void carry_set_thresholds(size_t bytes);
int carry_measure_thresholds(void);

/* --- selftest.c, bench.c, status.c: files in debugfs --- */

int carry_bench_show(struct seq_file *out, void *unused);
int carry_kernels_show(struct seq_file *out, void *unused);
int carry_selftest_show(struct seq_file *out, void *unused);

#endif
