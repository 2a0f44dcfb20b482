/* SPDX-License-Identifier: MIT */
/* `carry bench crc`: times the kernels of CRC32c. */
#include "bench/benches.h"
#include "bench/kernels.h"

/* The polynomial 0x1edc6f41, its bits reversed. */
#define POLYNOMIAL 0x82f63b78u

static uint32_t remainders[256];

static void make_remainders(void) {
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
        remainders[byte] = crc;
    }
}

/* Computes CRC32c by the loop of RFC 9260, appendix A. */
static uint32_t plain_crc32c(const void *data, size_t size, uint32_t seed) {
    const unsigned char *p = data;
    uint32_t crc = ~seed;
    for (; size; size--)
        crc = crc >> 8 ^ remainders[(crc ^ *p++) & 0xff];
    return ~crc;
}

static uint32_t whole_crc(uint32_t crc) {
    return crc;
}

int bench_crc(int argc, char **argv) {
    const struct kernels_work work = {
        .name = "crc",
        .title = "CRC32c",
        .examples = "  carry bench crc --against generic --mode hot\n"
                    "  CARRY_CPU_MASK=pclmulqdq carry bench crc\n",
        .table = &kernel_tables[KERNEL_TABLE_CRC32C],
        .plain = plain_crc32c,
        .plain_title = "the loop of RFC 9260, a byte at a time, by a table",
        .result = whole_crc,
        .result_digits = 8,
    };
    make_remainders();
    return kernels_bench(&work, argc, argv);
}
