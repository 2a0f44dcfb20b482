/* SPDX-License-Identifier: MIT */
#include "harness/cpu.h"

enum cpu_opinion cpu_supports(const char *feature) {
    (void)feature;
    return CPU_SAYS_NOTHING;
}

bool cpu_brand(char brand[CPU_BRAND_BYTES]) {
    brand[0] = '\0';
    return true;
}
