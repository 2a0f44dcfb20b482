/* SPDX-License-Identifier: MIT */
/* A copy of the library in an object that a test loads. The object exports `signals_copy`. */
#ifndef CARRY_TESTS_SIGNALS_COPY_H
#define CARRY_TESTS_SIGNALS_COPY_H

#include <stdbool.h>

struct signals_copy {
    int (*acquire)(void); /* carry_fault_acquire() */
    void (*release)(void);
    bool (*survives)(void); /* returns whether the copy recovers from faults, in a frame and in
                               carry_copy_try() */

    /* Called once, right before the next handler of SIGSEGV is installed or removed. */
    void (*meanwhile)(void);
};

#endif
