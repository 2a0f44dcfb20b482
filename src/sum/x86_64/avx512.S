/* SPDX-License-Identifier: MIT */
/* carry_sum_avx512: AVX-512 VNNI on full vectors. Equation, registers and clobbers: template.h. */
#define KERNEL       carry_sum_avx512
#define VECTOR_BYTES 64
#define V(n)         %zmm##n
#define MASKED       1

.macro DOT ones, words, acc
    vpdpwssd \ones, \words, \acc
.endm

#include "sum/x86_64/template.h"
