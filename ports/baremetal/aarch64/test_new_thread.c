/* SPDX-License-Identifier: MIT */
/* Tests the initial vector state of a new thread. */
#include "harness/tap.h"
#include "kernel.h"
#include "vectors.h"

void test_new_thread(void);
void test_new_thread(void) {
    vectors_fill(4); /* state of another thread */
    section_become_thread();
    bool are_zero = vectors_are_zero();
    section_leave_thread();
    tap_ok(are_zero, "a new thread's vector registers and control words are zero");
}
