/* SPDX-License-Identifier: MIT */
/* carry_copy_move_rep: rep.S, for ranges that may overlap. */
#define MOVES 1
#include "copy/x86_64/rep.S"
