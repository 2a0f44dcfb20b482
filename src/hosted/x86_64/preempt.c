/* SPDX-License-Identifier: MIT */
/* Contexts exchanged in Linux's signal frames (Linux, arch/x86/include/uapi/asm/sigcontext.h). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <carry/context.h>
#include <carry/xstate.h>
#include <string.h>
#include <ucontext.h>

#define LEGACY_STATE (CARRY_XSTATE_BIT(X87) | CARRY_XSTATE_BIT(SSE))

_Static_assert(offsetof(struct carry_context_registers, rflags) == REG_EFL * sizeof(greg_t) &&
                   offsetof(struct carry_context_registers, rip) == REG_RIP * sizeof(greg_t) &&
                   offsetof(struct carry_context_registers, r8) == REG_R8 * sizeof(greg_t),
               "in the order of greg_t");

/* What the system says of a frame in its legacy area; another magic number ends the frame. */
struct software {
    uint32_t magic;
    uint32_t extended_size;
    uint64_t components;
    uint32_t size;
};

#define SOFTWARE_OFFSET 464
#define MAGIC           0x46505853
#define END_MAGIC       0x46505845

/* The components that the frame has a place for: without the magic, what FXSAVE stores. */
static uint64_t frame_components(const unsigned char *image) {
    struct software software;
    uint32_t end;
    memcpy(&software, image + SOFTWARE_OFFSET, sizeof software);
    if (software.magic != MAGIC || software.size < CARRY_XSTATE_EXTENDED)
        return LEGACY_STATE;
    memcpy(&end, image + software.size, sizeof end);
    return end == END_MAGIC ? software.components : LEGACY_STATE;
}

int carry_context_preempt(struct carry_context *from, struct carry_context *to, void *ucontext) {
    mcontext_t *machine = &((ucontext_t *)ucontext)->uc_mcontext;
    unsigned char *image = (unsigned char *)machine->fpregs;
    if (!image)
        return CARRY_ERROR_UNSUPPORTED;
    return carry_context_exchange(from, to,
                                  (struct carry_context_registers *)(void *)machine->gregs, image,
                                  frame_components(image));
}
