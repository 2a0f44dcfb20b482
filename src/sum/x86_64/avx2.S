/* SPDX-License-Identifier: MIT */
/* AVX2: pmaddwd and an addition. Equation: dot.h; registers and clobbers: template.h. */
#define KERNEL       avx2
#define VECTOR_BYTES 32
#define V(n)         %ymm##n
#define MASKED       0
#define ARITHMETIC   "sum/x86_64/dot.h"

.macro DOT ones, words, acc
    vpmaddwd \ones, \words, \words
    vpaddd \words, \acc, \acc
.endm

#include "sum/x86_64/template.h"
