/* SPDX-License-Identifier: MIT */
#include "oracle.h"

#include <string.h>

/* One's complement addition: the carry out of the top comes back in at the bottom. */
static uint16_t add(uint16_t a, uint16_t b) {
    uint32_t sum = (uint32_t)a + b;
    return (uint16_t)(sum > 0xffff ? sum - 0x10000 + 1 : sum);
}

void oracle_byte(struct oracle *oracle, unsigned char byte) {
    oracle->sum = add(oracle->sum, (uint16_t)(oracle->odd ? byte : byte << 8));
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
