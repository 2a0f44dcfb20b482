/* SPDX-License-Identifier: MIT */
/* Contexts exchanged in Linux's signal frames (Linux, arch/x86/include/uapi/asm/sigcontext.h). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <carry/context.h>
#include <carry/image.h>
#include <ucontext.h>

#define LEGACY_STATE (CARRY_XSTATE_BIT(X87) | CARRY_XSTATE_BIT(SSE))

_Static_assert(offsetof(struct carry_context_registers, rflags) == REG_EFL * sizeof(greg_t) &&
                   offsetof(struct carry_context_registers, rip) == REG_RIP * sizeof(greg_t) &&
                   offsetof(struct carry_context_registers, r8) == REG_R8 * sizeof(greg_t),
               "in the order of greg_t");

int carry_context_preempt(struct carry_context *from, struct carry_context *to, void *ucontext) {
    mcontext_t *machine = &((ucontext_t *)ucontext)->uc_mcontext;
    struct carry_xstate_layout layout;
    if (!machine->fpregs || carry_xstate_from_frame(machine->fpregs, SIZE_MAX, &layout))
        return CARRY_ERROR_UNSUPPORTED;
    return carry_context_exchange(from, to,
                                  (struct carry_context_registers *)(void *)machine->gregs,
                                  machine->fpregs, layout.user ? layout.user : LEGACY_STATE);
}
