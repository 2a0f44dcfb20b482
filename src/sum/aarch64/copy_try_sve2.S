/* SPDX-License-Identifier: MIT */
/* carry_sum_copy_try_sve2: uses NEON. Equation, registers and clobbers: kernel/aarch64/try.h. */
#define FUNCTION carry_sum_copy_try_sve2
#define VECTORS  1
#define SUMS     1
#include "kernel/aarch64/try.h"
