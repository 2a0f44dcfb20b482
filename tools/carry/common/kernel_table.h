/* SPDX-License-Identifier: MIT */
/* The functions of the library that run by one of several kernels. */
#ifndef CARRY_TOOLS_KERNEL_TABLE_H
#define CARRY_TOOLS_KERNEL_TABLE_H

#include <carry/sum.h>
#include <jansson.h>

struct kernel_table {
    const char *name;     /* as JSON names it */
    const char *function; /* as people call it */
    /* Whether or not it sums: `sum` is NULL if not. */
    bool (*kernel)(size_t index, struct carry_sum_kernel *kernel);
    const char *(*need)(size_t index, size_t need);
};

enum { KERNEL_TABLE_SUM, KERNEL_TABLE_CRC32C, KERNEL_TABLE_COPY, KERNEL_TABLE_COUNT };
extern const struct kernel_table kernel_tables[KERNEL_TABLE_COUNT];

/* The index of the kernel in use; its name. */
size_t kernel_table_chosen(const struct kernel_table *table);
const char *kernel_table_chosen_name(const struct kernel_table *table);

/* All kernels, as an array of objects. */
json_t *kernel_table_json(const struct kernel_table *table);

#endif
