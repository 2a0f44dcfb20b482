/* SPDX-License-Identifier: MIT */
/* carry_sum_copy_try_avx512vnni_vl256: see form.h. */
#define COPIES   1
#define RECOVERS 1
#include "sum/x86_64/avx512vnni_vl256.S"
