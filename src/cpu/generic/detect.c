/* SPDX-License-Identifier: MIT */
/* An architecture without rows in <carry/features.def>. */
#include "cpu/cpu_internal.h"

bool carry_cpu_detect(const struct carry_cpu_row *row) {
    (void)row;
    return false;
}

const struct carry_cpu_fact *carry_cpu_fact(size_t preference) {
    (void)preference;
    return NULL;
}

void carry_cpu_detect_model(char *name, size_t size) {
    (void)size;
    name[0] = '\0';
}
