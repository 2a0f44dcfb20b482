/* SPDX-License-Identifier: MIT */
/* Architectures without contexts: none is ever created, so none is switched to. */
#include "xstate/switch.h"

bool carry_context_supported(void) {
    return false;
}

uint32_t carry_context_cpu_flags(void) {
    return 0;
}

void *carry_context_first_frame(struct carry_context *context, void *end, carry_context_fn *entry,
                                void *argument) {
    (void)context;
    (void)entry;
    (void)argument;
    return end;
}

uintptr_t carry_context_switch(struct carry_context *from, struct carry_context *to,
                               uintptr_t value) {
    (void)from;
    (void)to;
    return value;
}
