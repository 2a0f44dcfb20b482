/* SPDX-License-Identifier: MIT */
/* AVX-512 VNNI limited to 256 bits, for CPUs on which 512-bit vectors slow the core down (Ice
 * Lake). Equation: dot.h; registers and clobbers: template.h. */
#define KERNEL       avx512vnni_vl256
#define VECTOR_BYTES 32
#define V(n)         %ymm##n
#define MASKED       1
#define ARITHMETIC   "sum/x86_64/dot.h"

.macro DOT ones, words, acc
    vpdpwssd \ones, \words, \acc
.endm

#include "sum/x86_64/template.h"
