/* SPDX-License-Identifier: MIT */
/* An architecture without sites, where nothing traps. */
#include "hosted/hosted_context.h"

bool carry_ucontext_has_traps(void) {
    return false;
}

uintptr_t *carry_ucontext_pc(void *context) {
    (void)context;
    return NULL;
}

void carry_ucontext_serialise(void) {
}

/* Returns true, but is never called: there are no hooks here, and no marks before handlers. */
bool carry_ucontext_is_readable(uintptr_t address) {
    (void)address;
    return true;
}

void carry_ucontext_pause(void) {
}
