/* SPDX-License-Identifier: MIT */
/* carry_copy_try_avx512: avx512.S, surviving faults. */
#define RECOVERS 1
#include "copy/x86_64/avx512.S"
