/* SPDX-License-Identifier: MIT */
/* For builds without libcarry-jit. */
#include "selftest/selftest.h"

void selftest_add_jit(struct selftest *test) {
    (void)test;
}
