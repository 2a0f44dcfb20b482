/* SPDX-License-Identifier: MIT */
/* Tests all kernels that this CPU can run: directly, and, except kernels that sum and copy, through
   the functions that call the chosen kernel. */
#include <string.h>

#include "harness/check_copies.h"
#include "harness/check_sum.h"
#include "harness/check_sum_copy.h"
#include "selftest/selftest.h"

/* --- Sums --- */

static const struct {
    const char *name;
    sum_check *check;
} sum_checks[] = {
    {"values", check_values}, {"carries", check_carries}, {"large sizes", check_sampled},
    {"edges", check_edges},   {"registers", check_abi},
};

typedef __typeof__(carry_sum_kernel) kernel_row;
typedef __typeof__(carry_sum_select) kernel_select;

static bool find_kernel_row(kernel_row *kernels, const char *name,
                            struct carry_sum_kernel *kernel) {
    for (size_t i = 0; kernels(i, kernel); i++)
        if (name ? strcmp(name, kernel->name) == 0 : kernel->chosen)
            return true;
    return false;
}

/* Judges the result of choosing a kernel; returns whether it is chosen. */
static bool is_chosen(struct selftest_row *row, int error) {
    struct verdict verdict = {.ok = true};
    if (error)
        verdict_fail(&verdict, "%s", carry_error_name(error));
    selftest_judge(row, "chosen", &verdict);
    return verdict.ok;
}

/* Tests the function that calls the chosen kernel, with the kernel of this row chosen. */
static void run_chosen(struct selftest_row *row, const struct oracle_kind *oracle,
                       kernel_row *kernels, kernel_select *select, carry_sum_fn *function) {
    struct carry_sum_kernel before = {.name = NULL};
    find_kernel_row(kernels, NULL, &before);
    if (is_chosen(row, select(row->variant))) {
        const struct verdict verdict = check_edges(oracle, function, &selftest_effort);
        selftest_judge(row, "chosen", &verdict);
    }
    select(before.name);
}

static void run_sums(struct selftest_row *row, const struct oracle_kind *oracle,
                     kernel_row *kernels) {
    struct carry_sum_kernel kernel;
    if (!find_kernel_row(kernels, row->variant, &kernel))
        return;
    for (size_t i = 0; i < sizeof sum_checks / sizeof *sum_checks; i++) {
        const struct verdict verdict = sum_checks[i].check(oracle, kernel.sum, &selftest_effort);
        selftest_judge(row, sum_checks[i].name, &verdict);
    }
}

static void run_sum(struct selftest_row *row) {
    const struct library *library = row->library;
    run_sums(row, &oracle_internet, library->carry_sum_kernel);
    run_chosen(row, &oracle_internet, library->carry_sum_kernel, library->carry_sum_select,
               library->carry_sum_call);
}

static void run_crc32c(struct selftest_row *row) {
    const struct library *library = row->library;
    run_sums(row, &oracle_crc32c, library->carry_crc32c_kernel);
    run_chosen(row, &oracle_crc32c, library->carry_crc32c_kernel, library->carry_crc32c_select,
               library->carry_crc32c);
}

/* --- Sums that copy --- */

static const struct {
    const char *name;
    sum_copy_check *check;
} sum_copy_checks[] = {
    {"alignments", check_sum_copy_alignments}, {"patterns", check_sum_copy_patterns},
    {"edges", check_sum_copy_edges},           {"chunks", check_sum_copy_chunks},
    {"registers", check_sum_copy_abi},
};

static void run_sum_copy(struct selftest_row *row) {
    struct carry_sum_kernel kernel;
    if (!find_kernel_row(row->library->carry_sum_kernel, row->variant, &kernel))
        return;
    for (size_t i = 0; i < sizeof sum_copy_checks / sizeof *sum_copy_checks; i++) {
        const struct verdict verdict = sum_copy_checks[i].check(kernel.copy, &selftest_effort);
        selftest_judge(row, sum_copy_checks[i].name, &verdict);
    }
}

/* --- Copies --- */

struct copies_row {
    const char *name;
    copies_check *check;
};

static const struct copies_row copy_checks[] = {
    {"values", check_copies_values},
    {"large sizes", check_copies_sampled},
    {"edges", check_copies_edges},
    {"registers", check_copies_abi},
    {NULL, NULL},
};

static const struct copies_row move_checks[] = {
    {"overlaps", check_copies_overlaps},
    {"edges of overlaps", check_copies_overlap_edges},
    {NULL, NULL},
};

static const struct copies_row chosen_checks[] = {{"chosen", check_copies_edges}, {NULL, NULL}};

static void run_copies(struct selftest_row *row, carry_copy_fn *copy,
                       const struct copies_row *checks) {
    for (; checks->name; checks++) {
        const struct verdict verdict =
            checks->check((struct copier){.copy = copy}, &selftest_effort);
        selftest_judge(row, checks->name, &verdict);
    }
}

static void run_copy(struct selftest_row *row) {
    const struct library *library = row->library;
    struct carry_copy_kernel kernel;
    const char *before = NULL;
    for (size_t i = 0; library->carry_copy_kernel(i, &kernel); i++) {
        if (kernel.chosen)
            before = kernel.name;
        if (strcmp(kernel.name, row->variant) == 0)
            run_copies(row, kernel.copy, copy_checks);
    }
    if (is_chosen(row, library->carry_copy_select(row->variant))) {
        run_copies(row, library->carry_copy, chosen_checks);
        run_copies(row, library->carry_copy_move, move_checks);
    }
    library->carry_copy_select(before);
}

/* --- The rows --- */

static void add_sums(struct selftest *test, kernel_row *kernels, const char *function,
                     void (*run)(struct selftest_row *row)) {
    struct carry_sum_kernel kernel;
    for (size_t i = 0; kernels(i, &kernel); i++)
        selftest_add(test, function, kernel.name, run)->missing = kernel.missing;
}

void selftest_add_kernels(struct selftest *test) {
    const struct library *library = test->library;
    add_sums(test, library->carry_sum_kernel, "sum", run_sum);
    add_sums(test, library->carry_sum_kernel, "sum_copy", run_sum_copy);
    add_sums(test, library->carry_crc32c_kernel, "crc32c", run_crc32c);
    struct carry_copy_kernel kernel;
    for (size_t i = 0; library->carry_copy_kernel(i, &kernel); i++)
        selftest_add(test, "copy", kernel.name, run_copy)->missing = kernel.missing;
}
