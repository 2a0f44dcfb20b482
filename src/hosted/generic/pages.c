/* SPDX-License-Identifier: MIT */
/* Where pages of text demand nothing of what branches to them. */
#include "hosted/patch.h"

#include <sys/mman.h>

int carry_pages_protection(const void *properties, size_t size) {
    (void)properties;
    (void)size;
    return PROT_READ | PROT_EXEC;
}
