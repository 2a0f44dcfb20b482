/* SPDX-License-Identifier: MIT */
/* NEON is part of the architecture's base (Arm ARM, A1.4). Of the rest the host tells: what the CPU
 * has counts only if the system enabled it, and ID registers cannot be read everywhere. */
#include "cpu/cpu.h"

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

void carry_cpu_detect_model(char *name, size_t size) {
    (void)size;
    name[0] = '\0';
}
