/* SPDX-License-Identifier: MIT */
#include "bench/load.h"

#include <carry/cpu.h>

#include <string.h>

/* Weak symbols, NULL in builds for other architectures. */
__attribute__((weak)) carry_sum_fn bench_load_avx512, bench_load_avx2;

typedef uint64_t vector __attribute__((vector_size(16)));

static vector load_vector(const unsigned char *p) {
    vector v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* Loads less than one vector: two overlapping words, or bytes. */
static uint32_t load_few(const unsigned char *p, size_t size) {
    if (size >= 8) {
        uint64_t a, b;
        memcpy(&a, p, 8);
        memcpy(&b, p + size - 8, 8);
        return (uint32_t)(a | b);
    }
    if (size >= 4) {
        uint32_t a, b;
        memcpy(&a, p, 4);
        memcpy(&b, p + size - 4, 4);
        return a | b;
    }
    return size ? p[0] | p[size / 2] | p[size - 1] : 0;
}

/* Loads on any architecture: compilers put vectors of 128 bits into registers of the CPU. */
static uint32_t load_128(const void *data, size_t size, uint32_t sum) {
    (void)sum;
    const unsigned char *p = data;
    if (size < sizeof(vector))
        return load_few(p, size);
    const unsigned char *last = p + size - sizeof(vector);
    vector a = load_vector(last), b = a, c = a, d = a;
    for (; size >= 4 * sizeof a; p += 4 * sizeof a, size -= 4 * sizeof a) {
        a |= load_vector(p);
        b |= load_vector(p + sizeof a);
        c |= load_vector(p + 2 * sizeof a);
        d |= load_vector(p + 3 * sizeof a);
    }
    for (; size >= sizeof a; p += sizeof a, size -= sizeof a)
        a |= load_vector(p);
    a |= b | c | d;
    return (uint32_t)a[0];
}

struct bench_load bench_load_widest(void) {
    static const struct bench_load loads[] = {
        {bench_load_avx512, "avx512bw", 512},
        {bench_load_avx2, "avx2", 256},
    };
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
        if (loads[i].load && carry_cpu_has(loads[i].feature))
            return loads[i];
    return (struct bench_load){load_128, NULL, 128};
}
