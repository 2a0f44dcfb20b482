/* SPDX-License-Identifier: MIT */
#include "patch/choice.h"

static bool available(const struct carry_kernel_row *row) {
    return (row->needs & ~carry_cpu_bits()) == 0;
}

static bool preferred(const struct carry_kernel_row *row) {
    return row->vector_bits < 512 || carry_cpu_has("prefer512");
}

static const struct carry_kernel_row *best_row(const struct carry_kernels *kernels) {
    const struct carry_kernel_row *best = kernels->rows;
    for (size_t i = 1; i < kernels->count; i++)
        if (available(&kernels->rows[i]) && preferred(&kernels->rows[i]))
            best = &kernels->rows[i];
    return best;
}

uintptr_t carry_kernels_choose(const struct carry_kernels *kernels) {
    uintptr_t best = best_row(kernels)->run;
    uintptr_t run = kernels->undecided;
    /* Unless it was decided in the meantime: patched calls may have gone to that kernel. */
    if (__atomic_compare_exchange_n(&kernels->chosen->value, &run, best, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED))
        run = best;
    return run;
}

static int set_choice(const struct carry_kernels *kernels, uintptr_t run) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    carry_patch_set(&patch, kernels->chosen, run);
    return carry_patch_commit(&patch);
}

static bool same(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

int carry_kernels_select(const struct carry_kernels *kernels, const char *name) {
    const struct carry_kernel_row *row = name ? NULL : best_row(kernels);
    for (size_t i = 0; i < kernels->count && !row; i++)
        if (same(name, kernels->rows[i].name))
            row = &kernels->rows[i];
    if (!row)
        return CARRY_ERROR_UNKNOWN;
    if (!available(row))
        return CARRY_ERROR_UNSUPPORTED;
    return set_choice(kernels, row->run);
}

bool carry_kernels_describe(const struct carry_kernels *kernels, size_t index,
                            struct carry_kernel_state *state) {
    if (index >= kernels->count)
        return false;
    const struct carry_kernel_row *row = &kernels->rows[index];
    *state = (struct carry_kernel_state){
        .row = row,
        .missing = carry_cpu_first_name(row->needs & ~carry_cpu_bits()),
        .preferred = preferred(row),
        .chosen = row->run == carry_kernels_in_use(kernels),
    };
    return true;
}

const char *carry_kernels_need(const struct carry_kernels *kernels, size_t index, size_t need) {
    uint32_t bits = index < kernels->count ? kernels->rows[index].needs : 0;
    for (; need && bits; need--)
        bits &= bits - 1; /* without its lowest bit */
    return carry_cpu_first_name(bits);
}
