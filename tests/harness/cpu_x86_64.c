/* SPDX-License-Identifier: MIT */
#include "harness/cpu.h"

#include <cpuid.h>
#include <stdint.h>
#include <string.h>

/* Returns the builtin's opinion if `feature` is `name`: the builtin accepts only literals. */
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

bool cpu_brand(char brand[CPU_BRAND_BYTES]) {
    unsigned words[3][4];
    memset(brand, 0, CPU_BRAND_BYTES);
    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002 + i, &words[i][0], &words[i][1], &words[i][2], &words[i][3]))
            return true;
    memcpy(brand, words, sizeof words);
    return true;
}

#define XGETBV1_BIT 4 /* CPUID.(EAX=0DH,ECX=1):EAX */

/* Defined in call_x86_64.S. */
bool call_x86_64_xinuse_works(void);

bool cpu_tracks_use(void) {
    unsigned a, b, c, d;
    return __builtin_cpu_supports("avx") && __get_cpuid_count(0xd, 1, &a, &b, &c, &d) &&
           (a & XGETBV1_BIT) && call_x86_64_xinuse_works();
}

void cpu_load_downwards(const volatile int *address) {
    int value;
    __asm__ volatile("std; movl %1, %0; cld" : "=r"(value) : "m"(*address) : "cc");
}

#define DIRECTION (UINT64_C(1) << 10)

bool cpu_goes_down(void) {
    const uint64_t flags = __builtin_ia32_readeflags_u64();
    __asm__ volatile("cld" : : : "cc");
    return flags & DIRECTION;
}

/* Loads while a number is on the x87 stack. If the load faults, the number remains there, and the
   compiler does not know. */
void cpu_load_onto_x87(const volatile int *address) {
    int value;
    __asm__ volatile("fld1; movl %1, %0; fstp %%st(0)" : "=r"(value) : "m"(*address));
}

bool cpu_x87_is_empty(void) {
    uint16_t environment[14]; /* SDM vol. 1, figure 8-9 */
    __asm__ volatile("fnstenv %0; fldenv %0" : "=m"(environment));
    return environment[4] == 0xffff;
}
