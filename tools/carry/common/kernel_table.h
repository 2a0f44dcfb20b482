/* SPDX-License-Identifier: MIT */
/* Lists the functions of the library that have several kernels. */
#ifndef CARRY_TOOLS_KERNEL_TABLE_H
#define CARRY_TOOLS_KERNEL_TABLE_H

#include <carry/sum.h>
#include <jansson.h>

struct kernel_table {
    const char *name;     /* name of the function in JSON */
    const char *function; /* name of the function in text */
    /* Gets a kernel; its `sum` is NULL for copies. */
    bool (*kernel)(size_t index, struct carry_sum_kernel *kernel);
    const char *(*need)(size_t index, size_t need);
};

enum { KERNEL_TABLE_SUM, KERNEL_TABLE_CRC32C, KERNEL_TABLE_COPY, KERNEL_TABLE_COUNT };
extern const struct kernel_table kernel_tables[KERNEL_TABLE_COUNT];

/* Return the index of the kernel in use, and its name. */
size_t kernel_table_chosen(const struct kernel_table *table);
const char *kernel_table_chosen_name(const struct kernel_table *table);

/* Returns all kernels as an array of objects. */
json_t *kernel_table_json(const struct kernel_table *table);

#endif
