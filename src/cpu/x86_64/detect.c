/* SPDX-License-Identifier: MIT */
/* CPUID and XCR0 (Intel SDM vol. 2A, CPUID; vol. 1, 13.1; AMD APM vol. 3, appendix E). */
#include "base/cpuid.h"
#include "cpu/cpu.h"

static bool leaf_exists(uint32_t leaf, uint32_t subleaf) {
    /* Leaf 0DH has a subleaf a component, and says so in other ways. */
    return carry_cpuid_has_leaf(leaf) &&
           (subleaf == 0 || leaf == 0xd || carry_cpuid(leaf, 0).reg[0] >= subleaf);
}

struct model {
    bool intel;
    unsigned family;
    unsigned model;
};

static struct model model(void) {
    struct carry_cpuid vendor = carry_cpuid(0, 0);
    uint32_t signature = carry_cpuid(1, 0).reg[0];
    unsigned family = signature >> 8 & 15;
    unsigned extended_model = family == 6 || family == 15 ? signature >> 16 & 15 : 0;
    return (struct model){
        .intel = vendor.reg[1] == 0x756e6547 /* Genu */ && vendor.reg[3] == 0x49656e69 /* ineI */,
        .family = family == 15 ? 15 + (signature >> 20 & 255) : family,
        .model = extended_model << 4 | (signature >> 4 & 15),
    };
}

/*
 * Intel cores up to Tiger Lake lower their clock, and stall while they do so, when 512-bit
 * instructions run; those since Sapphire Rapids and Rocket Lake, and all of AMD's, do not.
 */
static bool prefers_512(void) {
    static const uint8_t slowed[] = {
        0x55,             /* Skylake-X, Cascade Lake, Cooper Lake */
        0x66,             /* Cannon Lake */
        0x6a, 0x6c,       /* Ice Lake servers */
        0x7d, 0x7e, 0x9d, /* Ice Lake clients */
        0x8c, 0x8d,       /* Tiger Lake */
    };
    struct model m = model();
    for (size_t i = 0; i < sizeof slowed; i++)
        if (m.intel && m.family == 6 && m.model == slowed[i])
            return false;
    return true;
}

/*
 * XGETBV with ECX = 1 takes 6 to 9 ns on Sapphire Rapids and 12 on Zen 5, where looking at the
 * values of eight vectors takes 4. Looking runs 512-bit instructions, which slow the older of
 * Intel's cores, and none of AMD's.
 */
static bool prefers_xgetbv1(void) {
    return model().intel;
}

bool carry_cpu_detect(const struct carry_cpu_row *row) {
    if (row->kind == CARRY_CPU_KIND_PREFERENCE)
        return row->preference == CARRY_CPU_PREFERS_512 ? prefers_512() : prefers_xgetbv1();
    return leaf_exists(row->leaf, row->subleaf) &&
           carry_cpuid(row->leaf, row->subleaf).reg[row->reg] >> row->bit & 1 &&
           (row->state & ~carry_xcr0()) == 0;
}

void carry_cpu_detect_model(char *name, size_t size) {
    size_t used = 0;
    bool known = carry_cpuid(0x80000000, 0).reg[0] >= 0x80000004;
    for (uint32_t i = 0; known && i < 48; i++) {
        struct carry_cpuid r = carry_cpuid(0x80000002 + i / 16, 0);
        char c = (char)(r.reg[i / 4 % 4] >> i % 4 * 8);
        bool skip = c == ' ' && (used == 0 || name[used - 1] == ' '); /* Intel pads in front */
        if (c == '\0' || used + 1 >= size)
            break;
        if (!skip)
            name[used++] = c;
    }
    while (used && name[used - 1] == ' ')
        used--;
    name[used] = '\0';
}
