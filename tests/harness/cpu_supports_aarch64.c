/* SPDX-License-Identifier: MIT */
/*
 * Reads the ID registers. Linux hides features there that it did not enable
 * (arm64/cpu-feature-registers.rst).
 */
#include "harness/cpu.h"

#include <asm/hwcap.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#define ID_REGISTER(name)                                                                          \
    ({                                                                                             \
        uint64_t id_;                                                                              \
        __asm__("mrs %0, " #name : "=r"(id_));                                                     \
        id_;                                                                                       \
    })

static uint64_t id_field(uint64_t id, unsigned lowest_bit) {
    return id >> lowest_bit & 15;
}

static bool has_feature(const char *feature) {
    if (!strcmp(feature, "crc32"))
        return id_field(ID_REGISTER(id_aa64isar0_el1), 16) >= 1;
    if (!strcmp(feature, "pmull"))
        return id_field(ID_REGISTER(id_aa64isar0_el1), 4) >= 2;
    if (!strcmp(feature, "sve"))
        return id_field(ID_REGISTER(id_aa64pfr0_el1), 32) >= 1;
    if (!strcmp(feature, "sve2"))
        return has_feature("sve") &&
               id_field(ID_REGISTER(S3_0_C0_C4_4), 0) >= 1;  /* ID_AA64ZFR0_EL1 */
    return id_field(ID_REGISTER(id_aa64pfr0_el1), 20) != 15; /* neon */
}

enum cpu_opinion cpu_supports(const char *feature) {
    if (!(getauxval(AT_HWCAP) & HWCAP_CPUID))
        return CPU_SAYS_NOTHING;
    return has_feature(feature) ? CPU_SAYS_YES : CPU_SAYS_NO;
}

/* Copies the name of the CPU that QEMU_CPU makes qemu-aarch64 emulate. */
bool cpu_brand(char brand[CPU_BRAND_BYTES]) {
    static const char *const brands[][2] = {{"cortex-a53", "Arm Cortex-A53"},
                                            {"neoverse-n1", "Arm Neoverse N1"}};
    const char *emulated = getenv("QEMU_CPU");
    for (size_t i = 0; emulated && i < sizeof brands / sizeof brands[0]; i++)
        if (!strcmp(emulated, brands[i][0]))
            return snprintf(brand, CPU_BRAND_BYTES, "%s", brands[i][1]);
    return false;
}
