/* SPDX-License-Identifier: MIT */
#include "harness/oracle.h"

#include <string.h>

/* Adds in one's complement: a carry out of bit 15 is added at bit 0. */
static uint16_t add_ones_complement(uint16_t a, uint16_t b) {
    uint32_t sum = (uint32_t)a + b;
    return (uint16_t)(sum > 0xffff ? sum - 0x10000 + 1 : sum);
}

void oracle_byte(struct oracle *oracle, unsigned char byte) {
    oracle->sum =
        add_ones_complement((uint16_t)oracle->sum, (uint16_t)(oracle->odd ? byte : byte << 8));
    oracle->odd = !oracle->odd;
}

struct oracle oracle_start(uint32_t seed) {
    struct oracle oracle = {0, false};
    unsigned char bytes[4];
    memcpy(bytes, &seed, 4);
    for (int i = 0; i < 4; i++)
        oracle_byte(&oracle, bytes[i]);
    return oracle;
}

uint16_t oracle_value(const struct oracle *oracle) {
    const unsigned char bytes[2] = {
        (unsigned char)(oracle->sum >> 8),
        (unsigned char)(oracle->sum & 255),
    };
    uint16_t value;
    memcpy(&value, bytes, 2);
    return value;
}

uint16_t oracle_sum(const void *data, size_t size, uint32_t seed) {
    const unsigned char *p = data;
    struct oracle oracle = oracle_start(seed);
    for (size_t i = 0; i < size; i++)
        oracle_byte(&oracle, p[i]);
    return oracle_value(&oracle);
}

uint16_t oracle_fold(uint32_t partial) {
    return oracle_sum(NULL, 0, partial);
}

struct oracle oracle_crc32c_start(uint32_t seed) {
    return (struct oracle){~seed, false};
}

/* Adds a byte to a CRC. Polynomials have their highest power in bit 0. */
void oracle_crc32c_byte(struct oracle *oracle, unsigned char byte) {
    for (int bit = 0; bit < 8; bit++) {
        bool subtract = (oracle->sum ^ byte >> bit) & 1;
        oracle->sum >>= 1;
        if (subtract)
            oracle->sum ^= 0x82f63b78;
    }
}

static uint32_t crc_value(const struct oracle *oracle) {
    return oracle_value(oracle);
}

static uint32_t fold(uint32_t partial) {
    return oracle_fold(partial);
}

static uint32_t crc32c_value(const struct oracle *oracle) {
    return ~oracle->sum;
}

static uint32_t crc32c_fold(uint32_t crc) {
    return crc;
}

const struct oracle_kind oracle_internet = {oracle_start, oracle_byte, crc_value, fold};
const struct oracle_kind oracle_crc32c = {oracle_crc32c_start, oracle_crc32c_byte, crc32c_value,
                                          crc32c_fold};

uint32_t oracle_run(const struct oracle_kind *kind, const void *data, size_t size, uint32_t seed) {
    const unsigned char *p = data;
    struct oracle oracle = kind->start(seed);
    for (size_t i = 0; i < size; i++)
        kind->byte(&oracle, p[i]);
    return kind->value(&oracle);
}
