/* SPDX-License-Identifier: MIT */
/* carry_sum_copy_try_generic: C cannot survive faults, so this is what every CPU has. */
#define COPIES   1
#define RECOVERS 1
#define adc      generic
#include "sum/x86_64/adc.S"
