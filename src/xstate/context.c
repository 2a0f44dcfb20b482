/* SPDX-License-Identifier: MIT */
/* Contexts as they are made. How they are switched: <arch>/switch.S. */
#include <carry/context.h>

#include "xstate/switch.h"
#include "xstate/xstate.h"

void carry_context_adopt(struct carry_context *context, void *stack, size_t size) {
    *context = (struct carry_context){
        .stack = stack,
        .stack_size = size,
        .flags = carry_context_cpu_flags(),
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
    end -= (uintptr_t)end % 16; /* what both ABIs align stacks to */
    context->stack_pointer = carry_context_first_frame(context, end, entry, argument);
    return CARRY_OK;
}

#define UPPERS (CARRY_XSTATE_BIT(AVX) | CARRY_XSTATE_BIT(ZMM_HI256))

/* Upper halves are kept as a whole, or cleaned as a whole. */
static uint64_t kept(uint64_t mask) {
    return (mask & UPPERS ? mask | UPPERS : mask) & carry_xstate_enabled();
}

size_t carry_context_area_size(uint64_t mask) {
    struct carry_xstate_layout layout;
    carry_xstate_layout(&layout);
    size_t compact = carry_xstate_area_size(kept(mask));
    size_t standard = carry_xstate_size(&layout, kept(mask), CARRY_XSTATE_STANDARD);
    standard = (standard + CARRY_XSTATE_ALIGN - 1) & ~(size_t)(CARRY_XSTATE_ALIGN - 1);
    return standard > compact ? standard : compact;
}

/* As the CPU starts, nothing in use; with what FXRSTOR loads, and XRSTOR of MXCSR, all the same. */
static void make_initial(unsigned char *area) {
    const uint16_t fcw = CARRY_FCW_INITIAL;
    const uint32_t mxcsr = CARRY_MXCSR_INITIAL;
    __builtin_memset(area, 0, CARRY_XSTATE_EXTENDED);
    __builtin_memcpy(area + CARRY_AREA_FCW, &fcw, sizeof fcw);
    __builtin_memcpy(area + CARRY_AREA_MXCSR, &mxcsr, sizeof mxcsr);
}

int carry_context_keep(struct carry_context *context, void *area, size_t size, uint64_t mask) {
    if ((uintptr_t)area % CARRY_XSTATE_ALIGN || context->flags & FLAG_PREEMPTED)
        return CARRY_ERROR_INVALID;
    if (size < carry_context_area_size(mask))
        return CARRY_ERROR_SIZE;
    make_initial(area);
    context->area = area;
    context->area_size = size;
    context->mask = kept(mask);
    context->flags &= ~(uint32_t)(FLAG_KEEPS | FLAG_WIDE);
    context->flags |= context->mask ? FLAG_KEEPS : 0;
    context->flags |= context->mask & ~CARRY_XSTATE_BIT(SSE) ? FLAG_WIDE : 0;
    return CARRY_OK;
}
