/* SPDX-License-Identifier: MIT */
/* Defines the interface of a file with peers in C: rows of functions. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* The forms of functions. Arguments of the same name have the same meaning. */
typedef uint32_t peer_sum(const void *data, size_t size, uint32_t seed);
typedef uint32_t peer_sum_copy(void *to, const void *data, size_t size, uint32_t seed);
typedef uint32_t peer_sum_copy_from(const void *data, void *to, size_t size);
typedef void peer_copy(void *to, const void *data, size_t size);
typedef size_t peer_loop(size_t calls);

/* A packet in slices: bytes that follow each other in the packet, but not in memory. */
struct peer_chain {
    size_t count;
    const struct iovec *slices;
};

#define PEER_SLICES 4096 /* the most slices of a chain */

/* Sums `size` bytes of a chain, in the form that its peer_link function returned. */
typedef uint32_t peer_sum_chain(const void *chain, size_t size, uint32_t seed);

/* Returns a chain in the form of the peer, valid until the next call. */
typedef const void *peer_link(const struct peer_chain *chain);

enum peer_form {
    PEER_SUM,
    PEER_SUM_COPY,
    PEER_SUM_COPY_FROM,
    PEER_COPY,
    PEER_SUM_CHAIN,
    PEER_LOOP
};

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
        struct {
            peer_sum_chain *sum;
            peer_link *link; /* NULL: the function takes a struct peer_chain */
        } chain;
        peer_loop *loop; /* repeats the work `calls` times; returns how many times it was done */
    };
};

struct peer_note {
    const char *key, *text;
};

/* These macros begin the definition of a row: in the section of functions, or of notes. */
#define PEER_FUNCTION(id)                                                                          \
    static struct peer_function id __attribute__((used, aligned(8), section("peer_functions")))
#define PEER_NOTE(id)                                                                              \
    static const struct peer_note id __attribute__((used, aligned(8), section("peer_notes")))

/* Defines the rows of a function that sums chains: one for each work of chains. */
#define PEER_CHAIN_FUNCTION(id, name, flags, sum, link)                                            \
    PEER_FUNCTION(id) = {                                                                          \
        name "/chain", "sum_chain", flags, PEER_SUM_CHAIN, {.chain = {sum, link}}};                \
    PEER_FUNCTION(id##_odd) = {                                                                    \
        name "/chain/odd", "sum_odd_chain", flags, PEER_SUM_CHAIN, {.chain = {sum, link}}}

#endif
