/* SPDX-License-Identifier: MIT */
/* The tested library: the tool's own, or a shared library that the tool loads. */
#ifndef CARRY_TOOLS_SELFTEST_LIBRARY_H
#define CARRY_TOOLS_SELFTEST_LIBRARY_H

#include <carry/copy.h>
#include <carry/crc.h>
#include <carry/packet.h>
#include <carry/sum.h>

#define LIBRARY_FUNCTIONS(F)                                                                       \
    F(carry_version)                                                                               \
    F(carry_version_text)                                                                          \
    F(carry_sum_kernel)                                                                            \
    F(carry_sum_kernel_code)                                                                       \
    F(carry_sum_select)                                                                            \
    F(carry_sum_call)                                                                              \
    F(carry_crc32c_kernel)                                                                         \
    F(carry_crc32c_kernel_code)                                                                    \
    F(carry_crc32c_select)                                                                         \
    F(carry_crc32c)                                                                                \
    F(carry_copy_kernel)                                                                           \
    F(carry_copy_kernel_code)                                                                      \
    F(carry_copy_select)                                                                           \
    F(carry_copy)                                                                                  \
    F(carry_copy_move)                                                                             \
    F(carry_packet_check)                                                                          \
    F(carry_packet_fill)

struct library {
#define LIBRARY_MEMBER(name) __typeof__(name) *name;
    LIBRARY_FUNCTIONS(LIBRARY_MEMBER)
#undef LIBRARY_MEMBER
};

extern const struct library library_own;

/* Loads a library. Returns false, with the reason in *problem, if the library cannot be loaded or
 * lacks a function. */
bool library_load(struct library *library, const char *path, const char **problem);

#endif
