/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/context.h"

#include <ucontext.h>

uintptr_t *carry_ucontext_pc(void *context) {
    return (uintptr_t *)&((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

void carry_ucontext_serialise(void) {
    uint32_t eax = 0;
    uint32_t ecx = 0;
    __asm__ __volatile__("cpuid" : "+a"(eax), "+c"(ecx) : : "ebx", "edx", "memory");
}

void carry_ucontext_pause(void) {
    __builtin_ia32_pause();
}

bool carry_ucontext_can_recover(void) {
    return true;
}

/* In the form of FXSAVE, with a bit for each register that is in use (SDM vol. 1, 10.5.1.1). */
void carry_ucontext_empty_x87(void *context) {
    fpregset_t state = ((ucontext_t *)context)->uc_mcontext.fpregs;
    if (state)
        state->ftw = 0;
}

void carry_ucontext_recover(void *context, uintptr_t recovery, uintptr_t value) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    registers[REG_RAX] = (greg_t)value;
    registers[REG_RIP] = (greg_t)recovery;
}
