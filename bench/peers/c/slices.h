/* SPDX-License-Identifier: MIT */
/* Sums a chain by a function that sums one slice, as code without a function for chains does. */
#ifndef BENCH_SLICES_H
#define BENCH_SLICES_H

#include "peer.h"

/* Adds to `sum` the sum of a slice that begins `offset` bytes after the first slice. */
typedef uint32_t slices_join(uint32_t sum, uint32_t of_slice, size_t offset);

/* Sums the first `size` bytes of a chain. The compiler sees both functions, and can inline them. */
static inline __attribute__((always_inline)) uint32_t sum_slices(const struct peer_chain *chain,
                                                                 size_t size, uint32_t seed,
                                                                 peer_sum *sum, slices_join *join) {
    size_t offset = 0;
    for (const struct iovec *slice = chain->slices; offset < size; slice++) {
        size_t part = slice->iov_len < size - offset ? slice->iov_len : size - offset;
        seed = join(seed, sum(slice->iov_base, part, 0), offset);
        offset += part;
    }
    return seed;
}

#endif
