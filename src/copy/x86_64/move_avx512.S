/* SPDX-License-Identifier: MIT */
/* carry_copy_move_avx512: avx512.S, for ranges that may overlap. */
#define MOVES 1
#include "copy/x86_64/avx512.S"
