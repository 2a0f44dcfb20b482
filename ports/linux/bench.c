/* SPDX-License-Identifier: MIT */
/* Shows a debugfs file that compares the module with Linux's own functions, measured at each read.
 */
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include <net/checksum.h>

#include "carry_linux.h"
#include "carry_module.h"

#define ROUNDS    7
#define ROUND_NS  20000
#define SIZE_LAST 16384

/* --- Measured functions --- */

typedef void run_fn(void *dst, const void *src, size_t size);

static void sum_by_linux(void *dst, const void *src, size_t size) {
    csum_partial(src, size, 0);
}

static void sum_without_vectors(void *dst, const void *src, size_t size) {
    carry_sum_scalar(src, size, 0);
}

static void sum_by_module(void *dst, const void *src, size_t size) {
    carry_csum_partial(src, size, 0);
}

static void sum_copy_by_linux(void *dst, const void *src, size_t size) {
    csum_partial_copy_nocheck(src, dst, size);
}

static void copy_then_sum_by_linux(void *dst, const void *src, size_t size) {
    memcpy(dst, src, size);
    csum_partial(dst, size, 0);
}

static void sum_copy_by_module(void *dst, const void *src, size_t size) {
    carry_csum_partial_copy_nocheck(src, dst, size);
}

static void copy_by_linux(void *dst, const void *src, size_t size) {
    memcpy(dst, src, size);
}

static void copy_by_module(void *dst, const void *src, size_t size) {
    carry_copy(dst, src, size);
}

static const struct {
    const char *name;
    run_fn *run;
} columns[] = {
    {"csum_partial", sum_by_linux},
    {"scalar_sum", sum_without_vectors},
    {"carry_sum", sum_by_module},
    {"csum_copy", sum_copy_by_linux},
    {"memcpy+csum", copy_then_sum_by_linux},
    {"carry_sum_copy", sum_copy_by_module},
    {"memcpy", copy_by_linux},
    {"carry_copy", copy_by_module},
};

static const size_t sizes[] = {20, 40, 64, 128, 256, 512, 1024, 1500, 2048, 4096, 9000, 16384};

/* --- Measurement --- */

/* The cost of one call. */
struct cost {
    u64 tenths_of_ns;
    u64 cycles; /* ticks of the time-stamp counter, or of the timer */
};

static struct cost of_round(run_fn *run, void *dst, const void *src, size_t size,
                            unsigned int calls) {
    u64 ns, cycles;
    unsigned int call;

    preempt_disable();
    ns = ktime_get_ns();
    cycles = machine_cycles();
    for (call = 0; call < calls; call++)
        run(dst, src, size);
    cycles = machine_cycles() - cycles;
    ns = ktime_get_ns() - ns;
    preempt_enable();
    return (struct cost){10 * ns / calls, cycles / calls};
}

/*
 * Returns the least cost of several rounds. Each round makes enough calls that the cost of reading
 * the clock is negligible.
 */
static struct cost measure_call(run_fn *run, void *dst, const void *src, size_t size) {
    struct cost best = of_round(run, dst, src, size, 16);
    unsigned int calls = clamp_t(u64, 10 * ROUND_NS / (best.tenths_of_ns + 1), 16, 4096);
    int round;

    for (round = 0; round < ROUNDS; round++) {
        struct cost cost = of_round(run, dst, src, size, calls);

        best.tenths_of_ns = min(best.tenths_of_ns, cost.tenths_of_ns);
        best.cycles = min(best.cycles, cost.cycles);
    }
    cond_resched();
    return best;
}

/* The costs of all columns for one size. */
struct row {
    struct cost costs[ARRAY_SIZE(columns)];
};

static void show_heads(struct seq_file *out, const char *unit) {
    size_t column;

    seq_printf(out, "\n%-8s", unit);
    for (column = 0; column < ARRAY_SIZE(columns); column++)
        seq_printf(out, "%15s", columns[column].name);
    seq_putc(out, '\n');
}

static void show_rows(struct seq_file *out, const struct row *rows) {
    size_t size, column;

    show_heads(out, "ns");
    for (size = 0; size < ARRAY_SIZE(sizes); size++) {
        seq_printf(out, "%-8zu", sizes[size]);
        for (column = 0; column < ARRAY_SIZE(columns); column++)
            seq_printf(out, "%13llu.%llu", rows[size].costs[column].tenths_of_ns / 10,
                       rows[size].costs[column].tenths_of_ns % 10);
        seq_putc(out, '\n');
    }
    show_heads(out, "cycles");
    for (size = 0; size < ARRAY_SIZE(sizes); size++) {
        seq_printf(out, "%-8zu", sizes[size]);
        for (column = 0; column < ARRAY_SIZE(columns); column++)
            seq_printf(out, "%15llu", rows[size].costs[column].cycles);
        seq_putc(out, '\n');
    }
}

int carry_bench_show(struct seq_file *out, void *unused) {
    struct row *rows = kcalloc(ARRAY_SIZE(sizes), sizeof *rows, GFP_KERNEL);
    u8 *buffer = kvzalloc(2 * SIZE_LAST, GFP_KERNEL);
    size_t size, column;

    if (!rows || !buffer) {
        kvfree(buffer);
        kfree(rows);
        return -ENOMEM;
    }
    for (size = 0; size < ARRAY_SIZE(sizes); size++)
        for (column = 0; column < ARRAY_SIZE(columns); column++)
            rows[size].costs[column] =
                measure_call(columns[column].run, buffer, buffer + SIZE_LAST, sizes[size]);

    seq_puts(out, "Cost of one call, by size in bytes; memory is cached.");
    if (machine_is_virtual())
        seq_puts(out, " This machine is virtual: where its\nCPU is emulated, these are the "
                      "costs of the emulator, and say nothing of a CPU.");
    seq_putc(out, '\n');
    show_rows(out, rows);
    kvfree(buffer);
    kfree(rows);
    return 0;
}
