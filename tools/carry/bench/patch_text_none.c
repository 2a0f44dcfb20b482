/* SPDX-License-Identifier: MIT */
/* Where there are no sites there is nothing to make. */
#include "bench/patch_text.h"

#include <errno.h>

bool patch_text_supported(void) {
    return false;
}

bool patch_text_make(struct patch_text *text, const struct patch_shape *shape) {
    (void)text, (void)shape;
    errno = ENOSYS;
    return false;
}

void patch_text_release(struct patch_text *text) {
    (void)text;
}

void patch_text_set(const struct patch_text *text, struct carry_patch *patch, unsigned state) {
    (void)text, (void)patch, (void)state;
}
