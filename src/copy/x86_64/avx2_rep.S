/* SPDX-License-Identifier: MIT */
/*
 * carry_copy_avx2_rep: AVX2, and rep movsb from 2.5 KiB on. Equation, registers and clobbers:
 * template.h.
 */
#define NAME         avx2_rep
#define VECTOR_BYTES 32
#define V(n)         %ymm##n
#define Y(n)         %ymm##n
#define MOVE         vmovdqu
#define USES_REP     1
#define REP_MIN      2560
#define CLEAN        vzeroupper
#define FOLLOWS      0

#include "copy/x86_64/template.h"
