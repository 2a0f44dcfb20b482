/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "hosted/context.h"

#include <ucontext.h>

#define DIRECTION ((greg_t)1 << 10)

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

void carry_ucontext_recover(void *context, uintptr_t recovery, uintptr_t page) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    registers[REG_RAX] = (greg_t)page;
    registers[REG_RIP] = (greg_t)recovery;
}

void carry_ucontext_resume(void *context, const uintptr_t *saved) {
    /* As carry_fault_enter() in enter.S saves them. */
    static const int order[] = {REG_RBX, REG_RBP, REG_R12, REG_R13,
                                REG_R14, REG_R15, REG_RSP, REG_RIP};
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        registers[order[i]] = (greg_t)saved[i];
    registers[REG_RAX] = 1;
    registers[REG_EFL] &= ~DIRECTION; /* functions return with it clear; what faulted may not */
}
