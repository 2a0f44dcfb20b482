/* SPDX-License-Identifier: MIT */
/* carry_copy_try_neon: NEON. Equation, registers and clobbers: kernel/aarch64/try.h. */
#define FUNCTION carry_copy_try_neon
#define VECTORS  1
#define SUMS     0
#include "kernel/aarch64/try.h"
