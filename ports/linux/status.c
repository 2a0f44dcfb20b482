/* SPDX-License-Identifier: MIT */
/*
 * Shows a debugfs file. It lists the kernels that exist, the chosen kernels, the sizes from which
 * vectors are used, and the number of refused sections.
 */
#include <linux/cpumask.h>
#include <linux/seq_file.h>

#include "carry_module.h"

static void show_kernel(struct seq_file *out, enum carry_table table, const char *name,
                        const char *missing, unsigned int bits) {
    seq_printf(out, "%-8s %-18s %4u bits  ", carry_table_names[table], name, bits);
    if (missing)
        seq_printf(out, "needs %s\n", missing);
    else
        seq_printf(out, "%s\n", name == carry_choices[table].name ? "chosen" : "available");
}

static void show_sums(struct seq_file *out, enum carry_table table,
                      bool (*describe)(size_t, struct carry_sum_kernel *)) {
    struct carry_sum_kernel kernel;
    size_t i;

    for (i = 0; describe(i, &kernel); i++)
        show_kernel(out, table, kernel.name, kernel.missing, kernel.vector_bits);
}

static void show_copies(struct seq_file *out) {
    struct carry_copy_kernel kernel;
    size_t i;

    for (i = 0; carry_copy_kernel(i, &kernel); i++)
        show_kernel(out, CARRY_COPIES, kernel.name, kernel.missing, kernel.vector_bits);
}

static unsigned long all_refusals(void) {
    unsigned long sum = 0;
    int cpu;

    for_each_possible_cpu(cpu) sum += per_cpu(carry_refusals, cpu);
    return sum;
}

int carry_kernels_show(struct seq_file *out, void *unused) {
    int operation;

    show_sums(out, CARRY_SUMS, carry_sum_kernel);
    show_copies(out);
    show_sums(out, CARRY_CRCS, carry_crc32c_kernel);
    seq_putc(out, '\n');
    for (operation = 0; operation < CARRY_OPERATIONS; operation++) {
        size_t least = carry_thresholds[operation];

        seq_printf(out, "%-8s ", carry_operation_names[operation]);
        if (least == SIZE_MAX)
            seq_puts(out, "without vectors\n");
        else
            seq_printf(out, "with vectors from %zu bytes on\n", least);
    }
    seq_printf(out, "\nsections refused, as the registers were in use: %lu\n", all_refusals());
    return 0;
}
