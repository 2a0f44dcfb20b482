/* SPDX-License-Identifier: MIT */
/* Tests the state that a frame restores after a fault. */
#include "frames.h"
#include "harness/tap.h"

static void touch_with_leave(void) {
    page_allow_user();
    (void)*HOLE;
}

static void test_leave(void) {
    if (!page_protects_user()) {
        tap_skip("leave to reach user pages", "this CPU lacks PAN");
        return;
    }
    tap_ok(TAP_TRUE(is_caught(touch_with_leave, HOLE)) && TAP_TRUE(!page_has_leave()),
           "the leave to reach user pages ends with the frame");
}

/* Overwrites registers that functions preserve for their callers, and faults. */
static void spoil_registers(void) {
    __asm__ volatile("mov x19, xzr\n\tmov x20, xzr\n\tmov x27, xzr\n\tmov x28, xzr\n\t"
                     "ldrb w0, [%0]"
                     :
                     : "r"(HOLE)
                     : "x0", "x19", "x20", "x27", "x28", "memory");
}

static void test_registers(void) {
    register uint64_t x19 __asm__("x19") = 19;
    register uint64_t x20 __asm__("x20") = 20;
    register uint64_t x27 __asm__("x27") = 27;
    register uint64_t x28 __asm__("x28") = 28;
    __asm__ volatile("" : "+r"(x19), "+r"(x20), "+r"(x27), "+r"(x28));
    bool caught = is_caught(spoil_registers, HOLE);
    __asm__ volatile("" : "+r"(x19), "+r"(x20), "+r"(x27), "+r"(x28));
    tap_ok(TAP_TRUE(caught) && TAP_EQ(x19, 19) && TAP_EQ(x20, 20) && TAP_EQ(x27, 27) &&
               TAP_EQ(x28, 28),
           "callers' registers are restored");
}

void test_frames_state(void);
void test_frames_state(void) {
    test_leave();
    test_registers();
}
