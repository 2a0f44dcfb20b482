/* SPDX-License-Identifier: MIT */
/* An architecture whose text pages accept every branch. */
#include "hosted/hosted_patch.h"

#include <sys/mman.h>

int carry_pages_protection(const void *properties, size_t size) {
    (void)properties;
    (void)size;
    return PROT_READ | PROT_EXEC;
}
