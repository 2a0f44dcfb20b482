/* SPDX-License-Identifier: MIT */
/* carry_copy_avx2: AVX2. Equation, registers and clobbers: template.h. */
#define NAME         avx2
#define VECTOR_BYTES 32
#define V(n)         %ymm##n
#define Y(n)         %ymm##n
#define MOVE         vmovdqu
#define USES_REP     0
#define CLEAN        vzeroupper
#define FOLLOWS      0

#include "copy/x86_64/template.h"
