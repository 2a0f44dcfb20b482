/* SPDX-License-Identifier: MIT */
/* carry_sum_copy_try_generic: C cannot survive faults, so this is what every CPU has. */
#define FUNCTION carry_sum_copy_try_generic
#define VECTORS  0
#define SUMS     1
#include "kernel/aarch64/try.h"
