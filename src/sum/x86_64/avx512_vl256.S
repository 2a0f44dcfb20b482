/* SPDX-License-Identifier: MIT */
/* AVX-512 limited to 256 bits, for CPUs without VNNI (Cannon Lake).
   Equation: dot.h; registers and clobbers: template.h. */
#define KERNEL       avx512_vl256
#define VECTOR_BYTES 32
#define V(n)         %ymm##n
#define MASKED       1
#define ARITHMETIC   "sum/x86_64/dot.h"

.macro DOT ones, words, acc
    vpmaddwd \ones, \words, \words
    vpaddd \words, \acc, \acc
.endm

#include "sum/x86_64/template.h"
