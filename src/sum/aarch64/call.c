/* SPDX-License-Identifier: MIT */
/* AArch64 has no sites yet. */
#include "sum/generic/call.c"
