/* SPDX-License-Identifier: MIT */
/* Every kernel of sums and of copies that sum, at all alignments, against the oracle. */
#include "harness/rng.h"
#include "harness/tap.h"
#include "kernel.h"
#include "oracle.h"

#include <carry/sum.h>

#include <string.h>

#define LARGEST 640
#define STARTS  64 /* alignments */

static uint8_t data[STARTS + LARGEST + 1] __attribute__((aligned(64)));
static uint8_t target[STARTS + LARGEST + 1] __attribute__((aligned(64)));

static bool is_right(uint32_t sum, const struct oracle *oracle) {
    return carry_sum_fold(sum) == oracle_value(oracle);
}

static bool copies(const uint8_t *from, uint8_t *to, size_t size, const struct oracle *oracle) {
    memset(to, 0xee, size + 1);
    return is_right(carry_sum_copy(to, from, size, 0x12345678), oracle) &&
           !memcmp(to, from, size) && to[size] == 0xee;
}

/* Sizes one by one, so that the oracle grows by a byte at a time. */
static size_t count_wrong(size_t start) {
    const uint8_t *from = data + start;
    struct oracle oracle = oracle_start(0x12345678);
    size_t wrong = 0;
    for (size_t size = 0; size <= LARGEST; size++) {
        wrong += !is_right(carry_sum_call(from, size, 0x12345678), &oracle);
        wrong += !copies(from, target + rng_below(STARTS), size, &oracle);
        oracle_byte(&oracle, from[size]);
    }
    return wrong;
}

void test_sum(void);
void test_sum(void) {
    struct carry_sum_kernel kernel;
    rng_fill(data, sizeof data);
    for (size_t i = 0; carry_sum_kernel(i, &kernel); i++) {
        size_t wrong = 0;
        if (carry_sum_select(kernel.name)) {
            tap_skip(kernel.name, "this CPU lacks %s", kernel.missing ? kernel.missing : "nothing");
            continue;
        }
        for (size_t start = 0; start < STARTS; start++)
            wrong += count_wrong(start);
        tap_ok(!wrong, "%s: sums and copies of 0 to %u bytes, %u alignments: %zu wrong",
               kernel.name, LARGEST, STARTS, wrong);
    }
    carry_sum_select(NULL);
}
