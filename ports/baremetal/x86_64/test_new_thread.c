/* SPDX-License-Identifier: MIT */
/* Tests the initial vector state of a new thread. */
#include "harness/tap.h"
#include "kernel.h"
#include "vectors.h"

#include <carry/image.h>

#define BEYOND (~(CARRY_XSTATE_BIT(X87) | CARRY_XSTATE_BIT(SSE)))

/*
 * Returns whether this machine tracks the components in use. Emulators that do not track them
 * report all as in use.
 */
static bool tracks_use(void) {
    carry_xstate_clean(CARRY_XSTATE_CLEAN_VECTORS);
    return !(carry_xstate_in_use() & (CARRY_XSTATE_BIT(AVX) | CARRY_XSTATE_BIT(OPMASK) |
                                      CARRY_XSTATE_BIT(ZMM_HI256) | CARRY_XSTATE_BIT(HI16_ZMM)));
}

void test_new_thread(void);
void test_new_thread(void) {
    static uint8_t saved[VECTORS_AREA_BYTES] __attribute__((aligned(CARRY_XSTATE_ALIGN)));
    bool tracks = tracks_use();
    vectors_fill(4); /* state of another thread */
    section_become_thread();
    uint64_t in_use = carry_xstate_in_use();
    uint64_t components = carry_xstate_save(saved, carry_xstate_default());
    section_leave_thread();
    if (tracks)
        tap_ok(TAP_TRUE(!(components & BEYOND)) &&
                   TAP_TRUE(!(in_use & carry_xstate_default() & BEYOND)),
               "a new thread has nothing in use beyond x87 and SSE: XSTATE_BV %lx, XINUSE %lx",
               components, in_use);
    else
        tap_skip("XSTATE_BV and XINUSE of a new thread",
                 "this machine reports everything as in use");
    uint64_t bits = 0;
    for (size_t i = 160; i < 416; i++)
        bits |= saved[i];
    tap_ok(!(components & CARRY_XSTATE_BIT(SSE)) || !bits, "its xmm registers are zero");
}
