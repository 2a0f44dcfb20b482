/* SPDX-License-Identifier: MIT */
/* The kinds of sites in patch_sites_aarch64.S; placed.c describes the rows. */
#ifndef CARRY_TESTS_PLACED_AARCH64_H
#define CARRY_TESTS_PLACED_AARCH64_H

#define PLACED_ADD3   "add x0, x0, 3"
#define PLACED_NUMBER "" /* no relative bodies: calls are direct */

#define PLACED_ROWS(ROW)                                                                           \
    ROW(call, op, 4, false, {far, number + 1}, {(uintptr_t)add2, number + 2},                      \
        {(uintptr_t)add3, number + 3}, {(uintptr_t)get_number, 4444},                              \
        {(uintptr_t)add1, number + 1})                                                             \
    ROW(jump, op, 4, false, {far, number + 1}, {(uintptr_t)add2, number + 2},                      \
        {(uintptr_t)add3, number + 3})                                                             \
    ROW(unlikely, key, 4, false, {0, 0}, {1, 1})                                                   \
    ROW(likely, key, 4, false, {0, 1}, {1, 0})                                                     \
    ROW(word, key, 4, true, {0, 1}, {1, 2})                                                        \
    ROW(empty, key, 4, true, {0, 1}, {1, 0})

#endif
