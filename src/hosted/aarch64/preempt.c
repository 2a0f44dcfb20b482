/* SPDX-License-Identifier: MIT */
#include "hosted/generic/preempt.c"
