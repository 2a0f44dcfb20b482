/* SPDX-License-Identifier: MIT */
/*
 * passt's checksum, inverted. It uses AVX2, if the compiler may, from a multiple of 32 bytes on;
 * otherwise C.
 */
#include "checksum.c"

#include "peer.h"

static uint32_t sum(const void *data, size_t size, uint32_t seed) {
    (void)seed;
    return (uint16_t)~csum(data, size, 0);
}

PEER_FUNCTION(row) = {"passt", "sum", "seedless", PEER_SUM, {.sum = sum}};
