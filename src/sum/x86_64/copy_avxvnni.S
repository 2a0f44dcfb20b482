/* SPDX-License-Identifier: MIT */
/* carry_sum_copy_avxvnni: see form.h. */
#define COPIES 1
#include "sum/x86_64/avxvnni.S"
