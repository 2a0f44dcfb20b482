/* SPDX-License-Identifier: MIT */
/* carry_copy_move_avx2: avx2.S, for ranges that may overlap. */
#define MOVES 1
#include "copy/x86_64/avx2.S"
