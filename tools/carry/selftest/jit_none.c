/* SPDX-License-Identifier: MIT */
/* Where no functions are made at run time. */
#include "selftest/selftest.h"

void selftest_add_jit(struct selftest *test) {
    (void)test;
}
