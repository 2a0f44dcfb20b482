/* SPDX-License-Identifier: MIT */
/* carry_sum_copy_try_avx2_add: see form.h. */
#define COPIES   1
#define RECOVERS 1
#include "sum/x86_64/avx2_add.S"
