/* SPDX-License-Identifier: MIT */
/* The tables of carry_copy()'s kernels, one for each of their three forms, and the functions of
 * <carry/copy.h>. */
#include "copy/copy_choice.h"

#define CARRY_COPY_KERNEL(arch, name, needs, wants, vector_bits)                                   \
    CARRY_ROWS_##arch({#name, (uintptr_t)carry_copy_##name, needs, wants, vector_bits}, )
static const struct carry_kernel_row rows[] = {
#include "copy/kernels.def"
};
#undef CARRY_COPY_KERNEL

#define CARRY_COPY_KERNEL(arch, name, needs, wants, vector_bits)                                   \
    CARRY_ROWS_##arch({#name, (uintptr_t)carry_copy_try_##name, needs, wants, vector_bits}, )
static const struct carry_kernel_row try_rows[] = {
#include "copy/kernels.def"
};
#undef CARRY_COPY_KERNEL

#define CARRY_COPY_KERNEL(arch, name, needs, wants, vector_bits)                                   \
    CARRY_ROWS_##arch({#name, (uintptr_t)carry_copy_move_##name, needs, wants, vector_bits}, )
static const struct carry_kernel_row move_rows[] = {
#include "copy/kernels.def"
};
#undef CARRY_COPY_KERNEL

static const struct carry_kernels try_kernels, move_kernels;

static carry_copy_fn choose_and_copy;
static const struct carry_kernels kernels = {
    .form = "copy",
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .chosen = &carry_op_carry_copy,
    .undecided = (uintptr_t)choose_and_copy,
    .other = &try_kernels,
};

static void choose_and_copy(void *dst, const void *src, size_t size) {
    carry_copy_fn *kernel = (carry_copy_fn *)carry_kernels_choose(&kernels);
    kernel(dst, src, size);
}

static uintptr_t resolve_copy(void) {
    return carry_kernels_in_use(&kernels);
}

struct carry_key carry_op_carry_copy = {.value = (uintptr_t)choose_and_copy,
                                        .resolve = resolve_copy};
CARRY_OP_EXPORT(carry_copy);

static carry_copy_try_fn choose_and_try;
static const struct carry_kernels try_kernels = {
    .form = "copy_try",
    .rows = try_rows,
    .count = sizeof try_rows / sizeof *try_rows,
    .chosen = &carry_op_carry_copy_try,
    .undecided = (uintptr_t)choose_and_try,
    .other = &move_kernels,
};

static size_t choose_and_try(void *dst, const void *src, size_t size) {
    carry_copy_try_fn *kernel = (carry_copy_try_fn *)carry_kernels_choose(&try_kernels);
    return kernel(dst, src, size);
}

static uintptr_t resolve_copy_try(void) {
    return carry_kernels_in_use(&try_kernels);
}

struct carry_key carry_op_carry_copy_try = {.value = (uintptr_t)choose_and_try,
                                            .resolve = resolve_copy_try};

static carry_copy_fn choose_and_move;
static const struct carry_kernels move_kernels = {
    .form = "copy_move",
    .rows = move_rows,
    .count = sizeof move_rows / sizeof *move_rows,
    .chosen = &carry_op_carry_copy_move,
    .undecided = (uintptr_t)choose_and_move,
    .other = &kernels,
};

static void choose_and_move(void *dst, const void *src, size_t size) {
    carry_copy_fn *kernel = (carry_copy_fn *)carry_kernels_choose(&move_kernels);
    kernel(dst, src, size);
}

static uintptr_t resolve_copy_move(void) {
    return carry_kernels_in_use(&move_kernels);
}

struct carry_key carry_op_carry_copy_move = {.value = (uintptr_t)choose_and_move,
                                             .resolve = resolve_copy_move};

int carry_copy_select(const char *name) {
    return carry_kernels_select(&kernels, name);
}

bool carry_copy_kernel(size_t index, struct carry_copy_kernel *kernel) {
    struct carry_kernel_state state;
    if (!carry_kernels_describe(&kernels, index, &state))
        return false;
    *kernel = (struct carry_copy_kernel){
        .name = state.row->name,
        .copy = (carry_copy_fn *)state.row->run,
        .missing = state.missing,
        .vector_bits = state.row->vector_bits,
        .against = state.against,
        .chosen = state.chosen,
    };
    return true;
}

const char *carry_copy_kernel_need(size_t index, size_t need) {
    return carry_kernels_need(&kernels, index, need);
}

bool carry_copy_kernel_code(size_t index, struct carry_kernel_code *code) {
    return carry_kernels_code(&kernels, index, code);
}
