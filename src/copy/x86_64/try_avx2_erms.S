/* SPDX-License-Identifier: MIT */
/* carry_copy_try_avx2_erms: avx2_erms.S, surviving faults. */
#define RECOVERS 1
#include "copy/x86_64/avx2_erms.S"
