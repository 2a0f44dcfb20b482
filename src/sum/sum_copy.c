/* SPDX-License-Identifier: MIT */
/* The tables of the kernels' copying forms, and copies between chains of slices. */
#include "sum/sum_choice.h"
#include "sum/sum_internal.h"

#define CARRY_SUM_KERNEL(arch, name, needs, wants, vector_bits)                                    \
    CARRY_ROWS_##arch({#name, (uintptr_t)carry_sum_copy_##name, needs, wants, vector_bits}, )
static const struct carry_kernel_row rows[] = {
#include "sum/kernels.def"
};
#undef CARRY_SUM_KERNEL

#define CARRY_SUM_KERNEL(arch, name, needs, wants, vector_bits)                                    \
    CARRY_ROWS_##arch({#name, (uintptr_t)carry_sum_copy_try_##name, needs, wants, vector_bits}, )
static const struct carry_kernel_row try_rows[] = {
#include "sum/kernels.def"
};
#undef CARRY_SUM_KERNEL

static carry_sum_copy_fn choose_and_sum_copy;
const struct carry_kernels carry_sum_copy_kernels = {
    .form = "sum_copy",
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .chosen = &carry_op_carry_sum_copy,
    .undecided = (uintptr_t)choose_and_sum_copy,
    .other = &carry_sum_copy_try_kernels,
};

static uint32_t choose_and_sum_copy(void *dst, const void *src, size_t size, uint32_t sum) {
    carry_sum_copy_fn *kernel = (carry_sum_copy_fn *)carry_kernels_choose(&carry_sum_copy_kernels);
    return kernel(dst, src, size, sum);
}

static uintptr_t resolve_sum_copy(void) {
    return carry_kernels_in_use(&carry_sum_copy_kernels);
}

struct carry_key carry_op_carry_sum_copy = {.value = (uintptr_t)choose_and_sum_copy,
                                            .resolve = resolve_sum_copy};
CARRY_OP_EXPORT(carry_sum_copy);

static carry_sum_copy_try_fn choose_and_sum_copy_try;
const struct carry_kernels carry_sum_copy_try_kernels = {
    .form = "sum_copy_try",
    .rows = try_rows,
    .count = sizeof try_rows / sizeof *try_rows,
    .chosen = &carry_op_carry_sum_copy_try,
    .undecided = (uintptr_t)choose_and_sum_copy_try,
    .other = &carry_sum_kernels,
};

static struct carry_sum_tried choose_and_sum_copy_try(void *dst, const void *src, size_t size,
                                                      uint32_t sum) {
    carry_sum_copy_try_fn *kernel =
        (carry_sum_copy_try_fn *)carry_kernels_choose(&carry_sum_copy_try_kernels);
    return kernel(dst, src, size, sum);
}

static uintptr_t resolve_sum_copy_try(void) {
    return carry_kernels_in_use(&carry_sum_copy_try_kernels);
}

struct carry_key carry_op_carry_sum_copy_try = {.value = (uintptr_t)choose_and_sum_copy_try,
                                                .resolve = resolve_sum_copy_try};

/* The slices that remain of a chain. `at` is the offset in the first slice. */
struct chain {
    const struct carry_slice *slices;
    size_t count;
    size_t at;
};

static size_t left_in_first(const struct chain *chain) {
    return chain->slices->size - chain->at;
}

static void advance_chain(struct chain *chain, size_t size) {
    chain->at += size;
    if (chain->at == chain->slices->size) {
        chain->slices++;
        chain->count--;
        chain->at = 0;
    }
}

size_t carry_sum_copy_iov(const struct carry_slice *dst, size_t dst_count,
                          const struct carry_slice *src, size_t src_count, uint32_t *sum) {
    carry_sum_copy_fn *kernel = (carry_sum_copy_fn *)carry_kernels_in_use(&carry_sum_copy_kernels);
    struct chain to = {dst, dst_count, 0}, from = {src, src_count, 0};
    size_t done = 0;
    while (to.count && from.count) {
        const size_t room = left_in_first(&to), held = left_in_first(&from);
        const size_t part = room < held ? room : held;
        if (part) {
            unsigned char *target = (unsigned char *)to.slices->data + to.at;
            const unsigned char *source = (const unsigned char *)from.slices->data + from.at;
            *sum = carry_sum_combine(*sum, kernel(target, source, part, 0), done);
            done += part;
        }
        advance_chain(&to, part);
        advance_chain(&from, part);
    }
    return done;
}
