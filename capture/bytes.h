/* SPDX-License-Identifier: MIT */
/* Loads numbers from the bytes of a file; `swap` says that the file's byte order is not this
   machine's. */
#ifndef CARRY_CAPTURE_SRC_BYTES_H
#define CARRY_CAPTURE_SRC_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t load16(const uint8_t *bytes, bool swap) {
    uint16_t value;
    memcpy(&value, bytes, sizeof value);
    return swap ? __builtin_bswap16(value) : value;
}

static inline uint32_t load32(const uint8_t *bytes, bool swap) {
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return swap ? __builtin_bswap32(value) : value;
}

/* Loads numbers in network byte order. */
static inline uint16_t load16_network(const uint8_t *bytes) {
    return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

static inline uint32_t load32_network(const uint8_t *bytes) {
    return (uint32_t)load16_network(bytes) << 16 | load16_network(bytes + 2);
}

static inline uint64_t load64(const uint8_t *bytes, bool swap) {
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return swap ? __builtin_bswap64(value) : value;
}

/* Loads numbers with the lowest byte first. */
static inline uint16_t load16_lowest(const uint8_t *bytes) {
    return (uint16_t)(bytes[1] << 8 | bytes[0]);
}

static inline uint32_t load32_lowest(const uint8_t *bytes) {
    return (uint32_t)load16_lowest(bytes + 2) << 16 | load16_lowest(bytes);
}

static inline uint64_t load64_lowest(const uint8_t *bytes) {
    return (uint64_t)load32_lowest(bytes + 4) << 32 | load32_lowest(bytes);
}

#endif
