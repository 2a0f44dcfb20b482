/* SPDX-License-Identifier: MIT */
/* carry_sum_copy_sve: see sve.h. */
#define COPIES 1
#include "sum/aarch64/sve.S"
