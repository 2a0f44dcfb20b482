/* SPDX-License-Identifier: MIT */
/* AArch64 has no exception table yet, so no frames either. */
#include "copy/generic/enter.c"
