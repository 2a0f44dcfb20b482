/* SPDX-License-Identifier: MIT */
#include "xstate/xstate.h"

void carry_xstate_start(bool x87) {
    (void)x87;
}
