/* SPDX-License-Identifier: MIT */
/* Detection on x86-64 (Intel SDM vol. 2A, CPUID; vol. 1, 13.1; AMD APM vol. 3, appendix E). */
#include "base/cpuid.h"
#include "cpu/x86_64/model.h"

static bool leaf_exists(uint32_t leaf, uint32_t subleaf) {
    /* Leaf 0DH has one subleaf for each component: EAX of subleaf 0 is not the number of the last
     * subleaf. */
    return carry_cpuid_has_leaf(leaf) &&
           (subleaf == 0 || leaf == 0xd || carry_cpuid(leaf, 0).reg[0] >= subleaf);
}

/* Returns the maker, by the middle of the name that CPUID reports: GenuineIntel, AuthenticAMD. */
static enum carry_cpu_maker detect_maker(void) {
    switch (carry_cpuid(0, 0).reg[3]) {
    case 0x49656e69: /* ineI */
        return CARRY_CPU_INTEL;
    case 0x69746e65: /* enti */
        return CARRY_CPU_AMD;
    default:
        return CARRY_CPU_ANY_MAKER;
    }
}

static struct carry_cpu_model detect_model(void) {
    uint32_t signature = carry_cpuid(1, 0).reg[0];
    unsigned family = signature >> 8 & 15;
    unsigned extended_model = family == 6 || family == 15 ? signature >> 16 & 15 : 0;
    return (struct carry_cpu_model){
        .maker = detect_maker(),
        .family = family == 15 ? 15 + (signature >> 20 & 255) : family,
        .model = extended_model << 4 | (signature >> 4 & 15),
    };
}

struct fact {
    size_t preference;
    enum carry_cpu_maker maker;
    unsigned family;
    unsigned first, last; /* models */
    struct carry_cpu_fact fact;
};

#define ANY_FAMILY          0
#define MODELS(first, last) first, last
#define ANY_MODEL           0, 255
#define LISTED              2 /* a published list is worth as much as two hosts */
#define CARRY_CPU_FACT_ROW(preference, holds, maker, family, first, last, sources, evidence)       \
    {CARRY_CPU_INDEX_##preference, CARRY_CPU_##maker, family, first, last,                         \
     {holds, sources, evidence}},
#define CARRY_CPU_FACT(...) CARRY_CPU_FACT_ROW(__VA_ARGS__)
static const struct fact facts[] = {
#include "cpu/x86_64/facts.def"
};

static bool fact_fits(const struct fact *fact, const struct carry_cpu_model *model) {
    return (fact->maker == CARRY_CPU_ANY_MAKER || fact->maker == model->maker) &&
           (fact->family == ANY_FAMILY || fact->family == model->family) &&
           fact->first <= model->model && model->model <= fact->last;
}

const struct carry_cpu_fact *carry_cpu_fact_of(size_t preference,
                                               const struct carry_cpu_model *model) {
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (facts[i].preference == preference && fact_fits(&facts[i], model))
            return &facts[i].fact;
    return NULL;
}

const struct carry_cpu_fact *carry_cpu_fact(size_t preference) {
    const struct carry_cpu_model here = detect_model();
    return carry_cpu_fact_of(preference, &here);
}

bool carry_cpu_detect(const struct carry_cpu_row *row) {
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
