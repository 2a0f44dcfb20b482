/* SPDX-License-Identifier: MIT */
/* The choice among the kernels that survive faults: a table with the rows of copy.c. */
#include "copy/choice.h"

#define CARRY_COPY_KERNEL(arch, name, needs, vector_bits)                                          \
    CARRY_ROWS_##arch({#name, (uintptr_t)carry_copy_try_##name, needs, vector_bits}, )
static const struct carry_kernel_row rows[] = {
#include "copy/kernels.def"
};
#undef CARRY_COPY_KERNEL

static carry_copy_try_fn choose_and_copy;
static const struct carry_kernels kernels = {
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .chosen = &carry_op_carry_copy_try,
    .undecided = (uintptr_t)choose_and_copy,
};

static size_t choose_and_copy(void *dst, const void *src, size_t size) {
    carry_copy_try_fn *kernel = (carry_copy_try_fn *)carry_kernels_choose(&kernels);
    return kernel(dst, src, size);
}

static uintptr_t resolve(void) {
    return carry_kernels_in_use(&kernels);
}

struct carry_key carry_op_carry_copy_try = {.value = (uintptr_t)choose_and_copy,
                                            .resolve = resolve};

int carry_copy_try_select(const char *name) {
    return carry_kernels_select(&kernels, name);
}
