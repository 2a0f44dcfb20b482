/* SPDX-License-Identifier: MIT */
/* AVX2 with only additions, for CPUs on which multiplications slow the core down (Cascade Lake).
   Equation: halves.h; registers and clobbers: template.h. */
#define KERNEL       avx2_add
#define VECTOR_BYTES 32
#define V(n)         %ymm##n
#define MASKED       0
#define ARITHMETIC   "sum/x86_64/halves.h"

#include "sum/x86_64/template.h"
