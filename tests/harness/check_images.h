/* SPDX-License-Identifier: MIT */
/*
 * Checks of the functions that make, judge and convert images, on every machine of
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

/* Nothing in use, FCW and MXCSR right in both forms, the header as XRSTOR wants it, no byte more.
 */
struct verdict check_initial(initial_fn *initial);

/* Images as CPUs write them pass; each single fault in one is refused, with its own reason. */
struct verdict check_refusals(image_check_fn *check);

/* Images changed at random: XRSTOR does not fault on what passes, and no byte outside is read. */
struct verdict check_random_images(image_check_fn *check, const struct effort *effort);

/* From every machine and form to every other: the same registers, or a refusal with a reason. */
struct verdict check_conversions(convert_fn *convert);

#endif
