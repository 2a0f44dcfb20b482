/* SPDX-License-Identifier: MIT */
/* carry_sum_copy_try_generic: for every CPU. It is in assembly because C cannot survive faults. */
#define COPIES   1
#define RECOVERS 1
#define adc      generic
#include "sum/x86_64/adc.S"
