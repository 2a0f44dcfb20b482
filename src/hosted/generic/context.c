/* SPDX-License-Identifier: MIT */
/* Where there are no sites and no exception table, nothing traps, and nothing is recovered. */
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

bool carry_ucontext_can_recover(void) {
    return false;
}

bool carry_ucontext_is_exact(void) {
    return false;
}

void carry_ucontext_empty_x87(void *context) {
    (void)context;
}

void carry_ucontext_recover(void *context, uintptr_t recovery, uintptr_t value) {
    (void)context;
    (void)recovery;
    (void)value;
}
