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

/* Appends `size` bytes; returns false, and adds nothing, if there is no memory. */
bool heap_append(struct heap *heap, const void *bytes, size_t size);

#endif
