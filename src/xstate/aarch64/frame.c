/* SPDX-License-Identifier: MIT */
/* Contexts of AArch64: their first frame. */
#include "xstate/switch.h"

/* The frame that carry_context_switch() leaves on a stack; the first fields are x19 to x30. */
struct frame {
    uint64_t x[12];
    uint64_t d[8];
    uint64_t fpcr; /* with FIBERS if switches are reported: it then differs from any FPCR, so that
                      other switches need no further test */
    uint64_t unused;
};

#define FIBERS (UINT64_C(1) << 63)

_Static_assert(sizeof(struct frame) == 176 && offsetof(struct frame, d) == 96 &&
                   offsetof(struct frame, fpcr) == 160 &&
                   offsetof(struct carry_context, stack_pointer) == CONTEXT_STACK_POINTER &&
                   offsetof(struct carry_context, flags) == CONTEXT_FLAGS,
               "as assembly knows them");

/* Starts a new context. Defined in switch.S. */
void carry_context_start(void);

bool carry_context_supported(void) {
    return true;
}

uint32_t carry_context_cpu_flags(void) {
    return 0;
}

void *carry_context_first_frame(struct carry_context *context, void *end, carry_context_fn *entry,
                                void *argument) {
    struct frame *frame = (struct frame *)end - 1;
    *frame = (struct frame){
        .x = {(uintptr_t)entry, (uintptr_t)argument, (uintptr_t)context},
        .fpcr = context->flags & FLAG_FIBERS ? FIBERS : 0,
    };
    frame->x[11] = (uintptr_t)carry_context_start;
    return frame;
}
