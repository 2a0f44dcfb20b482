/* SPDX-License-Identifier: MIT */
/* Images of extended state as CPUs write them, by the manuals: it shares nothing with the library.
 */
#ifndef CARRY_TESTS_IMAGES_H
#define CARRY_TESTS_IMAGES_H

#include <carry/xstate.h>

#define IMAGE_BYTES_MAX 16384

enum image_field {
    IMAGE_FCW = 0,
    IMAGE_MXCSR = 24,
    IMAGE_MXCSR_MASK = 28,
    IMAGE_XMM = 160,
    IMAGE_SOFTWARE = 464,
    IMAGE_XSTATE_BV = 512,
    IMAGE_XCOMP_BV = 520,
    IMAGE_RESERVED = 528,
};

#define IMAGE_COMPACT (UINT64_C(1) << 63)

uint64_t image_get(const uint8_t *image, size_t at, unsigned size);
void image_put(uint8_t *image, size_t at, unsigned size, uint64_t value);

/* Where a component starts, in an image that has XCOMP_BV; 0 of that is the standard form. */
size_t image_offset(const struct carry_xstate_layout *layout, uint64_t xcomp_bv,
                    unsigned component);

/* Bytes of an image of all that `xcomp_bv`, or in the standard form the machine, has. */
size_t image_size(const struct carry_xstate_layout *layout, uint64_t xcomp_bv);

/*
 * Writes what XSAVE, XSAVEC or FXSAVE would, with random registers in the components of `in_use`
 * and FCW and MXCSR that are not initial ones; with software bytes as Linux hands them to tracers.
 * Returns its size.
 */
size_t image_make(uint8_t *image, const struct carry_xstate_layout *layout, uint64_t xcomp_bv,
                  uint64_t in_use);

/* The same as a signal frame of Linux. */
size_t image_make_frame(uint8_t *frame, const struct carry_xstate_layout *layout, uint64_t in_use);

/* The note of a core file that tells of the layout. Returns its size. */
size_t image_make_note(uint8_t *note, const struct carry_xstate_layout *layout);

/* Do the images hold the same registers? Components that are not in use hold initial ones. */
bool image_same_state(const struct carry_xstate_layout *a_layout, const uint8_t *a,
                      const struct carry_xstate_layout *b_layout, const uint8_t *b,
                      uint64_t components);

/* Would XRSTOR of all components fault on it, on that machine? */
bool image_faults(const struct carry_xstate_layout *layout, const uint8_t *image);

#endif
