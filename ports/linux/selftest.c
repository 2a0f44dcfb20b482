/* SPDX-License-Identifier: MIT */
/* Runs the self-test whenever its debugfs file is read, and shows the results in KTAP. */
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/stdarg.h>
#include <linux/string.h>

#include "selftest.h"

#define FAILURES_SHOWN 8

void carry_test_fail(struct carry_test *test, const char *format, ...) {
    va_list arguments;

    if (test->failures++ >= FAILURES_SHOWN)
        return;
    seq_printf(test->out, "# %s: ", test->name);
    va_start(arguments, format);
    seq_vprintf(test->out, format, arguments);
    va_end(arguments);
    seq_putc(test->out, '\n');
}

void carry_test_fill(void *data, size_t size) {
    struct rnd_state state;

    prandom_seed_state(&state, 1071);
    prandom_bytes_state(&state, data, size);
}

/* --- The kernels that this CPU can run --- */

#define CARRY_SUM_KERNEL(arch, name, ...)                                                          \
    CARRY_ROWS_##arch({#name, carry_sum_##name, carry_sum_copy_##name, carry_sum_copy_try_##name}, )
static const struct carry_sum_forms sums[] = {
#include "sum/kernels.def"
};

#define CARRY_COPY_KERNEL(arch, name, ...)                                                         \
    CARRY_ROWS_##arch({#name, carry_copy_##name, carry_copy_try_##name}, )
static const struct carry_copy_forms copies[] = {
#include "copy/kernels.def"
};

const struct carry_sum_forms *carry_test_next_sum(size_t *index) {
    struct carry_sum_kernel kernel;

    while (carry_sum_kernel(*index, &kernel) && kernel.missing)
        ++*index;
    return *index < ARRAY_SIZE(sums) ? &sums[(*index)++] : NULL;
}

const struct carry_copy_forms *carry_test_next_copy(size_t *index) {
    struct carry_copy_kernel kernel;

    while (carry_copy_kernel(*index, &kernel) && kernel.missing)
        ++*index;
    return *index < ARRAY_SIZE(copies) ? &copies[(*index)++] : NULL;
}

/* --- The tests --- */

static const struct {
    const char *name;
    void (*run)(struct carry_test *test);
} tests[] = {
    {"sum", carry_test_sum},
    {"sum_copy", carry_test_sum_copy},
    {"copy", carry_test_copy},
    {"crc32c", carry_test_crc32c},
    {"packet", carry_test_packet},
    {"fault", carry_test_fault},
    {"fault_sum", carry_test_fault_sum},
    {"nofault", carry_test_nofault},
    {"user", carry_test_user},
    {"contexts", carry_test_contexts},
    {"nested", carry_test_nested},
    {"threshold", carry_test_threshold},
    {"interrupts", carry_test_interrupts},
};

static void run_test(struct seq_file *out, size_t index) {
    struct carry_test test = {.out = out, .name = tests[index].name};

    tests[index].run(&test);
    seq_printf(out, "%sok %zu %s\n", test.failures ? "not " : "", index + 1, test.name);
}

/* Runs the tests, with vectors at all sizes, even where scalar code is faster. */
int carry_selftest_show(struct seq_file *out, void *unused) {
    static DEFINE_MUTEX(one_at_a_time);
    size_t thresholds[CARRY_OPERATIONS];
    size_t i;

    mutex_lock(&one_at_a_time);
    memcpy(thresholds, carry_thresholds, sizeof thresholds);
    carry_set_thresholds(0);

    seq_printf(out, "KTAP version 1\n1..%zu\n", ARRAY_SIZE(tests));
    for (i = 0; i < ARRAY_SIZE(tests); i++) {
        run_test(out, i);
        cond_resched();
    }

    memcpy(carry_thresholds, thresholds, sizeof thresholds);
    mutex_unlock(&one_at_a_time);
    return 0;
}
