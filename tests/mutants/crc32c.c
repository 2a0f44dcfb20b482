/* SPDX-License-Identifier: MIT */
#include "mutants/mutants.h"

static uint32_t register_after(const unsigned char *p, size_t size, uint32_t reg,
                               uint32_t polynomial) {
    for (; size; p++, size--) {
        reg ^= *p;
        for (int bit = 0; bit < 8; bit++)
            reg = reg >> 1 ^ (reg & 1 ? polynomial : 0);
    }
    return reg;
}

uint32_t broken_crc32c_not(const void *data, size_t size, uint32_t crc) {
    return ~register_after(data, size, ~crc, 0x82f63b78);
}

/* Does not invert a seed other than 0: right only for callers that never continue a CRC. */
uint32_t broken_crc32c_not_inverted(const void *data, size_t size, uint32_t crc) {
    return ~register_after(data, size, crc ? crc : ~crc, 0x82f63b78);
}

uint32_t broken_crc32c_bytes_swapped(const void *data, size_t size, uint32_t crc) {
    return size ? __builtin_bswap32(broken_crc32c_not(data, size, crc)) : crc;
}

/* Joins the first two of three streams in the wrong order. */
uint32_t broken_crc32c_streams_swapped(const void *data, size_t size, uint32_t crc) {
    const unsigned char *p = data;
    if (size >= 96) {
        crc = broken_crc32c_not(p + 32, 32, crc);
        crc = broken_crc32c_not(p, 32, crc);
        p += 64;
        size -= 64;
    }
    return broken_crc32c_not(p, size, crc);
}

uint32_t broken_crc32c_fails_at_64_kib(const void *data, size_t size, uint32_t crc) {
    return broken_crc32c_not(data, size % 0x10000, crc);
}

uint32_t broken_crc32c_reads_past_end(const void *data, size_t size, uint32_t crc) {
    uint32_t right = broken_crc32c_not(data, size, crc);
    (void)*((const volatile unsigned char *)data + size);
    return right;
}

/* Uses the polynomial of Ethernet. */
uint32_t broken_crc32c_another_polynomial(const void *data, size_t size, uint32_t crc) {
    return ~register_after(data, size, ~crc, 0xedb88320);
}
