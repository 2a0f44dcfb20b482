/* SPDX-License-Identifier: MIT */
/* The vectors used here are part of the architecture's base (Arm ARM, A1.4). */
#include "cpu/cpu.h"

bool carry_cpu_detect(const struct carry_cpu_row *row) {
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
