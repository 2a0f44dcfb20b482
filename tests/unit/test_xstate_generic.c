/* SPDX-License-Identifier: MIT */
/* Tests the functions for extended state where the library does not support it: there are no
   components, and saving writes zeros. */
#include <string.h>

#include <carry/thunk.h>
#include <carry/xstate.h>

#include "harness/tap.h"

int main(void) {
    static const uint8_t zeroes[CARRY_XSTATE_EXTENDED];
    uint8_t area[CARRY_XSTATE_EXTENDED + CARRY_XSTATE_ALIGN];
    struct carry_xstate_layout layout;
    memset(area, 0xa5, sizeof area);
    carry_xstate_layout(&layout);
    tap_ok(TAP_TRUE(!layout.user) && TAP_TRUE(!layout.supervisor), "the machine has no components");
    tap_ok(TAP_EQ(carry_xstate_enabled(), 0) && TAP_EQ(carry_xstate_default(), 0) &&
               TAP_EQ(carry_xstate_in_use(), 0),
           "no component is enabled or in use");
    tap_ok(TAP_LE(carry_xstate_area_size(~UINT64_C(0)), sizeof area),
           "areas have a size nevertheless");
    tap_ok(TAP_EQ(carry_xstate_save(area, ~UINT64_C(0)), 0) &&
               TAP_MEMEQ(area, zeroes, sizeof zeroes),
           "nothing is saved, and the area is defined");
    carry_xstate_load(area, ~UINT64_C(0));
    carry_xstate_clean(CARRY_XSTATE_CLEAN_ALL);
    tap_ok(TAP_EQ(carry_thunk_prepare(), CARRY_HAS_THUNKS ? CARRY_OK : CARRY_ERROR_UNSUPPORTED),
           "thunks are reported as supported or not");
    return tap_done();
}
