/* SPDX-License-Identifier: MIT */
/* Functions on the bytes of images, for the files that implement carry/image.h. */
#ifndef CARRY_XSTATE_IMAGE_H
#define CARRY_XSTATE_IMAGE_H

#include <carry/image.h>

#include "xstate/xstate_internal.h"

/* The bytes of PKRU that hold state. The component has eight bytes, but the other four are never
 * written: in signal frames they hold bytes of the stack. */
#define CARRY_PKRU_BYTES 4

/* Returns the components of user state; without XSAVE, the components of FXSAVE. */
static inline uint64_t carry_image_user(const struct carry_xstate_layout *layout) {
    return layout->user ? layout->user : CARRY_LEGACY_STATE;
}

/* Loads a little-endian number of `size` bytes. */
static inline uint64_t carry_image_get(const uint8_t *bytes, unsigned size) {
    uint64_t value = 0;
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

static inline void carry_image_put(uint8_t *bytes, unsigned size, uint64_t value) {
    for (unsigned i = 0; i < size; i++)
        bytes[i] = (uint8_t)(value >> 8 * i);
}

static inline bool carry_image_is_zero(const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i])
            return false;
    return true;
}

/*
 * Makes an image, or an area, with no component in use. With XSTATE_BV = 0, XRSTOR sets FCW to
 * 0x37f, and in the compact form MXCSR to 0x1f80; in the standard form it still loads MXCSR from
 * the image. FXRSTOR ignores XSTATE_BV, and loads FCW and MXCSR from the image.
 */
static inline void carry_image_start(uint8_t *image, size_t size) {
    __builtin_memset(image, 0, size);
    carry_image_put(image + CARRY_AREA_FCW, 2, CARRY_FCW_INITIAL);
    carry_image_put(image + CARRY_AREA_MXCSR, 4, CARRY_MXCSR_INITIAL);
}

/* Checks whether the registers of x87 have their initial values for XSAVE. */
static inline bool carry_image_is_initial_x87(const uint8_t *image) {
    return carry_image_get(image + CARRY_AREA_FCW, 2) == CARRY_FCW_INITIAL &&
           carry_image_is_zero(image + CARRY_AREA_FSW, CARRY_AREA_MXCSR - CARRY_AREA_FSW) &&
           carry_image_is_zero(image + CARRY_AREA_ST, CARRY_AREA_XMM - CARRY_AREA_ST);
}

/* Returns the components in use: see carry_xstate_image_in_use(). */
static inline uint64_t carry_image_in_use(const struct carry_xstate_layout *layout,
                                          const uint8_t *image) {
    return layout->user ? carry_image_get(image + CARRY_AREA_XSTATE_BV, 8) : CARRY_LEGACY_STATE;
}

static inline uint64_t carry_image_xcomp_bv(const uint8_t *image) {
    return carry_image_get(image + CARRY_AREA_XCOMP_BV, 8);
}

static inline bool carry_image_is_compact(const struct carry_xstate_layout *layout,
                                          const uint8_t *image) {
    return layout->user && carry_image_xcomp_bv(image) & CARRY_COMPACT_BIT;
}

static inline size_t carry_image_offset(const struct carry_xstate_layout *layout,
                                        const uint8_t *image, unsigned component) {
    if (carry_image_is_compact(layout, image))
        return carry_xstate_offset(layout, carry_image_xcomp_bv(image), CARRY_XSTATE_COMPACT,
                                   component);
    return carry_xstate_offset(layout, layout->user, CARRY_XSTATE_STANDARD, component);
}

/*
 * Returns the value of MXCSR after a load. MXCSR is a part of SSE, but the standard form holds it
 * even if SSE is not in use.
 */
static inline uint32_t carry_image_mxcsr(const struct carry_xstate_layout *layout,
                                         const uint8_t *image) {
    uint64_t there = carry_image_is_compact(layout, image) ? carry_image_in_use(layout, image)
                                                           : carry_image_user(layout);
    return there & CARRY_XSTATE_BIT(SSE) ? (uint32_t)carry_image_get(image + CARRY_AREA_MXCSR, 4)
                                         : CARRY_MXCSR_INITIAL;
}

static inline bool carry_image_mxcsr_fits(const struct carry_xstate_layout *layout,
                                          uint32_t mxcsr) {
    return !(mxcsr & ~(layout->mxcsr_mask ? layout->mxcsr_mask : CARRY_MXCSR_MASK_OLDEST));
}

static inline bool carry_image_has_compact(const struct carry_xstate_layout *layout) {
    return layout->xsavec || layout->xsaves;
}

#endif
