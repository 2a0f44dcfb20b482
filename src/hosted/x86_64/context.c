/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/patch.h"

#include <ucontext.h>

uintptr_t *carry_context_pc(void *context) {
    return (uintptr_t *)&((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}

void carry_context_serialise(void) {
    uint32_t eax = 0;
    uint32_t ecx = 0;
    __asm__ __volatile__("cpuid" : "+a"(eax), "+c"(ecx) : : "ebx", "edx", "memory");
}

void carry_context_pause(void) {
    __builtin_ia32_pause();
}
