/* SPDX-License-Identifier: MIT */
/* What a file with peers in C gives to the process around it: rows of functions. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stddef.h>
#include <stdint.h>

/* The forms that functions have; what they are called with is the same. */
typedef uint32_t peer_sum(const void *data, size_t size, uint32_t seed);
typedef uint32_t peer_sum_copy(void *to, const void *data, size_t size, uint32_t seed);
typedef uint32_t peer_sum_copy_from(const void *data, void *to, size_t size);
typedef void peer_copy(void *to, const void *data, size_t size);
typedef size_t peer_loop(size_t calls);

enum peer_form { PEER_SUM, PEER_SUM_COPY, PEER_SUM_COPY_FROM, PEER_COPY, PEER_LOOP };

struct peer_function {
    const char *name; /* as in peers.toml, and a variant behind a slash */
    const char *work;
    const char *flags;
    enum peer_form form;
    union {
        peer_sum *sum;
        peer_sum_copy *sum_copy;
        peer_sum_copy_from *sum_copy_from;
        peer_copy *copy;
        peer_loop *loop; /* does what is timed as often as told; how often it was done */
    };
};

struct peer_note {
    const char *key, *text;
};

/* All rows of a process lie in one section each. */
#define PEER_FUNCTION(id)                                                                          \
    static struct peer_function id __attribute__((used, aligned(8), section("peer_functions")))
#define PEER_NOTE(id)                                                                              \
    static const struct peer_note id __attribute__((used, aligned(8), section("peer_notes")))

#endif
