/* SPDX-License-Identifier: MIT */
/* Inside of the module: what its files know of each other. */
#ifndef CARRY_MODULE_H
#define CARRY_MODULE_H

#include <linux/percpu.h>
#include <linux/types.h>

#include "core.h"
#include "machine.h"

struct seq_file;

/* --- section.c: kernels of vectors, in sections of Linux --- */

/* What has a threshold of its own. */
enum carry_operation { CARRY_SUM, CARRY_SUM_COPY, CARRY_COPY, CARRY_CRC32C, CARRY_OPERATIONS };

/*
 * From so many bytes on the vector kernel is called, if the registers can be had. Below, and where
 * they are in use, the scalar one is.
 */
extern size_t carry_thresholds[CARRY_OPERATIONS];

/*
 * Preemption is off in a section, so none is for more bytes than that, as elsewhere in Linux. Even:
 * sums of the parts add up.
 */
#define CARRY_SECTION_BYTES ((size_t)4096)

/* The tables of kernels, and what was chosen of each. */
enum carry_table { CARRY_SUMS, CARRY_COPIES, CARRY_CRCS, CARRY_TABLES };

struct carry_choice {
    const char *name;
    bool is_vector;
};

extern struct carry_choice carry_choices[CARRY_TABLES];
extern const char *const carry_table_names[CARRY_TABLES];

/* How often a CPU went without vectors, because they were in use. */
DECLARE_PER_CPU(unsigned long, carry_refusals);

/*
 * Chooses the kernels, each by its name, or the best one for "". Returns 0, or -EINVAL and says why
 * in the log. Only while nobody uses the module: for a moment the core calls what it has chosen
 * without a section.
 */
int carry_choose(const char *sum, const char *copy, const char *crc32c);

/* May a section begin here? In hard interrupts, too, unless one was interrupted. */
bool carry_vectors_usable(void);

/* carry_copy_try_call() and carry_sum_copy_try_call(), also for memory of the process. */
size_t carry_copy_try_any(void *dst, const void *src, size_t size, bool user);
struct carry_sum_tried carry_sum_copy_try_any(void *dst, const void *src, size_t size, uint32_t sum,
                                              bool user);

/* --- threshold.c --- */

extern const char *const carry_operation_names[CARRY_OPERATIONS];

/* Which table an operation's kernels are of. */
enum carry_table carry_operation_table(enum carry_operation operation);

/* Does an operation once; what it gives is nobody's business. */
void carry_operate(enum carry_operation operation, void *dst, const void *src, size_t size);

/* Sets all thresholds, of operations that have vectors: to so many bytes; or measured ones. */
void carry_set_thresholds(size_t bytes);
int carry_measure_thresholds(void);

/* --- selftest.c, bench.c, status.c: files in debugfs --- */

int carry_bench_show(struct seq_file *out, void *unused);
int carry_kernels_show(struct seq_file *out, void *unused);
int carry_selftest_show(struct seq_file *out, void *unused);

#endif
