/* SPDX-License-Identifier: MIT */
/* The kernel sve2 with parts so small that runs of usual sizes have several parts. */
#define KERNEL     sve2_parts
#define PAIRS      1
#define PART_BYTES 1000

    .arch   armv8.2-a+sve+sve2
#include "sum/aarch64/sve.h"
