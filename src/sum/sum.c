/* SPDX-License-Identifier: MIT */
/* The table of kernels of carry_sum(), and the functions of <carry/sum.h>. */
#include "sum/sum_internal.h"

#include "sum/pseudo.h"
#include "sum/sum_choice.h"

#define CARRY_SUM_KERNEL(arch, name, needs, wants, vector_bits)                                    \
    CARRY_ROWS_##arch({#name, (uintptr_t)carry_sum_##name, needs, wants, vector_bits}, )
static const struct carry_kernel_row rows[] = {
#include "sum/kernels.def"
};
#undef CARRY_SUM_KERNEL

static carry_sum_fn choose_and_sum;
const struct carry_kernels carry_sum_kernels = {
    .form = "sum",
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .chosen = &carry_op_carry_sum,
    .undecided = (uintptr_t)choose_and_sum,
    .other = &carry_sum_copy_kernels,
};

static uint32_t choose_and_sum(const void *data, size_t size, uint32_t sum) {
    carry_sum_fn *kernel = (carry_sum_fn *)carry_kernels_choose(&carry_sum_kernels);
    return kernel(data, size, sum);
}

static carry_sum_fn *sum_kernel_in_use(void) {
    return (carry_sum_fn *)carry_kernels_in_use(&carry_sum_kernels);
}

static uintptr_t resolve_sum(void) {
    return carry_kernels_in_use(&carry_sum_kernels);
}

struct carry_key carry_op_carry_sum = {.value = (uintptr_t)choose_and_sum, .resolve = resolve_sum};
CARRY_OP_EXPORT(carry_sum);

int carry_sum_select(const char *name) {
    return carry_kernels_select(&carry_sum_kernels, name);
}

bool carry_sum_kernel(size_t index, struct carry_sum_kernel *kernel) {
    if (!carry_sum_describe(&carry_sum_kernels, index, kernel))
        return false;
    kernel->copy = (carry_sum_copy_fn *)carry_sum_copy_kernels.rows[index].run;
    return true;
}

bool carry_sum_kernel_code(size_t index, struct carry_kernel_code *code) {
    return carry_kernels_code(&carry_sum_kernels, index, code);
}

const char *carry_sum_kernel_need(size_t index, size_t need) {
    return carry_kernels_need(&carry_sum_kernels, index, need);
}

uint32_t carry_sum_iov(const struct carry_slice *slices, size_t count, size_t skip, size_t size,
                       uint32_t sum) {
    carry_sum_fn *kernel = sum_kernel_in_use();
    size_t done = 0;
    for (; count && size; slices++, count--) {
        if (skip >= slices->size) {
            skip -= slices->size;
            continue;
        }
        size_t part = slices->size - skip < size ? slices->size - skip : size;
        const unsigned char *data = (const unsigned char *)slices->data + skip;
        sum = carry_sum_combine(sum, kernel(data, part, 0), done);
        done += part;
        size -= part;
        skip = 0;
    }
    return sum;
}

void carry_sum_burst(const struct carry_slice *slices, size_t count, uint32_t *sums) {
    carry_sum_fn *kernel = sum_kernel_in_use();
    for (size_t i = 0; i < count; i++)
        sums[i] = kernel(slices[i].data, slices[i].size, sums[i]);
}

uint32_t carry_sum_pseudo4(const void *src, const void *dst, uint8_t protocol, uint32_t size,
                           uint32_t sum) {
    return carry_sum_pseudo4_inline(src, dst, protocol, size, sum);
}

uint32_t carry_sum_pseudo6(const void *src, const void *dst, uint8_t next_header, uint32_t size,
                           uint32_t sum) {
    return carry_sum_pseudo6_inline(src, dst, next_header, size, sum);
}

/* External copies of the header's inline functions, for FFI and for pointers to them. */
extern inline uint16_t carry_sum_fold(uint32_t sum);
extern inline uint16_t carry_sum_finish(uint32_t sum);
extern inline uint16_t carry_sum_finish_nonzero(uint32_t sum);
extern inline uint32_t carry_sum_combine(uint32_t a, uint32_t b, size_t offset_of_b);
extern inline uint32_t carry_sum_inline(const void *data, size_t size, uint32_t sum);
extern inline uint32_t carry_sum(const void *data, size_t size, uint32_t sum);
extern inline uint16_t carry_sum_update16(uint16_t check, uint16_t from, uint16_t to);
extern inline uint16_t carry_sum_update32(uint16_t check, uint32_t from, uint32_t to);
extern inline uint16_t carry_sum_update(uint16_t check, const void *from, const void *to,
                                        size_t size);
extern inline uint16_t carry_sum_update128(uint16_t check, const void *from, const void *to);
