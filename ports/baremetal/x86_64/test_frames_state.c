/* SPDX-License-Identifier: MIT */
/* Tests the state that a frame restores after a fault. */
#include "frames.h"
#include "harness/tap.h"

static void touch_with_flags(void) {
    page_allow_user();
    __asm__ volatile("std\n\tmovb (%0), %%al\n\tcld" : : "r"(HOLE) : "al", "memory", "cc");
}

static void test_flags(void) {
    bool caught = is_caught(touch_with_flags, HOLE);
    tap_ok(TAP_TRUE(caught) && TAP_TRUE(!(cpu_flags() & (EFLAGS_DF | EFLAGS_AC))),
           "the frame clears the direction flag and the permission to access user pages");
}

/* Overwrites registers that functions preserve for their callers, and faults. */
static void spoil_registers(void) {
    __asm__ volatile("xorl %%ebx, %%ebx\n\txorl %%r12d, %%r12d\n\txorl %%r13d, %%r13d\n\t"
                     "xorl %%r14d, %%r14d\n\txorl %%r15d, %%r15d\n\tmovb (%0), %%al"
                     :
                     : "r"(HOLE)
                     : "rax", "rbx", "r12", "r13", "r14", "r15", "memory");
}

static void test_registers(void) {
    register uint64_t r12 __asm__("r12") = 12;
    register uint64_t r13 __asm__("r13") = 13;
    register uint64_t r14 __asm__("r14") = 14;
    register uint64_t r15 __asm__("r15") = 15;
    __asm__ volatile("" : "+r"(r12), "+r"(r13), "+r"(r14), "+r"(r15));
    bool caught = is_caught(spoil_registers, HOLE);
    __asm__ volatile("" : "+r"(r12), "+r"(r13), "+r"(r14), "+r"(r15));
    tap_ok(TAP_TRUE(caught) && TAP_EQ(r12, 12) && TAP_EQ(r13, 13) && TAP_EQ(r14, 14) &&
               TAP_EQ(r15, 15),
           "callers' registers are restored");
}

void test_frames_state(void);
void test_frames_state(void) {
    test_flags();
    test_registers();
}
