/* SPDX-License-Identifier: MIT */
/* What a test program expects; it prints "ok" if all of it was so. */
#ifndef CARRY_TESTS_LINKERS_EXPECT_H
#define CARRY_TESTS_LINKERS_EXPECT_H

#include <stdio.h>

static int failures;

static void expect_at(const char *file, int line, const char *what, long is, long wanted) {
    if (is != wanted) {
        printf("%s:%d: %s is %ld, not %ld\n", file, line, what, is, wanted);
        failures++;
    }
}
#define EXPECT(is, wanted) expect_at(__FILE__, __LINE__, #is, (long)(is), (long)(wanted))

/* The exit status. */
static int result(void) {
    if (!failures)
        puts("ok");
    return failures ? 1 : 0;
}

#endif
