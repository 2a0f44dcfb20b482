/* SPDX-License-Identifier: MIT */
/* AVX-VNNI: dot products on 256 bits, in the VEX encoding.
   Equation: dot.h; registers and clobbers: template.h. */
#define KERNEL       avxvnni
#define VECTOR_BYTES 32
#define V(n)         %ymm##n
#define MASKED       0
#define ARITHMETIC   "sum/x86_64/dot.h"

.macro DOT ones, words, acc
    {vex} vpdpwssd \ones, \words, \acc
.endm

#include "sum/x86_64/template.h"
