/* SPDX-License-Identifier: MIT */
#include "harness/cpu.h"

#include <cpuid.h>
#include <string.h>

/* The builtin takes literals only. */
#define OPINION_AS(name, builtin_name)                                                             \
    if (!strcmp(feature, name))                                                                    \
        return __builtin_cpu_supports(builtin_name) ? CPU_SAYS_YES : CPU_SAYS_NO;
#define OPINION(name) OPINION_AS(name, name)

enum cpu_opinion cpu_supports(const char *feature) {
    OPINION("avx")
    OPINION("avx512f")
    OPINION("bmi2")
    OPINION("avx2")
    OPINION("avx512bw")
    OPINION("avx512vl")
    OPINION("avx512vnni")
    OPINION_AS("sse42", "sse4.2")
    OPINION_AS("pclmulqdq", "pclmul")
    return CPU_SAYS_NOTHING;
}

void cpu_brand(char brand[CPU_BRAND_BYTES]) {
    unsigned words[3][4];
    memset(brand, 0, CPU_BRAND_BYTES);
    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002 + i, &words[i][0], &words[i][1], &words[i][2], &words[i][3]))
            return;
    memcpy(brand, words, sizeof words);
}
