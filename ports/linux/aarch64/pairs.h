/* SPDX-License-Identifier: MIT */
/* Lists the vector registers in pairs, for the module and for the program that tests it. */
#ifndef CARRY_LINUX_PAIRS_H
#define CARRY_LINUX_PAIRS_H

#define EACH_PAIR(X)                                                                               \
    X(0, 1)                                                                                        \
    X(2, 3)                                                                                        \
    X(4, 5)                                                                                        \
    X(6, 7)                                                                                        \
    X(8, 9)                                                                                        \
    X(10, 11)                                                                                      \
    X(12, 13)                                                                                      \
    X(14, 15)                                                                                      \
    X(16, 17)                                                                                      \
    X(18, 19)                                                                                      \
    X(20, 21)                                                                                      \
    X(22, 23)                                                                                      \
    X(24, 25)                                                                                      \
    X(26, 27)                                                                                      \
    X(28, 29)                                                                                      \
    X(30, 31)

#endif
