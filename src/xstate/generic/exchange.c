/* SPDX-License-Identifier: MIT */
/* Architectures on which contexts cannot be exchanged under an interrupt. */
#include <carry/context.h>

int carry_context_exchange(struct carry_context *from, struct carry_context *to,
                           struct carry_context_registers *registers, void *image,
                           uint64_t components) {
    (void)from;
    (void)to;
    (void)registers;
    (void)image;
    (void)components;
    return CARRY_ERROR_UNSUPPORTED;
}
