/* SPDX-License-Identifier: MIT */
/* Defines carry_sum_copy_sve2_parts. */
#define COPIES 1
#include "harness/sve_parts_aarch64.S"
