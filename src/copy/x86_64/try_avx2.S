/* SPDX-License-Identifier: MIT */
/* carry_copy_try_avx2: avx2.S, surviving faults. */
#define RECOVERS 1
#include "copy/x86_64/avx2.S"
