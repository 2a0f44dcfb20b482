/* SPDX-License-Identifier: MIT */
/*
 * Sums a chain as skb_checksum() of Linux sums a packet in fragments: csum_partial() of each
 * fragment, added by csum_block_add(). Included after the source of csum_partial().
 */
#ifndef BENCH_LINUX_CHAIN_H
#define BENCH_LINUX_CHAIN_H

#include <net/checksum.h>

#include "slices.h"

static inline uint32_t sum_fragment(const void *data, size_t size, uint32_t seed) {
    return csum_partial(data, (int)size, seed);
}

static inline uint32_t join_fragment(uint32_t sum, uint32_t of_fragment, size_t offset) {
    return csum_block_add(sum, of_fragment, (int)offset);
}

__attribute__((flatten)) static uint32_t sum_chain(const void *chain, size_t size, uint32_t seed) {
    return sum_slices(chain, size, seed, sum_fragment, join_fragment);
}

#endif
