/* SPDX-License-Identifier: MIT */
/*
 * Detection on AArch64. NEON is part of the base architecture (Arm ARM, A1.4). The host reports all
 * other features: a feature of the CPU counts only if the system has enabled it, and ID registers
 * cannot be read everywhere.
 */
#include "cpu/cpu_internal.h"

#include "base/host.h"

bool carry_cpu_detect(const struct carry_cpu_row *row) {
    if (row->kind == CARRY_CPU_KIND_HWCAP)
        return carry_host_hwcap((enum carry_host_hwcap)row->leaf) >> row->bit & 1;
    return row->kind == CARRY_CPU_KIND_BASE;
}

const struct carry_cpu_fact *carry_cpu_fact(size_t preference) {
    (void)preference;
    return NULL;
}

/* --- The name --- */

#define HWCAP_CPUID_BIT 11 /* MIDR_EL1 may be read (Linux, arm64's cpu-feature-registers.rst) */

static const struct model {
    uint8_t implementer;
    uint16_t part;
    const char *name;
} models[] = {
#define CARRY_CPU_MODEL(implementer, part, name) {implementer, part, name},
#include "cpu/aarch64/models.def"
#undef CARRY_CPU_MODEL
};

static const char *model_name(uint64_t midr) {
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++)
        if (models[i].implementer == (midr >> 24 & 0xff) && models[i].part == (midr >> 4 & 0xfff))
            return models[i].name;
    return "";
}

void carry_cpu_detect_model(char *name, size_t size) {
    const char *found = "";
    uint64_t midr;
    size_t used = 0;
    if (carry_host_hwcap(CARRY_HOST_HWCAP) >> HWCAP_CPUID_BIT & 1) {
        __asm__("mrs %0, midr_el1" : "=r"(midr));
        found = model_name(midr);
    }
    for (; found[used] && used + 1 < size; used++)
        name[used] = found[used];
    name[used] = '\0';
}
