/* SPDX-License-Identifier: MIT */
/* The expectations of a test program, which prints "ok" if all are met. */
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

/* Prints "ok" if all expectations are met. Returns the exit status. */
static int result(void) {
    if (!failures)
        puts("ok");
    return failures ? 1 : 0;
}

#endif
