/* SPDX-License-Identifier: MIT */
/*
 * The code of kernels, for programs that compare it with other code: `carry selftest --proof`
 * reports whether the code of each kernel is the code that was proven.
 *
 * A kernel is one way to do what a function of carry/sum.h, carry/copy.h or carry/crc.h does. Those
 * headers list the code of their kernels: carry_sum_kernel_code(), carry_copy_kernel_code() and
 * carry_crc32c_kernel_code().
 */
#ifndef CARRY_KERNEL_H
#define CARRY_KERNEL_H

#include <carry/base.h>

/* One function, carry_<form>_<kernel>, whose code may be read. It may need features that this CPU
 * lacks. Functions of a form whose arguments no header describes must not be called. */
struct carry_kernel_code {
    const char *form;   /* what it does: "sum_copy" */
    const char *kernel; /* "avx512" */
    const void *start;  /* its first instruction */
};

#endif
