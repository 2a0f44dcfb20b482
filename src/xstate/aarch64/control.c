/* SPDX-License-Identifier: MIT */
/* The registers that sections keep: all of FP and SIMD, for any mask. vectors.S saves and loads
 * them.
 */
#include "xstate/xstate_internal.h"

#include "xstate/aarch64/vectors.h"

_Static_assert(CARRY_VECTORS_BYTES <= CARRY_XSTATE_EXTENDED, "an area has room for it");

bool carry_vectors_known(void) {
    return true;
}

void carry_vectors_create(void *area, uint64_t mask) {
    (void)mask;
    __builtin_memset(area, 0, CARRY_VECTORS_BYTES);
}

uint64_t carry_vectors_mask(void) {
    return 0;
}
