/* SPDX-License-Identifier: MIT */
/* Defines the interface of a file with peers in C: rows of functions. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stddef.h>
#include <stdint.h>

/* The forms of functions; their arguments have the same meaning. */
typedef uint32_t peer_sum(const void *data, size_t size, uint32_t seed);
typedef uint32_t peer_sum_copy(void *to, const void *data, size_t size, uint32_t seed);
typedef uint32_t peer_sum_copy_from(const void *data, void *to, size_t size);
typedef void peer_copy(void *to, const void *data, size_t size);
typedef size_t peer_loop(size_t calls);

enum peer_form { PEER_SUM, PEER_SUM_COPY, PEER_SUM_COPY_FROM, PEER_COPY, PEER_LOOP };

struct peer_function {
    const char *name; /* as in peers.toml; a variant follows after a slash */
    const char *work;
    const char *flags;
    enum peer_form form;
    union {
        peer_sum *sum;
        peer_sum_copy *sum_copy;
        peer_sum_copy_from *sum_copy_from;
        peer_copy *copy;
        peer_loop *loop; /* repeats the work `calls` times; returns how many times it was done */
    };
};

struct peer_note {
    const char *key, *text;
};

/* Define a row of functions, or of notes, each in a section of their own. */
#define PEER_FUNCTION(id)                                                                          \
    static struct peer_function id __attribute__((used, aligned(8), section("peer_functions")))
#define PEER_NOTE(id)                                                                              \
    static const struct peer_note id __attribute__((used, aligned(8), section("peer_notes")))

#endif
