/* SPDX-License-Identifier: MIT */
/*
 * Checks of the functions that make, judge and convert images, for the machines of
 * harness/machines.h.
 */
#ifndef CARRY_TESTS_CHECK_IMAGES_H
#define CARRY_TESTS_CHECK_IMAGES_H

#include <carry/image.h>

#include "harness/effort.h"
#include "harness/verdict.h"

typedef int initial_fn(const struct carry_xstate_layout *layout, uint64_t mask,
                       enum carry_xstate_form form, void *image, size_t size);
typedef enum carry_xstate_refusal image_check_fn(const struct carry_xstate_layout *layout,
                                                 const void *image, size_t size);
typedef enum carry_xstate_refusal convert_fn(const struct carry_xstate_layout *layout,
                                             const void *image, size_t size,
                                             const struct carry_xstate_target *target);

/* Checks initial images: no component is in use, FCW and MXCSR have their initial values in both
 * forms, XRSTOR accepts the header, and no byte outside the image is written. */
struct verdict check_initial(initial_fn *initial);

/* Checks that images in the form that CPUs write pass, and that images and layouts with one fault
 * are refused with the reason of this fault. */
struct verdict check_refusals(image_check_fn *check);

/* Checks images changed at random: XRSTOR must not fault on images that pass, and no byte
 * outside an image may be read. */
struct verdict check_random_images(image_check_fn *check, const struct effort *effort);

/* Checks conversions from every machine and form to every other: they must keep the registers, or
 * be refused with a reason. */
struct verdict check_conversions(convert_fn *convert);

#endif
