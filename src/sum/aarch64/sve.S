/* SPDX-License-Identifier: MIT */
/* SVE: equation, registers and clobbers: sve.h. */
#define KERNEL sve
#define PAIRS  0

    .arch   armv8.2-a+sve
#include "sum/aarch64/sve.h"
