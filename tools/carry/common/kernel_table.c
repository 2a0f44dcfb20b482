/* SPDX-License-Identifier: MIT */
#include "common/kernel_table.h"

#include <carry/copy.h>
#include <carry/crc.h>

/* Describes a copy kernel in the structure of sum kernels, without a `sum`. */
static bool copy_kernel(size_t index, struct carry_sum_kernel *kernel) {
    struct carry_copy_kernel copy;
    if (!carry_copy_kernel(index, &copy))
        return false;
    *kernel = (struct carry_sum_kernel){
        .name = copy.name,
        .missing = copy.missing,
        .vector_bits = copy.vector_bits,
        .against = copy.against,
        .chosen = copy.chosen,
    };
    return true;
}

const struct kernel_table kernel_tables[KERNEL_TABLE_COUNT] = {
    [KERNEL_TABLE_SUM] = {"sum", "carry_sum()", carry_sum_kernel, carry_sum_kernel_need},
    [KERNEL_TABLE_CRC32C] = {"crc32c", "carry_crc32c()", carry_crc32c_kernel,
                             carry_crc32c_kernel_need},
    [KERNEL_TABLE_COPY] = {"copy", "carry_copy()", copy_kernel, carry_copy_kernel_need},
};

size_t kernel_table_chosen(const struct kernel_table *table) {
    struct carry_sum_kernel kernel;
    size_t i = 0;
    while (table->kernel(i, &kernel) && !kernel.chosen)
        i++;
    return i;
}

const char *kernel_table_chosen_name(const struct kernel_table *table) {
    struct carry_sum_kernel kernel = {.name = "none"};
    table->kernel(kernel_table_chosen(table), &kernel);
    return kernel.name;
}

static json_t *needs_json(const struct kernel_table *table, size_t index) {
    json_t *list = json_array();
    const char *need;
    for (size_t i = 0; (need = table->need(index, i)); i++)
        json_array_append_new(list, json_string(need));
    return list;
}

json_t *kernel_table_json(const struct kernel_table *table) {
    json_t *list = json_array();
    struct carry_sum_kernel kernel;
    for (size_t i = 0; table->kernel(i, &kernel); i++)
        json_array_append_new(
            list, json_pack("{s:s, s:i, s:o, s:b, s:s?, s:b, s:s?, s:b}", "name", kernel.name,
                            "vector_bits", (int)kernel.vector_bits, "needs", needs_json(table, i),
                            "available", !kernel.missing, "missing", kernel.missing, "preferred",
                            !kernel.against, "against", kernel.against, "chosen", kernel.chosen));
    return list;
}
