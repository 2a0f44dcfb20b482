/* SPDX-License-Identifier: MIT */
/*
 * This library as its users call it: by its public functions, after carry_patch_apply() has patched
 * their jumps. A `kernel` is the chosen kernel, called as in programs that import the operation or
 * keep its pointer.
 */
#include "peer.h"

#include <carry/carry.h>

PEER_FUNCTION(sum_row) = {"carry", "sum", "", PEER_SUM, {.sum = carry_sum_call}};
PEER_FUNCTION(kernel_row) = {"carry/kernel", "sum", "", PEER_SUM, {.sum = NULL}};
PEER_FUNCTION(sum_copy_row) = {
    "carry/sum-copy", "sum_copy", "", PEER_SUM_COPY, {.sum_copy = carry_sum_copy}};
PEER_FUNCTION(copy_row) = {"carry/copy", "copy", "", PEER_COPY, {.copy = carry_copy}};
PEER_FUNCTION(sum_copy_kernel_row) = {
    "carry/sum-copy-kernel", "sum_copy", "", PEER_SUM_COPY, {.sum_copy = NULL}};
PEER_FUNCTION(copy_kernel_row) = {"carry/copy-kernel", "copy", "", PEER_COPY, {.copy = NULL}};

/* Sums a chain as programs with a POSIX iovec do: a carry_slice has its layout. */
static uint32_t sum_chain(const void *data, size_t size, uint32_t seed) {
    const struct peer_chain *chain = data;
    return carry_sum_iov((const struct carry_slice *)chain->slices, chain->count, 0, size, seed);
}

PEER_CHAIN_FUNCTION(chain_row, "carry", "", sum_chain, NULL);

__attribute__((constructor)) static void choose(void) {
    struct carry_sum_kernel sum;
    struct carry_copy_kernel copy;
    carry_patch_apply(CARRY_PATCH_QUIET);
    for (size_t i = 0; carry_sum_kernel(i, &sum); i++)
        if (sum.chosen) {
            kernel_row.sum = sum.sum;
            sum_copy_kernel_row.sum_copy = sum.copy;
        }
    for (size_t i = 0; carry_copy_kernel(i, &copy); i++)
        if (copy.chosen)
            copy_kernel_row.copy = copy.copy;
}
