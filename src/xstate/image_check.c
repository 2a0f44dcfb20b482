/* SPDX-License-Identifier: MIT */
/* Checks foreign layouts and images. Refuses all on which XRSTOR would fault, and more. */
#include "base/general_begin.h"

#include "xstate/image_internal.h"

#define BIT(name) CARRY_XSTATE_BIT(name)

#define CARRY_REFUSAL(name, description) {#name, description},
static const struct {
    const char *name;
    const char *description;
} refusals[CARRY_XSTATE_REFUSALS] = {
#include <carry/refusals.def>
};
#undef CARRY_REFUSAL

const char *carry_xstate_refusal_name(enum carry_xstate_refusal refusal) {
    return refusal < CARRY_XSTATE_REFUSALS ? refusals[refusal].name : "unknown";
}

const char *carry_xstate_refusal_description(enum carry_xstate_refusal refusal) {
    return refusal < CARRY_XSTATE_REFUSALS ? refusals[refusal].description : "unknown";
}

/* --- Layouts --- */

#define AVX512 (BIT(OPMASK) | BIT(ZMM_HI256) | BIT(HI16_ZMM))
#define MPX    (BIT(BNDREGS) | BIT(BNDCSR))

/*
 * The rules of XSETBV (SDM vol. 1, 13.3): a layout with `any` must have `needs`. TILECFG may be
 * present without TILEDATA: Linux hides TILEDATA from threads that have not requested it.
 */
static const struct {
    uint64_t any, needs;
} rules[] = {
    {UINT64_MAX, BIT(X87)},        {BIT(AVX), BIT(SSE)}, {AVX512, AVX512 | BIT(AVX)}, {MPX, MPX},
    {BIT(TILEDATA), BIT(TILECFG)},
};

static bool obeys_rules(uint64_t user) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (user & rules[i].any && rules[i].needs & ~user)
            return false;
    return true;
}

static uint64_t part_end(const struct carry_xstate_part *part) {
    return (uint64_t)part->offset + part->size;
}

static enum carry_xstate_refusal check_part(const struct carry_xstate_layout *layout,
                                            unsigned component) {
    const struct carry_xstate_part *part = &layout->parts[component];
    if (part->size < (component == CARRY_XSTATE_PKRU ? CARRY_PKRU_BYTES : 1))
        return CARRY_XSTATE_REFUSED_LAYOUT_SIZE;
    if (part->offset < CARRY_XSTATE_EXTENDED)
        return CARRY_XSTATE_REFUSED_LAYOUT_OFFSET;
    if (part->offset % 8)
        return CARRY_XSTATE_REFUSED_LAYOUT_ALIGNMENT;
    if (part_end(part) > layout->standard_size)
        return CARRY_XSTATE_REFUSED_LAYOUT_BEYOND;
    return CARRY_XSTATE_REFUSED_NONE;
}

static bool part_overlaps(const struct carry_xstate_layout *layout, unsigned component) {
    const struct carry_xstate_part *part = &layout->parts[component];
    for (unsigned i = CARRY_XSTATE_AVX; i < component; i++) {
        const struct carry_xstate_part *other = &layout->parts[i];
        if (layout->user >> i & 1 && part->offset < part_end(other) &&
            other->offset < part_end(part))
            return true;
    }
    return false;
}

enum carry_xstate_refusal carry_xstate_check_layout(const struct carry_xstate_layout *layout) {
    if (layout->user >> CARRY_XSTATE_COMPONENTS)
        return CARRY_XSTATE_REFUSED_LAYOUT_NAMELESS;
    if (!obeys_rules(layout->user))
        return CARRY_XSTATE_REFUSED_LAYOUT_XCR0;
    if (layout->user & layout->supervisor)
        return CARRY_XSTATE_REFUSED_LAYOUT_SUPERVISOR;
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++) {
        if (!(layout->user >> i & 1))
            continue;
        enum carry_xstate_refusal refusal = check_part(layout, i);
        if (refusal)
            return refusal;
        if (part_overlaps(layout, i))
            return CARRY_XSTATE_REFUSED_LAYOUT_OVERLAP;
    }
    return CARRY_XSTATE_REFUSED_NONE;
}

/* --- Images --- */

static enum carry_xstate_refusal check_header(const struct carry_xstate_layout *layout,
                                              const uint8_t *image) {
    uint64_t in_use = carry_image_get(image + CARRY_AREA_XSTATE_BV, 8);
    uint64_t xcomp_bv = carry_image_xcomp_bv(image), compacted = xcomp_bv & ~CARRY_COMPACT_BIT;
    bool is_compact = xcomp_bv & CARRY_COMPACT_BIT;
    if (!carry_image_is_zero(image + CARRY_AREA_RESERVED,
                             CARRY_XSTATE_EXTENDED - CARRY_AREA_RESERVED))
        return CARRY_XSTATE_REFUSED_RESERVED;
    if (!is_compact && compacted)
        return CARRY_XSTATE_REFUSED_XCOMP_BV_STANDARD;
    if (is_compact && !carry_image_has_compact(layout))
        return CARRY_XSTATE_REFUSED_NO_COMPACT;
    if ((in_use | compacted) & layout->supervisor)
        return CARRY_XSTATE_REFUSED_SUPERVISOR;
    if (in_use & ~layout->user)
        return CARRY_XSTATE_REFUSED_XSTATE_BV;
    if (compacted & ~layout->user)
        return CARRY_XSTATE_REFUSED_XCOMP_BV;
    if (is_compact && in_use & ~compacted)
        return CARRY_XSTATE_REFUSED_NOT_COMPACTED;
    return CARRY_XSTATE_REFUSED_NONE;
}

static bool is_truncated(const struct carry_xstate_layout *layout, const uint8_t *image,
                         size_t size) {
    uint64_t in_use = carry_image_in_use(layout, image);
    for (unsigned i = CARRY_XSTATE_AVX; i < CARRY_XSTATE_COMPONENTS; i++) {
        if (!(in_use >> i & 1))
            continue;
        size_t offset = carry_image_offset(layout, image, i);
        if (offset > size || layout->parts[i].size > size - offset)
            return true;
    }
    return false;
}

enum carry_xstate_refusal carry_xstate_check(const struct carry_xstate_layout *layout,
                                             const void *image, size_t size) {
    enum carry_xstate_refusal refusal = carry_xstate_check_layout(layout);
    if (refusal)
        return refusal;
    if (size < (layout->user ? CARRY_XSTATE_EXTENDED : CARRY_XSTATE_LEGACY))
        return CARRY_XSTATE_REFUSED_SHORT;
    refusal = layout->user ? check_header(layout, image) : CARRY_XSTATE_REFUSED_NONE;
    if (refusal)
        return refusal;
    if (!carry_image_mxcsr_fits(layout, carry_image_mxcsr(layout, image)))
        return CARRY_XSTATE_REFUSED_MXCSR;
    if (is_truncated(layout, image, size))
        return CARRY_XSTATE_REFUSED_TRUNCATED;
    return CARRY_XSTATE_REFUSED_NONE;
}

#include "base/general_end.h"
