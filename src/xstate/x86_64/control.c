/* SPDX-License-Identifier: MIT */
#include "base/general_begin.h"

#include "xstate/xstate.h"

void carry_xstate_start(bool x87) {
    const uint32_t mxcsr = CARRY_MXCSR_INITIAL;
    __asm__ volatile("ldmxcsr %0" : : "m"(mxcsr));
    if (x87)
        __asm__ volatile("fninit");
}

#include "base/general_end.h"
