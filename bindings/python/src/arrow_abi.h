/* SPDX-License-Identifier: MIT */
/*
 * Arrow's C data and stream interfaces: structures of a binary interface that all its users define
 * for themselves (https://arrow.apache.org/docs/format/CDataInterface.html).
 */
#ifndef CARRY_PYTHON_ARROW_ABI_H
#define CARRY_PYTHON_ARROW_ABI_H

#include <stdint.h>

#define ARROW_FLAG_NULLABLE 2

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *schema);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *array);
    void *private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *stream);
    void (*release)(struct ArrowArrayStream *stream);
    void *private_data;
};

#endif
