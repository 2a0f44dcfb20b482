/* SPDX-License-Identifier: MIT */
/* Compiled for AVX-512: values may be in registers that other code does not use. */
#include "harness/patch_dirty.h"

bool patch_keeps_avx512(double s) {
    double a = s * 3, b = s * 5, c = s * 7, d = s * 11;
    uint32_t mask = (uint32_t)s;
    __asm__("" : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+k"(mask));
    bool aligned = carry_call(dirty)(1) == 8;
    __asm__("" : "+k"(mask));
    return aligned && a + b + c + d == s * 26 && mask == (uint32_t)s;
}
