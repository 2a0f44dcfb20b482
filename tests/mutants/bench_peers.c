/* SPDX-License-Identifier: MIT */
/*
 * Peers of the benchmark. Most of them have a fault, which the benchmark must find before it times
 * them.
 */
#include <stdlib.h>
#include <string.h>

#include "peer.h"
#include "slices.h"

PEER_NOTE(note) = {"compiler", "any"};

static uint32_t right_sum(const void *data, size_t size, uint32_t seed) {
    const unsigned char *bytes = data;
    uint64_t sum = seed;
    for (size_t i = 0; i < size; i++)
        sum += i & 1 ? (uint64_t)bytes[i] << 8 : bytes[i];
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint32_t)sum;
}

static uint32_t no_odd_byte(const void *data, size_t size, uint32_t seed) {
    return right_sum(data, size & ~(size_t)1, seed);
}

static uint32_t no_seed(const void *data, size_t size, uint32_t seed) {
    (void)seed;
    return right_sum(data, size, 0);
}

/* Returns wrong sums for more than 65,535 bytes. */
static uint32_t too_narrow(const void *data, size_t size, uint32_t seed) {
    return right_sum(data, size, seed) + (size > 0xffff);
}

static uint32_t crash_in_sum(const void *data, size_t size, uint32_t seed) {
    if (size > 100)
        abort();
    return right_sum(data, size, seed);
}

static uint32_t right_copy(void *to, const void *data, size_t size, uint32_t seed) {
    memcpy(to, data, size);
    return right_sum(data, size, seed);
}

static uint32_t copy_too_much(void *to, const void *data, size_t size, uint32_t seed) {
    memcpy(to, data, size + 1);
    return right_sum(data, size, seed);
}

static uint32_t copy_too_little(void *to, const void *data, size_t size, uint32_t seed) {
    memcpy(to, data, size ? size - 1 : 0);
    return right_sum(data, size, seed);
}

static uint32_t join_sums(uint32_t sum, uint32_t more, size_t offset) {
    return (uint32_t)(((uint64_t)sum + (offset & 1 ? more << 8 : more)) % 0xffff);
}

static uint32_t sum_chain(const void *chain, size_t size, uint32_t seed) {
    return sum_slices(chain, size, seed, right_sum, join_sums);
}

/* Returns the slices alone. */
static const void *link_slices(const struct peer_chain *chain) {
    return chain->slices;
}

static uint32_t sum_linked(const void *data, size_t size, uint32_t seed) {
    const struct peer_chain chain = {.slices = data};
    return sum_chain(&chain, size, seed);
}

/* Forgets that bytes at odd offsets are exchanged. */
static uint32_t join_even(uint32_t sum, uint32_t more, size_t offset) {
    (void)offset;
    return join_sums(sum, more, 0);
}

static uint32_t sum_even(const void *chain, size_t size, uint32_t seed) {
    return sum_slices(chain, size, seed, right_sum, join_even);
}

/* Reads on after the first slice. */
static uint32_t sum_first(const void *data, size_t size, uint32_t seed) {
    const struct peer_chain *chain = data;
    return right_sum(chain->slices->iov_base, size, seed);
}

static uint32_t do_nothing(const void *data, size_t size, uint32_t seed) {
    (void)data, (void)size;
    return seed;
}

static size_t lost_call(size_t calls) {
    return calls - 1;
}

PEER_FUNCTION(floor_row) = {"floor", "sum", "floor", PEER_SUM, {.sum = do_nothing}};
PEER_FUNCTION(right_row) = {"right", "sum", "", PEER_SUM, {.sum = right_sum}};
PEER_FUNCTION(odd_row) = {"no-odd-byte", "sum", "", PEER_SUM, {.sum = no_odd_byte}};
PEER_FUNCTION(seed_row) = {"no-seed", "sum", "", PEER_SUM, {.sum = no_seed}};
PEER_FUNCTION(seedless_row) = {"seedless", "sum", "seedless", PEER_SUM, {.sum = no_seed}};
PEER_FUNCTION(narrow_row) = {"too-narrow", "sum", "", PEER_SUM, {.sum = too_narrow}};
PEER_FUNCTION(crash_row) = {"crash", "sum", "", PEER_SUM, {.sum = crash_in_sum}};
PEER_FUNCTION(copy_row) = {"right-copy", "sum_copy", "", PEER_SUM_COPY, {.sum_copy = right_copy}};
PEER_FUNCTION(much_row) = {"too-much", "sum_copy", "", PEER_SUM_COPY, {.sum_copy = copy_too_much}};
PEER_FUNCTION(little_row) = {
    "too-little", "sum_copy", "", PEER_SUM_COPY, {.sum_copy = copy_too_little}};
PEER_FUNCTION(lost_row) = {"lost-call", "call", "", PEER_LOOP, {.loop = lost_call}};
PEER_CHAIN_FUNCTION(chain_row, "right", "", sum_chain, NULL);
PEER_CHAIN_FUNCTION(linked_row, "linked", "", sum_linked, link_slices);
PEER_CHAIN_FUNCTION(even_row, "even", "", sum_even, NULL);
PEER_CHAIN_FUNCTION(first_row, "first", "", sum_first, NULL);
