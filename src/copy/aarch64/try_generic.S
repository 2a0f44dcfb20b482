/* SPDX-License-Identifier: MIT */
/* carry_copy_try_generic: C cannot survive faults, so this is what every CPU has. */
#define FUNCTION carry_copy_try_generic
#define VECTORS  0
#define SUMS     0
#include "kernel/aarch64/try.h"
