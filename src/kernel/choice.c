/* SPDX-License-Identifier: MIT */
/* The choice of a kernel, by the features of this CPU or by name. */
#include "kernel/choice.h"

static bool is_available(const struct carry_kernel_row *row) {
    return (row->needs & ~carry_cpu_bits()) == 0;
}

static bool is_preferred(const struct carry_kernel_row *row) {
    return ((row->needs | row->wants) & ~carry_cpu_bits()) == 0;
}

static size_t best_row(const struct carry_kernels *kernels) {
    size_t best = 0;
    for (size_t i = 1; i < kernels->count; i++)
        if (is_preferred(&kernels->rows[i]))
            best = i;
    return best;
}

/* Returns the form after `form` in the ring of forms, or NULL if that is `first` again. */
static const struct carry_kernels *next_form(const struct carry_kernels *form,
                                             const struct carry_kernels *first) {
    return form->other == first ? NULL : form->other;
}

uintptr_t carry_kernels_choose(const struct carry_kernels *kernels) {
    const size_t best = best_row(kernels);
    for (const struct carry_kernels *form = kernels; form; form = next_form(form, kernels)) {
        /* Keeps a choice that another thread has made: calls may already be patched to it. */
        uintptr_t undecided = form->undecided;
        __atomic_compare_exchange_n(&form->chosen->value, &undecided, form->rows[best].run, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
    return __atomic_load_n(&kernels->chosen->value, __ATOMIC_RELAXED);
}

static int commit_choice(const struct carry_kernels *kernels, size_t row) {
    struct carry_patch patch;
    carry_patch_begin(&patch);
    for (const struct carry_kernels *form = kernels; form; form = next_form(form, kernels))
        carry_patch_set(&patch, form->chosen, form->rows[row].run);
    return carry_patch_commit(&patch);
}

static bool is_same_name(const char *a, const char *b) {
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

int carry_kernels_select(const struct carry_kernels *kernels, const char *name) {
    size_t row = name ? 0 : best_row(kernels);
    while (name && row < kernels->count && !is_same_name(name, kernels->rows[row].name))
        row++;
    if (row == kernels->count)
        return CARRY_ERROR_UNKNOWN;
    if (!is_available(&kernels->rows[row]))
        return CARRY_ERROR_UNSUPPORTED;
    return commit_choice(kernels, row);
}

bool carry_kernels_describe(const struct carry_kernels *kernels, size_t index,
                            struct carry_kernel_state *state) {
    if (index >= kernels->count)
        return false;
    const struct carry_kernel_row *row = &kernels->rows[index];
    *state = (struct carry_kernel_state){
        .row = row,
        .missing = carry_cpu_first_name(row->needs & ~carry_cpu_bits()),
        .against = carry_cpu_first_name(row->wants & ~carry_cpu_bits()),
        .chosen = row->run == carry_kernels_in_use(kernels),
    };
    return true;
}

const char *carry_kernels_need(const struct carry_kernels *kernels, size_t index, size_t need) {
    uint32_t bits = index < kernels->count ? kernels->rows[index].needs : 0;
    for (; need && bits; need--)
        bits &= bits - 1; /* clears the lowest bit */
    return carry_cpu_first_name(bits);
}

/* Describes the code of a kernel. `index` counts the rows of `kernels`, then the rows of its other
 * forms. Returns false if there is no such row. */
bool carry_kernels_code(const struct carry_kernels *kernels, size_t index,
                        struct carry_kernel_code *code) {
    const struct carry_kernels *form = kernels;
    for (; form && index >= form->count; form = next_form(form, kernels))
        index -= form->count;
    if (!form)
        return false;
    *code = (struct carry_kernel_code){
        .form = form->form,
        .kernel = form->rows[index].name,
        .start = (const void *)form->rows[index].run,
    };
    return true;
}
