/* SPDX-License-Identifier: MIT */
/* Memory that grows at its end. */
#ifndef CARRY_PYTHON_HEAP_H
#define CARRY_PYTHON_HEAP_H

#include <stdbool.h>
#include <stddef.h>

struct heap {
    void *data; /* from malloc() */
    size_t size, room;
};

/* Appends bytes; false without memory, with nothing added. */
bool heap_append(struct heap *heap, const void *bytes, size_t size);

#endif
