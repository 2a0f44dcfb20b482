/* SPDX-License-Identifier: MIT */
/* carry_copy_try_avx2_rep: avx2_rep.S, surviving faults. */
#define RECOVERS 1
#include "copy/x86_64/avx2_rep.S"
