/* SPDX-License-Identifier: MIT */
/*
 * carry_copy_avx2_erms: AVX2, and rep movsb for large sizes. Equation, registers and clobbers:
 * template.h.
 */
#define NAME         avx2_erms
#define VECTOR_BYTES 32
#define V(n)         %ymm##n
#define Y(n)         %ymm##n
#define MOVE         vmovdqu
#define USES_REP     1
#define CLEAN        vzeroupper
#define FOLLOWS      0

#include "copy/x86_64/template.h"
