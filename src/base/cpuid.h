/* SPDX-License-Identifier: MIT */
/* CPUID and XGETBV (Intel SDM vol. 2; AMD APM vol. 3, appendix E). x86-64 only. */
#ifndef CARRY_BASE_CPUID_H
#define CARRY_BASE_CPUID_H

#include <stdbool.h>
#include <stdint.h>

struct carry_cpuid {
    uint32_t reg[4]; /* EAX, EBX, ECX, EDX */
};

static inline struct carry_cpuid carry_cpuid(uint32_t leaf, uint32_t subleaf) {
    struct carry_cpuid r;
    __asm__ volatile("cpuid"
                     : "=a"(r.reg[0]), "=b"(r.reg[1]), "=c"(r.reg[2]), "=d"(r.reg[3])
                     : "0"(leaf), "2"(subleaf));
    return r;
}

/* Returns whether a basic leaf exists. Does not check its subleaves: leaves report these
 * differently. */
static inline bool carry_cpuid_has_leaf(uint32_t leaf) {
    return carry_cpuid(0, 0).reg[0] >= leaf;
}

/* Returns XCR0 (index 0), or the components of XCR0 that are in use (index 1, if CPUID leaf 0xd,
 * subleaf 1, EAX bit 2 is set). Requires CR4.OSXSAVE. */
static inline uint64_t carry_xgetbv(uint32_t index) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(index));
    return low | (uint64_t)high << 32;
}

/* Returns XCR0, or 0 if the operating system has not set CR4.OSXSAVE. */
static inline uint64_t carry_xcr0(void) {
    return carry_cpuid(1, 0).reg[2] >> 27 & 1 ? carry_xgetbv(0) : 0;
}

#endif
