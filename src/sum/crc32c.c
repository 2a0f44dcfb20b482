/* SPDX-License-Identifier: MIT */
/* The table of CRC32c kernels, and the functions of <carry/crc.h>. */
#include "sum/crc32c.h"

#include "sum/sum_choice.h"

#define CARRY_CRC32C_KERNEL(arch, name, needs, wants, vector_bits)                                 \
    CARRY_ROWS_##arch({#name, (uintptr_t)carry_crc32c_##name, needs, wants, vector_bits}, )
static const struct carry_kernel_row rows[] = {
#include "sum/crc32c_kernels.def"
};
#undef CARRY_CRC32C_KERNEL

static carry_sum_fn choose_and_crc32c;
static const struct carry_kernels kernels = {
    .form = "crc32c",
    .rows = rows,
    .count = sizeof rows / sizeof *rows,
    .chosen = &carry_op_carry_crc32c,
    .undecided = (uintptr_t)choose_and_crc32c,
};

static uint32_t choose_and_crc32c(const void *data, size_t size, uint32_t crc) {
    carry_sum_fn *kernel = (carry_sum_fn *)carry_kernels_choose(&kernels);
    return kernel(data, size, crc);
}

static uintptr_t resolve_crc32c(void) {
    return carry_kernels_in_use(&kernels);
}

struct carry_key carry_op_carry_crc32c = {.value = (uintptr_t)choose_and_crc32c,
                                          .resolve = resolve_crc32c};
CARRY_OP_EXPORT(carry_crc32c);

int carry_crc32c_select(const char *name) {
    return carry_kernels_select(&kernels, name);
}

bool carry_crc32c_kernel(size_t index, struct carry_sum_kernel *kernel) {
    return carry_sum_describe(&kernels, index, kernel);
}

const char *carry_crc32c_kernel_need(size_t index, size_t need) {
    return carry_kernels_need(&kernels, index, need);
}

bool carry_crc32c_kernel_code(size_t index, struct carry_kernel_code *code) {
    return carry_kernels_code(&kernels, index, code);
}
