/* SPDX-License-Identifier: MIT */
/* Linux's checksums for x86-64, compiled for user space: linux.h replaces its headers. */
#include "linux.h"

#include "arch/x86/lib/csum-partial_64.c"

#include <string.h>

#define HAVE_ARCH_CSUM_ADD

/* Adds as <asm/checksum_64.h> does. */
static inline __wsum csum_add(__wsum sum, __wsum more) {
    return add32_with_carry(sum, more);
}

#include "linux_chain.h"
#include "peer.h"

uint32_t csum_partial_copy_generic(const void *from, void *to, size_t size);

__attribute__((flatten)) static uint32_t sum(const void *data, size_t size, uint32_t seed) {
    return csum_partial(data, (int)size, seed);
}

/* Copies, then sums, like csum_partial_copy_nocheck() and programs that have no function for both
 * steps. */
__attribute__((flatten)) static uint32_t copy_then_sum(void *to, const void *data, size_t size,
                                                       uint32_t seed) {
    memcpy(to, data, size);
    return csum_partial(to, (int)size, seed);
}

PEER_FUNCTION(sum_row) = {"linux", "sum", "", PEER_SUM, {.sum = sum}};
PEER_FUNCTION(copy_row) = {"linux/csum_partial_copy_generic",
                           "sum_copy",
                           "seedless",
                           PEER_SUM_COPY_FROM,
                           {.sum_copy_from = csum_partial_copy_generic}};
PEER_FUNCTION(twice_row) = {
    "linux/memcpy-then-csum_partial", "sum_copy", "", PEER_SUM_COPY, {.sum_copy = copy_then_sum}};
PEER_CHAIN_FUNCTION(chain_row, "linux", "", sum_chain, NULL);
