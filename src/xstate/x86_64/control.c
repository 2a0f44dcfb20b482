/* SPDX-License-Identifier: MIT */
/* The registers that sections keep: components of XSAVE. */
#include "base/general_begin.h"

#include "xstate/image_internal.h"

bool carry_vectors_known(void) {
    return carry_xstate_enabled();
}

/* Creates an area in the standard form, which every XRSTOR accepts. */
void carry_vectors_create(void *area, uint64_t mask) {
    carry_image_start(area, carry_xstate_area_size(mask));
}

void carry_vectors_save(void *area, uint64_t mask) {
    carry_xstate_save(area, mask);
}

void carry_vectors_load(const void *area, uint64_t mask) {
    carry_xstate_load(area, mask);
}

uint64_t carry_vectors_mask(void) {
    return carry_xstate_default() & ~CARRY_XSTATE_BIT(TILECFG);
}

void carry_vectors_start(bool x87) {
    const uint32_t mxcsr = CARRY_MXCSR_INITIAL;
    carry_xstate_clean(CARRY_XSTATE_CLEAN_UPPERS);
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
    if (x87)
        __asm__ volatile("fninit");
}

#include "base/general_end.h"
