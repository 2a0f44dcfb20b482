/* SPDX-License-Identifier: MIT */
/* AArch64 has no sites yet. */
#include "hosted/generic/context.c"
