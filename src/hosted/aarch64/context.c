/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/context.h"

#include <ucontext.h>

/* A trap may only be replaced by instructions that could replace the site itself. */
bool carry_ucontext_has_traps(void) {
    return false;
}

uintptr_t *carry_ucontext_pc(void *context) {
    return (uintptr_t *)&((ucontext_t *)context)->uc_mcontext.pc;
}

void carry_ucontext_serialise(void) {
    __asm__ __volatile__("isb" : : : "memory");
}

/* Asked by hooks alone, of which there are none here. */
bool carry_ucontext_is_readable(uintptr_t address) {
    (void)address;
    return true;
}

void carry_ucontext_pause(void) {
    __asm__ __volatile__("yield");
}
