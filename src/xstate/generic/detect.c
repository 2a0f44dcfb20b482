/* SPDX-License-Identifier: MIT */
/* Architectures without XSAVE. */
#include "xstate/xstate_internal.h"

void carry_xstate_detect(struct carry_xstate_layout *layout) {
    (void)layout;
}
