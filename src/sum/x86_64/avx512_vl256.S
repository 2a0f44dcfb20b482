/* SPDX-License-Identifier: MIT */
/* AVX-512 kept to 256 bits, for CPUs without VNNI (Skylake-X).
   Equation, registers and clobbers: template.h. */
#define KERNEL       avx512_vl256
#define VECTOR_BYTES 32
#define V(n)         %ymm##n
#define MASKED       1

.macro DOT ones, words, acc
    vpmaddwd \ones, \words, \words
    vpaddd \words, \acc, \acc
.endm

#include "sum/x86_64/template.h"
