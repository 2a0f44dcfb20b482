/* SPDX-License-Identifier: MIT */
/* carry_copy_try_generic: for every CPU. It is in assembly because C cannot survive faults. */
#define FUNCTION carry_copy_try_generic
#define VECTORS  0
#define SUMS     0
#include "kernel/aarch64/try.h"
