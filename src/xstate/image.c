/* SPDX-License-Identifier: MIT */
/* Images of extended state as bytes: their content, initial images, and conversion. */
#include "base/general_begin.h"

#include "xstate/image_internal.h"

#define BIT(name) CARRY_XSTATE_BIT(name)

/* --- The content of an image --- */

uint64_t carry_xstate_image_in_use(const struct carry_xstate_layout *layout, const void *image) {
    return carry_image_in_use(layout, image);
}

const void *carry_xstate_image_part(const struct carry_xstate_layout *layout, const void *image,
                                    unsigned component, size_t *size) {
    static const size_t legacy_sizes[] = {CARRY_AREA_XMM, CARRY_AREA_XMM_END - CARRY_AREA_XMM};
    if (component >= CARRY_XSTATE_COMPONENTS ||
        !(carry_image_in_use(layout, image) >> component & 1))
        return NULL;
    *size = component > CARRY_XSTATE_SSE ? layout->parts[component].size : legacy_sizes[component];
    return (const uint8_t *)image + carry_image_offset(layout, image, component);
}

bool carry_xstate_image_is_initial(const struct carry_xstate_layout *layout, const void *image,
                                   unsigned component) {
    size_t size;
    const uint8_t *bytes = carry_xstate_image_part(layout, image, component, &size);
    if (component == CARRY_XSTATE_SSE && carry_image_mxcsr(layout, image) != CARRY_MXCSR_INITIAL)
        return false;
    if (!bytes)
        return true;
    if (component == CARRY_XSTATE_PKRU)
        size = CARRY_PKRU_BYTES;
    return component == CARRY_XSTATE_X87 ? carry_image_is_initial_x87(bytes)
                                         : carry_image_is_zero(bytes, size);
}

/* --- Initial images --- */

static void write_initial(const struct carry_xstate_target *target, uint64_t mask) {
    uint8_t *image = target->image;
    size_t size = carry_xstate_size(target->layout, mask, target->form);
    /* Areas have a header on every CPU. */
    if (size < CARRY_XSTATE_EXTENDED && target->size >= CARRY_XSTATE_EXTENDED)
        size = CARRY_XSTATE_EXTENDED;
    carry_image_start(image, size);
    carry_image_put(image + CARRY_AREA_MXCSR_MASK, 4, target->layout->mxcsr_mask);
    if (target->layout->user && target->form == CARRY_XSTATE_COMPACT)
        carry_image_put(image + CARRY_AREA_XCOMP_BV, 8, CARRY_COMPACT_BIT | mask);
}

static bool has_form(const struct carry_xstate_layout *layout, enum carry_xstate_form form) {
    return form == CARRY_XSTATE_STANDARD ||
           (form == CARRY_XSTATE_COMPACT && carry_image_has_compact(layout));
}

int carry_xstate_initial(const struct carry_xstate_layout *layout, uint64_t mask,
                         enum carry_xstate_form form, void *image, size_t size) {
    const struct carry_xstate_target target = {
        .layout = layout, .form = form, .image = image, .size = size};
    mask &= carry_image_user(layout);
    if (!carry_xstate_size(layout, mask, form))
        return CARRY_ERROR_INVALID;
    if (!has_form(layout, form))
        return CARRY_ERROR_UNSUPPORTED;
    if (size < carry_xstate_size(layout, mask, form))
        return CARRY_ERROR_SIZE;
    write_initial(&target, mask);
    return CARRY_OK;
}

/* --- Conversion --- */

/*
 * Returns the components with state to keep. As for XSAVEC, an MXCSR that is not initial is state
 * of SSE, even if SSE is not in use.
 */
static uint64_t components_with_state(const struct carry_xstate_layout *layout,
                                      const uint8_t *image) {
    bool differs = carry_image_mxcsr(layout, image) != CARRY_MXCSR_INITIAL;
    return carry_image_in_use(layout, image) | (differs ? BIT(SSE) : 0);
}

static void copy_x87(uint8_t *to, const uint8_t *from) {
    __builtin_memcpy(to, from, CARRY_AREA_MXCSR);
    __builtin_memcpy(to + CARRY_AREA_ST, from + CARRY_AREA_ST, CARRY_AREA_XMM - CARRY_AREA_ST);
}

/* Copies MXCSR, and the registers if they are in use: otherwise their bytes are undefined. */
static void copy_sse(uint8_t *to, const struct carry_xstate_layout *layout, const uint8_t *from) {
    carry_image_put(to + CARRY_AREA_MXCSR, 4, carry_image_mxcsr(layout, from));
    if (carry_image_in_use(layout, from) & BIT(SSE))
        __builtin_memcpy(to + CARRY_AREA_XMM, from + CARRY_AREA_XMM,
                         CARRY_AREA_XMM_END - CARRY_AREA_XMM);
}

static void copy_components(const struct carry_xstate_target *target, uint64_t kept,
                            const struct carry_xstate_layout *layout, const uint8_t *from) {
    uint8_t *to = target->image;
    if (kept & BIT(X87))
        copy_x87(to, from);
    if (kept & BIT(SSE))
        copy_sse(to, layout, from);
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++)
        if (kept >> i & 1)
            __builtin_memcpy(to + carry_image_offset(target->layout, to, i),
                             from + carry_image_offset(layout, from, i), layout->parts[i].size);
    if (target->layout->user)
        carry_image_put(to + CARRY_AREA_XSTATE_BV, 8, kept);
}

static bool same_sizes(const struct carry_xstate_layout *a, const struct carry_xstate_layout *b,
                       uint64_t mask) {
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++)
        if (mask >> i & 1 && a->parts[i].size != b->parts[i].size)
            return false;
    return true;
}

static enum carry_xstate_refusal check_target(const struct carry_xstate_target *target,
                                              uint64_t mask) {
    enum carry_xstate_refusal refusal = carry_xstate_check_layout(target->layout);
    if (refusal)
        return refusal;
    if (!has_form(target->layout, target->form))
        return CARRY_XSTATE_REFUSED_NO_COMPACT;
    return target->size < carry_xstate_size(target->layout, mask, target->form)
               ? CARRY_XSTATE_REFUSED_ROOM
               : CARRY_XSTATE_REFUSED_NONE;
}

enum carry_xstate_refusal carry_xstate_convert(const struct carry_xstate_layout *layout,
                                               const void *image, size_t size,
                                               const struct carry_xstate_target *target) {
    uint64_t mask = target->mask & carry_image_user(target->layout);
    enum carry_xstate_refusal refusal = carry_xstate_check(layout, image, size);
    if (!refusal)
        refusal = check_target(target, mask);
    if (refusal)
        return refusal;
    uint64_t kept = components_with_state(layout, image) & ~target->drop;
    if (kept & ~mask)
        return CARRY_XSTATE_REFUSED_LACKED;
    if (!same_sizes(layout, target->layout, kept))
        return CARRY_XSTATE_REFUSED_PART_SIZE;
    if (kept & BIT(SSE) &&
        !carry_image_mxcsr_fits(target->layout, carry_image_mxcsr(layout, image)))
        return CARRY_XSTATE_REFUSED_MXCSR;
    write_initial(target, mask);
    copy_components(target, kept, layout, image);
    return CARRY_XSTATE_REFUSED_NONE;
}

#include "base/general_end.h"
