/* SPDX-License-Identifier: MIT */
/* The sum as anyone writes it: a loop over 16-bit words, which the compiler vectorises. A slice at
 * an odd offset of a chain has the bytes of its sum exchanged. */
#include <string.h>

#include "peer.h"
#include "slices.h"

static uint32_t sum(const void *data, size_t size, uint32_t seed) {
    const unsigned char *bytes = data;
    uint64_t sum = seed;
    uint16_t word = 0;
    for (size_t i = 0; i + 2 <= size; i += 2) {
        memcpy(&word, bytes + i, 2);
        sum += word;
    }
    word = 0;
    memcpy(&word, bytes + (size & ~(size_t)1), size & 1);
    sum += word;
    sum = (sum & 0xffffffff) + (sum >> 32);
    return (uint32_t)sum + (uint32_t)(sum >> 32);
}

/* Adds a sum to another, with its bytes exchanged if `offset` is odd. */
static uint32_t join(uint32_t sum, uint32_t more, size_t offset) {
    uint64_t both = (uint64_t)sum + (offset & 1 ? more << 8 | more >> 24 : more);
    return (uint32_t)both + (uint32_t)(both >> 32);
}

static uint32_t sum_chain(const void *chain, size_t size, uint32_t seed) {
    return sum_slices(chain, size, seed, sum, join);
}

PEER_FUNCTION(row) = {"plain/" PEER_VARIANT, "sum", "", PEER_SUM, {.sum = sum}};
PEER_CHAIN_FUNCTION(chain_row, "plain/" PEER_VARIANT, "", sum_chain, NULL);
