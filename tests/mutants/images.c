/* SPDX-License-Identifier: MIT */
#include "mutants/mutants.h"

#include <string.h>

#include "harness/images.h"

#define FIELD(image, at) ((uint8_t *)(image) + (at))

int broken_initial_avx(const struct carry_xstate_layout *layout, uint64_t mask,
                       enum carry_xstate_form form, void *image, size_t size) {
    int error = carry_xstate_initial(layout, mask, form, image, size);
    if (!error && layout->user)
        *FIELD(image, IMAGE_XSTATE_BV) |= mask & layout->user & CARRY_XSTATE_BIT(AVX);
    return error;
}

int broken_initial_zero(const struct carry_xstate_layout *layout, uint64_t mask,
                        enum carry_xstate_form form, void *image, size_t size) {
    int error = carry_xstate_initial(layout, mask, form, image, size);
    if (!error)
        memset(FIELD(image, IMAGE_MXCSR), 0, 4);
    return error;
}

int broken_initial_form(const struct carry_xstate_layout *layout, uint64_t mask,
                        enum carry_xstate_form form, void *image, size_t size) {
    int error = carry_xstate_initial(layout, mask, form, image, size);
    if (!error && layout->user)
        memset(FIELD(image, IMAGE_XCOMP_BV), 0, 8);
    return error;
}

int broken_initial_rounds(const struct carry_xstate_layout *layout, uint64_t mask,
                          enum carry_xstate_form form, void *image, size_t size) {
    int error = carry_xstate_initial(layout, mask, form, image, size);
    if (!error && size % 64)
        memset(FIELD(image, size), 0, 64 - size % 64);
    return error;
}

enum carry_xstate_refusal broken_check_pkru(const struct carry_xstate_layout *layout,
                                            const void *image, size_t size) {
    struct carry_xstate_layout grown = *layout;
    struct carry_xstate_part *pkru = &grown.parts[CARRY_XSTATE_PKRU];
    if (pkru->size && pkru->size < 4)
        pkru->size = 4;
    return carry_xstate_check(&grown, image, size);
}

enum carry_xstate_refusal broken_check_xcomp_bv(const struct carry_xstate_layout *layout,
                                                const void *image, size_t size) {
    enum carry_xstate_refusal refusal = carry_xstate_check(layout, image, size);
    return refusal == CARRY_XSTATE_REFUSED_NOT_COMPACTED ? CARRY_XSTATE_REFUSED_NONE : refusal;
}

enum carry_xstate_refusal broken_check_mxcsr(const struct carry_xstate_layout *layout,
                                             const void *image, size_t size) {
    enum carry_xstate_refusal refusal = carry_xstate_check(layout, image, size);
    return refusal == CARRY_XSTATE_REFUSED_MXCSR ? CARRY_XSTATE_REFUSED_NONE : refusal;
}

enum carry_xstate_refusal broken_check_size(const struct carry_xstate_layout *layout,
                                            const void *image, size_t size) {
    (void)*(const volatile uint8_t *)FIELD(image, IMAGE_XSTATE_BV);
    return carry_xstate_check(layout, image, size);
}

enum carry_xstate_refusal broken_check_truncated(const struct carry_xstate_layout *layout,
                                                 const void *image, size_t size) {
    enum carry_xstate_refusal refusal = carry_xstate_check(layout, image, size);
    return refusal == CARRY_XSTATE_REFUSED_TRUNCATED ? CARRY_XSTATE_REFUSED_NONE : refusal;
}

/* Leaves the components at the offsets of the source, although the target has other offsets. */
enum carry_xstate_refusal broken_convert_offsets(const struct carry_xstate_layout *layout,
                                                 const void *image, size_t size,
                                                 const struct carry_xstate_target *target) {
    enum carry_xstate_refusal refusal = carry_xstate_convert(layout, image, size, target);
    size_t both = size < target->size ? size : target->size;
    if (!refusal && both > CARRY_XSTATE_EXTENDED)
        memcpy(FIELD(target->image, CARRY_XSTATE_EXTENDED), FIELD(image, CARRY_XSTATE_EXTENDED),
               both - CARRY_XSTATE_EXTENDED);
    return refusal;
}

enum carry_xstate_refusal broken_convert_mxcsr(const struct carry_xstate_layout *layout,
                                               const void *image, size_t size,
                                               const struct carry_xstate_target *target) {
    static uint8_t copy[IMAGE_BYTES_MAX];
    memcpy(copy, image, size);
    if (layout->user && !(image_get(copy, IMAGE_XSTATE_BV, 8) & CARRY_XSTATE_BIT(SSE)))
        image_put(copy, IMAGE_MXCSR, 4, 0x1f80);
    return carry_xstate_convert(layout, copy, size, target);
}

enum carry_xstate_refusal broken_convert_loses(const struct carry_xstate_layout *layout,
                                               const void *image, size_t size,
                                               const struct carry_xstate_target *target) {
    struct carry_xstate_target less = *target;
    less.drop |= target->layout->user ? ~target->layout->user : ~UINT64_C(3);
    return carry_xstate_convert(layout, image, size, &less);
}
