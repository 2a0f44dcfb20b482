/* SPDX-License-Identifier: MIT */
/* `carry bench sum`: times the kernels of the Internet checksum. */
#include <string.h>

#include "bench/benches.h"
#include "bench/kernels.h"

/* Sums by the loop of RFC 1071, section 4.1. The empty assembly keeps compilers from vectorising
 * the loop, so that all builds time the same code. */
static uint32_t sum_by_words(const void *data, size_t size, uint32_t seed) {
    const unsigned char *p = data;
    uint64_t sum = seed;
    for (; size >= 2; p += 2, size -= 2) {
        uint16_t word;
        memcpy(&word, p, 2);
        sum += word;
        __asm__("" : "+r"(sum));
    }
    if (size) {
        uint16_t word = 0;
        memcpy(&word, p, 1);
        sum += word;
    }
    sum = (sum & 0xffffffff) + (sum >> 32);
    return (uint32_t)(sum + (sum >> 32));
}

static uint32_t fold_result(uint32_t sum) {
    return carry_sum_fold(sum);
}

int bench_sum(int argc, char **argv) {
    const struct kernels_work work = {
        .name = "sum",
        .title = "the Internet checksum",
        .examples = "  carry bench sum --against adc --mode hot\n"
                    "  CARRY_CPU_MASK=avx512bw carry bench sum\n",
        .table = &kernel_tables[KERNEL_TABLE_SUM],
        .plain = sum_by_words,
        .plain_title = "the loop of RFC 1071, 16 bits at a time, not vectorised",
        .result = fold_result,
        .result_digits = 4,
    };
    return kernels_bench(&work, argc, argv);
}
