/* SPDX-License-Identifier: MIT */
/* Architectures whose vector registers are not supported: there are no sections. */
#include "xstate/xstate_internal.h"

bool carry_vectors_known(void) {
    return false;
}

void carry_vectors_create(void *area, uint64_t mask) {
    __builtin_memset(area, 0, carry_xstate_area_size(mask));
}

void carry_vectors_save(void *area, uint64_t mask) {
    (void)area;
    (void)mask;
}

void carry_vectors_load(const void *area, uint64_t mask) {
    (void)area;
    (void)mask;
}

uint64_t carry_vectors_mask(void) {
    return 0;
}

void carry_vectors_start(bool x87) {
    (void)x87;
}
