/* SPDX-License-Identifier: MIT */
#include "harness/images.h"

#include <string.h>

#include "harness/rng.h"

#define X87 UINT64_C(1)
#define SSE UINT64_C(2)

uint64_t image_get(const uint8_t *image, size_t at, unsigned size) {
    uint64_t value = 0;
    while (size--)
        value = value << 8 | image[at + size];
    return value;
}

void image_put(uint8_t *image, size_t at, unsigned size, uint64_t value) {
    for (; size--; value >>= 8)
        image[at++] = (uint8_t)value;
}

static bool has_component(uint64_t mask, unsigned component) {
    return mask >> component & 1;
}

size_t image_offset(const struct carry_xstate_layout *layout, uint64_t xcomp_bv,
                    unsigned component) {
    size_t end = 576;
    if (!xcomp_bv)
        return layout->parts[component].offset;
    for (unsigned i = 2; i < component; i++) {
        end += has_component(xcomp_bv, i) && layout->parts[i].aligned ? -end & 63 : 0;
        end += has_component(xcomp_bv, i) ? layout->parts[i].size : 0;
    }
    return end + (layout->parts[component].aligned ? -end & 63 : 0);
}

size_t image_size(const struct carry_xstate_layout *layout, uint64_t xcomp_bv) {
    size_t size = layout->user ? 576 : 512;
    uint64_t mask = xcomp_bv ? xcomp_bv : layout->user;
    for (unsigned i = 2; i < CARRY_XSTATE_COMPONENTS; i++) {
        size_t end =
            has_component(mask, i) ? image_offset(layout, xcomp_bv, i) + layout->parts[i].size : 0;
        size = end > size ? end : size;
    }
    return size;
}

/* --- Writing --- */

static void make_legacy(uint8_t *image, const struct carry_xstate_layout *layout, uint64_t in_use) {
    image_put(image, IMAGE_FCW, 2, 0x37f);
    image_put(image, IMAGE_MXCSR, 4, 0x1f80);
    image_put(image, IMAGE_MXCSR_MASK, 4, layout->mxcsr_mask);
    if (in_use & X87) {
        image_put(image, IMAGE_FCW, 2, 0x27f);
        rng_fill(image + 8, 16);
        rng_fill(image + 32, 128);
    }
    if (in_use & SSE) {
        image_put(image, IMAGE_MXCSR, 4, 0x9fc0);
        rng_fill(image + IMAGE_XMM, 256);
    }
}

size_t image_make(uint8_t *image, const struct carry_xstate_layout *layout, uint64_t xcomp_bv,
                  uint64_t in_use) {
    size_t size = image_size(layout, xcomp_bv);
    memset(image, 0, size);
    make_legacy(image, layout, in_use);
    if (!layout->user)
        return size;
    if (!xcomp_bv)
        image_put(image, IMAGE_SOFTWARE, 8, layout->user);
    image_put(image, IMAGE_XSTATE_BV, 8, in_use);
    image_put(image, IMAGE_XCOMP_BV, 8, xcomp_bv);
    for (unsigned i = 2; i < CARRY_XSTATE_COMPONENTS; i++)
        if (has_component(in_use, i))
            rng_fill(image + image_offset(layout, xcomp_bv, i), layout->parts[i].size);
    return size;
}

size_t image_make_frame(uint8_t *frame, const struct carry_xstate_layout *layout, uint64_t in_use) {
    size_t size = image_make(frame, layout, 0, in_use);
    if (!layout->user)
        return size;
    image_put(frame, IMAGE_SOFTWARE, 4, 0x46505853);
    image_put(frame, IMAGE_SOFTWARE + 4, 4, size + 4);
    image_put(frame, IMAGE_SOFTWARE + 8, 8, layout->user);
    image_put(frame, IMAGE_SOFTWARE + 16, 4, size);
    memset(frame + IMAGE_SOFTWARE + 20, 0xa5, 28); /* "for future use" */
    image_put(frame, size, 4, 0x46505845);
    return size + 4;
}

