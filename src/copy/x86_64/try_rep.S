/* SPDX-License-Identifier: MIT */
/* carry_copy_try_rep: rep.S, surviving faults. */
#define RECOVERS 1
#include "copy/x86_64/rep.S"
