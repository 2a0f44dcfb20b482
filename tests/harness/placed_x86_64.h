/* SPDX-License-Identifier: MIT */
/* The kinds of sites in patch_sites_x86_64.S; placed.c describes the rows. */
#ifndef CARRY_TESTS_PLACED_X86_64_H
#define CARRY_TESTS_PLACED_X86_64_H

#define PLACED_ADD3   "leaq 3(%%rdi), %%rax"
#define PLACED_NUMBER "movl placed_number(%%rip), %%eax"

#define PLACED_ROWS(ROW)                                                                           \
    ROW(call, op, 6, false, {far, number + 1}, {(uintptr_t)add2, number + 2},                      \
        {(uintptr_t)add3, number + 3}, {(uintptr_t)get_number, 4444},                              \
        {(uintptr_t)carry_patch_nothing, 0}, {(uintptr_t)add1, number + 1})                        \
    ROW(jump, op, 6, false, {far, number + 1}, {(uintptr_t)add2, number + 2},                      \
        {(uintptr_t)add3, number + 3})                                                             \
    ROW(unlikely, key, 5, false, {0, 0}, {1, 1})                                                   \
    ROW(likely, key, 5, false, {0, 1}, {1, 0})                                                     \
    ROW(bytes1, key, 1, true, {0, 0}, {1, 1})                                                      \
    ROW(bytes2, key, 2, true, {0, 0}, {1, UINT32_MAX})                                             \
    ROW(bytes4, key, 4, true, {0, 1}, {1, 2})                                                      \
    ROW(bytes5, key, 5, true, {0, 1}, {1, 2})                                                      \
    ROW(bytes10, key, 10, true, {0, UINT64_C(0x1122334455667788)}, {1, 2})                         \
    ROW(empty10, key, 10, true, {0, UINT64_C(0x1122334455667788)}, {1, 0})

#endif
