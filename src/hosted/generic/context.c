/* SPDX-License-Identifier: MIT */
/* Where there are no sites, nothing traps. */
#include "hosted/context.h"

bool carry_ucontext_has_traps(void) {
    return false;
}

uintptr_t *carry_ucontext_pc(void *context) {
    (void)context;
    return NULL;
}

void carry_ucontext_serialise(void) {
}

/* Asked by hooks alone, of which there are none here. */
bool carry_ucontext_is_readable(uintptr_t address) {
    (void)address;
    return true;
}

void carry_ucontext_pause(void) {
}
