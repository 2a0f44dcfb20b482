/* SPDX-License-Identifier: MIT */
/* carry_copy_try_generic: C cannot survive faults, but every CPU has what rep.S does. */
#define RECOVERS 1
#define NAME     generic
#include "copy/x86_64/rep.S"
