/* SPDX-License-Identifier: MIT */
/* Peers with one fault each. The benchmark's process must find it before it times them. */
#include <stdlib.h>
#include <string.h>

#include "peer.h"

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

/* Returns right sums only of data that fit in a packet. */
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
