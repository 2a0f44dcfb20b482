/* SPDX-License-Identifier: MIT */
/* Tests the table of CPU preferences, for CPUs other than this one. */
#include <string.h>

#include "cpu/x86_64/model.h"

#include "harness/tap.h"

#define INTEL(family, model)                                                                       \
    { CARRY_CPU_INTEL, family, model }
#define AMD(family, model)                                                                         \
    { CARRY_CPU_AMD, family, model }

/* Preferences as a set of bits; WIDE is for CPUs that the table does not list. */
#define BIT(name) CARRY_CPU_BIT(name)
#define NARROW    (BIT(prefer_multiply) | BIT(prefer_masks))
#define WIDE      (NARROW | BIT(prefer512) | BIT(prefer512_copies))

static const struct {
    const char *name;
    struct carry_cpu_model model;
    uint32_t preferences;
} cpus[] = {
    {"Skylake-SP, Cascade Lake", INTEL(6, 0x55), BIT(prefer_masks) | BIT(fast_xgetbv1)},
    {"Cannon Lake", INTEL(6, 0x66), WIDE},
    {"Ice Lake, server", INTEL(6, 0x6a), NARROW | BIT(fast_xgetbv1)},
    {"Ice Lake, client", INTEL(6, 0x7e), NARROW | BIT(fast_xgetbv1)},
    {"Tiger Lake", INTEL(6, 0x8c), NARROW | BIT(fast_xgetbv1)},
    {"Sapphire Rapids", INTEL(6, 0x8f), WIDE},
    {"Emerald Rapids", INTEL(6, 0xcf), WIDE},
    {"Granite Rapids", INTEL(6, 0xad), WIDE},
    {"Intel with AMX, by the model of Rocket Lake", INTEL(6, 0xa7), NARROW | BIT(prefer512_copies)},
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

/* Returns whether a row that decides otherwise than for unknown CPUs has two sources. */
static bool is_supported(size_t preference, const struct carry_cpu_model *model) {
    const struct carry_cpu_model unknown = {CARRY_CPU_ANY_MAKER, 0, 0};
    const struct carry_cpu_fact *fact = carry_cpu_fact_of(preference, model);
    return fact->holds == carry_cpu_fact_of(preference, &unknown)->holds || fact->sources >= 2;
}

/* Returns whether a check passes for every CPU. */
static bool passes_everywhere(bool (*check)(size_t, const struct carry_cpu_model *),
                              size_t preference) {
    for (unsigned maker = CARRY_CPU_ANY_MAKER; maker <= CARRY_CPU_AMD; maker++)
        for (unsigned family = 0; family <= 15 + 255; family++)
            for (unsigned model = 0; model <= 255; model++)
                if (!check(preference,
                           &(struct carry_cpu_model){(enum carry_cpu_maker)maker, family, model}))
                    return false;
    return true;
}

static void test_every_cpu(void) {
    struct carry_cpu_feature feature;
    for (size_t i = 0; carry_cpu_feature(i, &feature); i++) {
        if (!feature.is_preference)
            continue;
        tap_ok(passes_everywhere(is_decided, i), "%s: every CPU has a row, with its evidence",
               feature.name);
        tap_ok(passes_everywhere(is_supported, i), "%s: no single host chooses for a model",
               feature.name);
    }
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
