/* SPDX-License-Identifier: MIT */
/* carry_sum_copy_try_generic: for every CPU. It is in assembly because C cannot survive faults. */
#define FUNCTION carry_sum_copy_try_generic
#define VECTORS  0
#define SUMS     1
#include "kernel/aarch64/try.h"
