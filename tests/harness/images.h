/* SPDX-License-Identifier: MIT */
/*
 * Images of extended state as CPUs write them according to the manuals. Shares no code with the
 * library.
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

/* Returns the offset of a component in an image with that XCOMP_BV; 0 means the standard form. */
size_t image_offset(const struct carry_xstate_layout *layout, uint64_t xcomp_bv,
                    unsigned component);

/*
 * Returns the size of an image with the components of `xcomp_bv`. If xcomp_bv is 0, returns the
 * size of the machine's standard form.
 */
size_t image_size(const struct carry_xstate_layout *layout, uint64_t xcomp_bv);

/*
 * Writes an image as XSAVE, XSAVEC or FXSAVE would, with random registers in the components of
 * `in_use`. FCW is not initial if x87 is in use, and MXCSR if SSE is. In the standard form, the
 * software bytes are as Linux passes them to tracers. Returns the size of the image.
 */
size_t image_make(uint8_t *image, const struct carry_xstate_layout *layout, uint64_t xcomp_bv,
                  uint64_t in_use);

/* Writes such an image as a signal frame of Linux. Returns the size of the frame. */
size_t image_make_frame(uint8_t *frame, const struct carry_xstate_layout *layout, uint64_t in_use);

/* Writes the note of a core file that describes the layout. Returns its size. */
size_t image_make_note(uint8_t *note, const struct carry_xstate_layout *layout);

/*
 * Returns whether the images have the same registers in `components`. Components not in use have
 * initial registers.
 */
bool image_same_state(const struct carry_xstate_layout *a_layout, const uint8_t *a,
                      const struct carry_xstate_layout *b_layout, const uint8_t *b,
                      uint64_t components);

/* Returns whether XRSTOR of all components would fault on the image on a machine with `layout`. */
bool image_faults(const struct carry_xstate_layout *layout, const uint8_t *image);

#endif