size_t image_make_note(uint8_t *note, const struct carry_xstate_layout *layout) {
    size_t at = 0;
    for (unsigned i = 2; i < CARRY_XSTATE_COMPONENTS; i++) {
        if (!has_component(layout->user, i))
            continue;
        image_put(note, at, 4, i);
        image_put(note, at + 4, 4, layout->parts[i].size);
        image_put(note, at + 8, 4, layout->parts[i].offset);
        image_put(note, at + 12, 4, 0);
        at += 16;
    }
    return at;
}

/* --- Reading --- */

static uint64_t xcomp_bv_of(const struct carry_xstate_layout *layout, const uint8_t *image) {
    return layout->user ? image_get(image, IMAGE_XCOMP_BV, 8) : 0;
}

static uint64_t in_use_of(const struct carry_xstate_layout *layout, const uint8_t *image) {
    return layout->user ? image_get(image, IMAGE_XSTATE_BV, 8) : X87 | SSE;
}

/* Returns the MXCSR that XRSTOR of all components loads. */
static uint32_t mxcsr_of(const struct carry_xstate_layout *layout, const uint8_t *image) {
    bool is_loaded = xcomp_bv_of(layout, image) & IMAGE_COMPACT
                         ? in_use_of(layout, image) & SSE
                         : !layout->user || layout->user & SSE;
    return is_loaded ? (uint32_t)image_get(image, IMAGE_MXCSR, 4) : 0x1f80;
}

/* Writes the registers of a component to `registers` as XRSTOR would load them. Returns their
   size. */
static size_t registers_of(const struct carry_xstate_layout *layout, const uint8_t *image,
                           unsigned component, uint8_t *registers) {
    bool in_use = has_component(in_use_of(layout, image), component);
    size_t size = component < 2 ? 288 : layout->parts[component].size;
    if (component == CARRY_XSTATE_PKRU)
        size = size ? 4 : 0; /* the other bytes have no meaning */
    memset(registers, 0, size);
    if (component == 0) {
        image_put(registers, 0, 2, 0x37f);
        memcpy(registers, image, in_use ? 24 : 0);
        memcpy(registers + 24, image + 32, in_use ? 128 : 0);
    } else if (component == 1) {
        image_put(registers, 256, 4, mxcsr_of(layout, image));
        memcpy(registers, image + IMAGE_XMM, in_use ? 256 : 0);
    } else if (in_use) {
        memcpy(registers, image + image_offset(layout, xcomp_bv_of(layout, image), component),
               size);
    }
    return size;
}

bool image_same_state(const struct carry_xstate_layout *a_layout, const uint8_t *a,
                      const struct carry_xstate_layout *b_layout, const uint8_t *b,
                      uint64_t components) {
    static uint8_t a_registers[IMAGE_BYTES_MAX], b_registers[IMAGE_BYTES_MAX];
    for (unsigned i = 0; i < CARRY_XSTATE_COMPONENTS; i++) {
        if (!has_component(components, i))
            continue;
        size_t a_size = registers_of(a_layout, a, i, a_registers);
        size_t b_size = registers_of(b_layout, b, i, b_registers);
        if (a_size != b_size || memcmp(a_registers, b_registers, a_size) != 0)
            return false;
    }
    return true;
}

/*
 * Checks whether a reserved byte is wrong. The compact form demands that all are zero, the standard
 * form only the first eight.
 */
static bool has_reserved(const uint8_t *image, bool compact) {
    bool ok = image_get(image, IMAGE_RESERVED, 8) == 0;
    for (size_t at = IMAGE_RESERVED + 8; compact && at < CARRY_XSTATE_EXTENDED; at += 8)
        ok &= image_get(image, at, 8) == 0;
    return !ok;
}

bool image_faults(const struct carry_xstate_layout *layout, const uint8_t *image) {
    const uint64_t in_use = in_use_of(layout, image), xcomp_bv = xcomp_bv_of(layout, image);
    const uint32_t mask = layout->mxcsr_mask ? layout->mxcsr_mask : 0xffbf;
    const bool compact = xcomp_bv & IMAGE_COMPACT;
    if (mxcsr_of(layout, image) & ~mask)
        return true;
    if (!layout->user)
        return false;
    if (in_use & ~layout->user || has_reserved(image, compact))
        return true;
    if (!compact)
        return xcomp_bv;
    return !layout->xsavec || in_use & ~xcomp_bv || xcomp_bv & ~(layout->user | IMAGE_COMPACT);
}
