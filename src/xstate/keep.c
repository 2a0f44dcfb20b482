/* SPDX-License-Identifier: MIT */
/* Sets which components of extended state a context keeps across switches, and in which area. */
#include "base/general_begin.h"

#include <carry/context.h>

#include "xstate/image_internal.h"
#include "xstate/switch.h"

#define UPPERS (CARRY_XSTATE_BIT(AVX) | CARRY_XSTATE_BIT(ZMM_HI256))

/* Returns the enabled components of a mask. Adds all enabled upper halves of vectors if the mask
 * has some. */
static uint64_t components_to_keep(uint64_t mask) {
    uint64_t enabled = carry_xstate_enabled();
    return mask & enabled & UPPERS ? (mask | UPPERS) & enabled : mask & enabled;
}

size_t carry_context_area_size(uint64_t mask) {
    struct carry_xstate_layout layout;
    carry_xstate_layout(&layout);
    size_t compact = carry_xstate_area_size(components_to_keep(mask));
    size_t standard = carry_xstate_size(&layout, components_to_keep(mask), CARRY_XSTATE_STANDARD);
    standard = (standard + CARRY_XSTATE_ALIGN - 1) & ~(size_t)(CARRY_XSTATE_ALIGN - 1);
    return standard > compact ? standard : compact;
}

int carry_context_keep(struct carry_context *context, void *area, size_t size, uint64_t mask) {
    if ((uintptr_t)area % CARRY_XSTATE_ALIGN || context->flags & FLAG_PREEMPTED)
        return CARRY_ERROR_INVALID;
    if (size < carry_context_area_size(mask))
        return CARRY_ERROR_SIZE;
    carry_image_start(area, CARRY_XSTATE_EXTENDED);
    context->area = area;
    context->area_size = size;
    context->mask = components_to_keep(mask);
    context->flags &= ~(uint32_t)(FLAG_KEEPS | FLAG_WIDE);
    context->flags |= context->mask ? FLAG_KEEPS : 0;
    context->flags |= context->mask & ~CARRY_XSTATE_BIT(SSE) ? FLAG_WIDE : 0;
    return CARRY_OK;
}

#include "base/general_end.h"
