/* SPDX-License-Identifier: MIT */
/* AVX-512 VNNI on full vectors. Equation: dot.h; registers and clobbers: template.h. */
#define KERNEL       avx512
#define VECTOR_BYTES 64
#define V(n)         %zmm##n
#define MASKED       1
#define ARITHMETIC   "sum/x86_64/dot.h"

.macro DOT ones, words, acc
    vpdpwssd \ones, \words, \acc
.endm

#include "sum/x86_64/template.h"
