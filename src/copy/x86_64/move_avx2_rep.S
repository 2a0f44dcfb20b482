/* SPDX-License-Identifier: MIT */
/* carry_copy_move_avx2_rep: avx2_rep.S, for ranges that may overlap. */
#define MOVES 1
#include "copy/x86_64/avx2_rep.S"
