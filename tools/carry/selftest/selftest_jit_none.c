/* SPDX-License-Identifier: MIT */
/* Replaces selftest_jit.c in builds without libcarry-jit, or where it makes no functions for
   packets. */
#include "selftest/selftest.h"

void selftest_add_jit(struct selftest *test) {
    (void)test;
}
