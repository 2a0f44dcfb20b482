/* SPDX-License-Identifier: MIT */
/* carry_sum_copy_sve2: see sve.h. */
#define COPIES 1
#include "sum/aarch64/sve2.S"
