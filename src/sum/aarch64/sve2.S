/* SPDX-License-Identifier: MIT */
/* SVE2: equation, registers and clobbers: sve.h. */
#define KERNEL sve2
#define PAIRS  1

    .arch   armv8.2-a+sve+sve2
#include "sum/aarch64/sve.h"
