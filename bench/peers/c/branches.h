/* SPDX-License-Identifier: MIT */
/* Makes loops of branches that are off: sixteen in a row, so that the cost of the loop does not
 * hide the cost of the branches. */
#ifndef BENCH_BRANCHES_H
#define BENCH_BRANCHES_H

#include <stddef.h>

#define BRANCHES_2(test)                                                                           \
    if (test)                                                                                      \
        return 0;                                                                                  \
    if (test)                                                                                      \
        return 0;
#define BRANCHES_4(test)  BRANCHES_2(test) BRANCHES_2(test)
#define BRANCHES_8(test)  BRANCHES_4(test) BRANCHES_4(test)
#define BRANCHES_16(test) BRANCHES_8(test) BRANCHES_8(test)

/* Defines size_t name(size_t calls): passes `calls` branches on `test`. Returns `calls`, or 0 if
 * `test` was true. */
#define BRANCHES(name, test)                                                                       \
    static size_t name(size_t calls) {                                                             \
        size_t done = 0;                                                                           \
        for (; calls - done >= 16; done += 16) {                                                   \
            __asm__ volatile("" : "+r"(done));                                                     \
            BRANCHES_16(test)                                                                      \
        }                                                                                          \
        for (; done < calls; done++) {                                                             \
            if (test)                                                                              \
                return 0;                                                                          \
        }                                                                                          \
        return done;                                                                               \
    }

#endif
