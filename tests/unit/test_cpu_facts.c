/* SPDX-License-Identifier: MIT */
/* Tests the table of preferences of CPUs, for other CPUs than this one. */
#include <string.h>

#include "cpu/x86_64/model.h"

#include "harness/tap.h"

#define INTEL(family, model)                                                                       \
    { CARRY_CPU_INTEL, family, model }
#define AMD(family, model)                                                                         \
    { CARRY_CPU_AMD, family, model }

/* The preferences as a set of bits; `all` contains those of the table. */
#define BIT(name) CARRY_CPU_BIT(name)
#define WIDE      (BIT(prefer512) | BIT(prefer_multiply) | BIT(prefer_masks))

static const struct {
    const char *name;
    struct carry_cpu_model model;
    uint32_t preferences;
} cpus[] = {
    {"Skylake-SP, Cascade Lake", INTEL(6, 0x55), BIT(early_rep) | BIT(fast_xgetbv1)},
    {"Ice Lake, server", INTEL(6, 0x6a), (WIDE & ~BIT(prefer512)) | BIT(fast_xgetbv1)},
    {"Ice Lake, client", INTEL(6, 0x7e), (WIDE & ~BIT(prefer512)) | BIT(fast_xgetbv1)},
    {"Tiger Lake", INTEL(6, 0x8c), (WIDE & ~BIT(prefer512)) | BIT(fast_xgetbv1)},
    {"Sapphire Rapids", INTEL(6, 0x8f), (WIDE & ~BIT(prefer512)) | BIT(fast_xgetbv1)},
    {"Emerald Rapids", INTEL(6, 0xcf), (WIDE & ~BIT(prefer512)) | BIT(fast_xgetbv1)},
    {"Granite Rapids", INTEL(6, 0xad), (WIDE & ~BIT(prefer512)) | BIT(fast_xgetbv1)},
    {"Zen 3", AMD(0x19, 0x01), WIDE},
    {"Zen 4", AMD(0x19, 0x11), WIDE},
    {"Zen 5", AMD(0x1a, 0x02), WIDE},
    {"AMD, model 0x55 of family 6", AMD(6, 0x55), WIDE},
    {"another maker", {CARRY_CPU_ANY_MAKER, 6, 0x55}, WIDE},
};

static bool is_preference(size_t index) {
    struct carry_cpu_feature feature;
    return carry_cpu_feature(index, &feature) && feature.is_preference;
}

static uint32_t preferences_of(const struct carry_cpu_model *model) {
    uint32_t bits = 0;
    for (size_t i = 0; i < CARRY_CPU_COUNT; i++)
        if (is_preference(i) && carry_cpu_fact_of(i, model)->holds)
            bits |= UINT32_C(1) << i;
    return bits;
}

static void test_cpus(void) {
    for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++) {
        const uint32_t found = preferences_of(&cpus[i].model);
        tap_ok(TAP_EQ(found, cpus[i].preferences), "%s: preferences %#x, wanted %#x", cpus[i].name,
               (unsigned)found, (unsigned)cpus[i].preferences);
    }
}

static bool is_decided(size_t preference, const struct carry_cpu_model *model) {
    const struct carry_cpu_fact *fact = carry_cpu_fact_of(preference, model);
    return fact && fact->evidence && *fact->evidence;
}

static bool is_decided_everywhere(size_t preference) {
    for (unsigned maker = CARRY_CPU_ANY_MAKER; maker <= CARRY_CPU_AMD; maker++)
        for (unsigned family = 0; family <= 15 + 255; family++)
            for (unsigned model = 0; model <= 255; model++)
                if (!is_decided(preference, &(struct carry_cpu_model){(enum carry_cpu_maker)maker,
                                                                      family, model}))
                    return false;
    return true;
}

static void test_every_cpu(void) {
    struct carry_cpu_feature feature;
    for (size_t i = 0; carry_cpu_feature(i, &feature); i++)
        if (feature.is_preference)
            tap_ok(is_decided_everywhere(i), "%s: every CPU has a row, with its evidence",
                   feature.name);
}

/* The table contains no capabilities: CPUID reports them. */
static void test_capabilities(void) {
    const struct carry_cpu_model model = AMD(0x19, 0x01);
    bool ok = true;
    for (size_t i = 0; i < CARRY_CPU_COUNT; i++)
        ok = ok && TAP_TRUE(is_preference(i) || !carry_cpu_fact_of(i, &model));
    tap_ok(ok, "the table decides preferences only");
}

int main(void) {
    test_cpus();
    test_every_cpu();
    test_capabilities();
    return tap_done();
}
