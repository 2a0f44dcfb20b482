/* SPDX-License-Identifier: MIT */
/* Creates contexts. <arch>/switch.S switches between them. */
#include "base/general_begin.h"

#include <carry/context.h>

#include "base/fiber_host.h"
#include "xstate/switch.h"
#include "xstate/xstate_internal.h"

void carry_context_adopt(struct carry_context *context, void *stack, size_t size) {
    *context = (struct carry_context){
        .stack = stack,
        .stack_size = size,
        .flags = carry_context_cpu_flags() | (carry_host_has_fibers() ? FLAG_FIBERS : 0),
        .full_mask = carry_xstate_enabled() & ~CARRY_XSTATE_BIT(PKRU),
    };
}

int carry_context_create(struct carry_context *context, void *stack, size_t size,
                         carry_context_fn *entry, void *argument) {
    if (!carry_context_supported())
        return CARRY_ERROR_UNSUPPORTED;
    if (!stack || !entry)
        return CARRY_ERROR_INVALID;
    if (size < CARRY_CONTEXT_STACK_MIN)
        return CARRY_ERROR_SIZE;
    carry_context_adopt(context, stack, size);
    char *end = (char *)stack + size;
    end -= (uintptr_t)end % 16; /* the alignment of stacks in the ABIs of x86-64 and AArch64 */
    context->stack_pointer = carry_context_first_frame(context, end, entry, argument);
    return CARRY_OK;
}

#include "base/general_end.h"
