/* SPDX-License-Identifier: MIT */
/*
 * carry_copy_avx512: AVX-512 on full vectors, and rep movsb for large sizes. Equation, registers
 * and clobbers: template.h. Registers from 16 on have no upper halves that could be left dirty.
 */
#define NAME         avx512
#define VECTOR_BYTES 64
#define V(n)         %zmm2##n
#define Y(n)         %ymm2##n
#define MOVE         vmovdqu64
#define USES_REP     1
#define CLEAN
#define FOLLOWS      1

#include "copy/x86_64/template.h"
